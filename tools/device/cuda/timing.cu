// Device time of one call at a time: L2 state set, queue filled, then events around the call on its stream.
#include "../runner/timing.h"

#include <time.h>

namespace {

// Read more than twice the L2, so that nothing of the last call is left in it, neither clean nor dirty.
__global__ void read_all(const float4* data, size_t count, float* sink) {
  float sum = 0.f;
  size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    float4 v = __ldcg(data + i);
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 1.2345e-30f) *sink = sum;  // never: keeps the loads
}

// Hold the stream for a while, so that all that follows is queued before it starts.
__global__ void hold(long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < static_cast<unsigned long long>(nanoseconds));
}

__global__ void nothing() {}

template <class Item>
__global__ void pick(const Item* array, const int64_t* positions, size_t count, Item* picked) {
  size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) picked[i] = array[positions[i]];
}

struct Tools {
  float4* flush = nullptr;
  size_t flush_bytes = 0;
  float* sink = nullptr;
  int blocks = 0;
  cudaEvent_t start = nullptr, stop = nullptr;
  cudaError_t code = cudaSuccess;

  Tools() {
    int l2 = 0, multiprocessors = 0;
    cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    blocks = multiprocessors * 8;
    flush_bytes = (static_cast<size_t>(l2) * 5 / 2 + (size_t{16} << 20)) & ~size_t{4095};
    code = cudaMalloc(reinterpret_cast<void**>(&flush), flush_bytes);
    if (code == cudaSuccess) code = cudaMalloc(reinterpret_cast<void**>(&sink), sizeof(float));
    if (code == cudaSuccess) code = cudaMemset(flush, 0x5A, flush_bytes);
    if (code == cudaSuccess) code = cudaEventCreate(&start);
    if (code == cudaSuccess) code = cudaEventCreate(&stop);
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);  // an older GPU has none: no matter
    cudaGetLastError();
  }
};

double now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

}  // namespace

int launch_empty(cudaStream_t stream) {
  nothing<<<1, 32, 0, stream>>>();
  return static_cast<int>(cudaGetLastError());
}

void hold_stream(cudaStream_t stream, double microseconds) {
  hold<<<1, 1, 0, stream>>>(static_cast<long long>(microseconds * 1e3));
}

cudaError_t gather(const char* array, const int64_t* positions, size_t count, size_t itemsize, char* to, cudaStream_t stream) {
  static char* room = nullptr;
  static size_t room_count = 0;
  if (count > room_count) {
    cudaFree(room);
    room = nullptr, room_count = 0;
    if (cudaError_t code = cudaMalloc(reinterpret_cast<void**>(&room), count * (sizeof *positions + sizeof(float)))) return code;
    room_count = count;
  }
  auto* where = reinterpret_cast<int64_t*>(room);
  char* picked = room + count * sizeof *positions;
  unsigned blocks = static_cast<unsigned>((count + 255) / 256);
  cudaMemcpyAsync(where, positions, count * sizeof *positions, cudaMemcpyHostToDevice, stream);
  if (blocks && itemsize == 4) pick<<<blocks, 256, 0, stream>>>(reinterpret_cast<const uint32_t*>(array), where, count, reinterpret_cast<uint32_t*>(picked));
  if (blocks && itemsize == 2) pick<<<blocks, 256, 0, stream>>>(reinterpret_cast<const uint16_t*>(array), where, count, reinterpret_cast<uint16_t*>(picked));
  cudaMemcpyAsync(to, picked, count * itemsize, cudaMemcpyDeviceToHost, stream);
  cudaError_t code = cudaStreamSynchronize(stream);
  return code ? code : cudaGetLastError();
}

Samples measure(bool cold, int repetitions, int walls, cudaStream_t stream, const std::function<void()>& prepare,
                const std::function<int()>& call, double& queue_us) {
  static Tools tools;
  static unsigned long long random = 0x2545F4914F6CDD1Dull;
  Samples samples;
  auto fail = [&](const char* what, cudaError_t code) {
    samples.error = std::string(what) + ": " + cudaGetErrorString(code);
    return samples;
  };
  auto flush = [&] {
    cudaCtxResetPersistingL2Cache();
    read_all<<<tools.blocks, 256, 0, stream>>>(tools.flush, tools.flush_bytes / sizeof(float4), tools.sink);
  };
  auto run = [&] {
    ++samples.calls;
    return call() == 0;
  };
  if (tools.code != cudaSuccess) return fail("preparing to time", tools.code);
  // One call to load what is loaded lazily; where calls are short another, to see how long the host takes to queue it.
  for (double wall_us = queue_us < 0 ? 0 : 1000; samples.calls < 2 && wall_us < 1000;) {
    prepare();
    cudaDeviceSynchronize();
    double begin = now_us();
    if (!run()) return samples;
    queue_us = now_us() - begin;
    if (cudaError_t code = cudaDeviceSynchronize()) return fail("the first call", code);
    wall_us = now_us() - begin;
  }
  // A call that synchronizes inside would make this long: 2 ms is the most that is held.
  double hold_us = 30 + 2 * queue_us;
  if (hold_us > 2000) hold_us = 2000;
  for (int i = 0; i < repetitions; ++i) {
    prepare();
    if (cold) flush();
    // Launches go through slots of a ring, and the gap between two dependent kernels depends on theirs (6 or 7 us for
    // the same two kernels on an H200). Empty launches, 0 to 7 of them, give every call the same mixture of slots.
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    for (unsigned long long k = random >> 61; k; --k) nothing<<<1, 32, 0, stream>>>();
    hold_stream(stream, hold_us);
    cudaEventRecord(tools.start, stream);
    if (!run()) return samples;
    cudaEventRecord(tools.stop, stream);
    cudaEventSynchronize(tools.stop);
    float milliseconds = 0;
    if (cudaError_t code = cudaEventElapsedTime(&milliseconds, tools.start, tools.stop)) return fail("a timed call", code);
    samples.device_us.push_back(milliseconds * 1e3);
  }
  // The host's view of the same, which work on other streams can't escape.
  for (int i = 0; i < walls; ++i) {
    prepare();
    if (cold) flush();
    cudaDeviceSynchronize();
    double begin = now_us();
    if (!run()) return samples;
    if (cudaError_t code = cudaDeviceSynchronize()) return fail("a timed call", code);
    samples.wall_us.push_back(now_us() - begin);
  }
  return samples;
}
