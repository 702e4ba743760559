// How the host program measures device time. Only the cuda device links an implementation (tools/device/cuda/timing.cu).
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

struct Samples {
  std::vector<double> device_us;  // events around the call, on its stream
  std::vector<double> wall_us;    // host clock around the call and a device-wide synchronize
  int calls = 0;                  // made in all
  std::string error;
};

// Run `prepare`, (cold) evict the L2, queue enough work to hide the launch, then time `call`: `repetitions` times by
// events, `walls` times by the host's clock. `queue_us` is the host time to queue one call; while it is negative, calls
// that are not timed come first and set it.
Samples measure(bool cold, int repetitions, int walls, cudaStream_t stream, const std::function<void()>& prepare,
                const std::function<int()>& call, double& queue_us);

// Keep the stream busy for so long; other streams go on.
void hold_stream(cudaStream_t stream, double microseconds);

// Queue a kernel that does nothing: what any launch costs, measured the same way.
int launch_empty(cudaStream_t stream);

// Copy the elements at these positions of an array on the device, of 2 or 4 bytes each, to the host's `to`, and wait.
cudaError_t gather(const char* array, const int64_t* positions, size_t count, size_t itemsize, char* to, cudaStream_t stream);
