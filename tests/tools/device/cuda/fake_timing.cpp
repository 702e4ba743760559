// A clock for tests: the candidate says how long a call took in the environment variable FAKE_US.
#include <stdlib.h>

#include "timing.h"

int launch_empty(cudaStream_t) {
  setenv("FAKE_US", "2.5", 1);
  return 0;
}

Samples measure(bool, int repetitions, cudaStream_t, const std::function<void()>& prepare, const std::function<int()>& call) {
  Samples samples;
  samples.queue_us = 1;
  for (int i = 0; i < repetitions; ++i) {
    prepare();
    if (call() != 0) return samples;
    double claimed = getenv("FAKE_US") ? atof(getenv("FAKE_US")) : 1;
    samples.device_us.push_back(claimed);
    if (i % 4 == 0) samples.wall_us.push_back(getenv("FAKE_WALL_US") ? atof(getenv("FAKE_WALL_US")) : claimed);
  }
  return samples;
}
