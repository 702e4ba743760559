// Times every variant with a cold L2: nvcc -O3 -std=c++17 -arch=sm_90 -o timed *.cu; prints name, n and microseconds.
// The L2 is flushed before each call; events bracket the call behind the flush, so that no host gap is timed.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#define VARIANT(NAME, ...) extern "C" cudaError_t NAME(float*, const float*, const float*, int, cudaStream_t);
#include "variants.def"
#undef VARIANT

int main(int count, char**) {
    const int repeats = count > 1 ? 1 : 21;  // any argument: each call once, for Nsight Compute
    const size_t size = size_t(1) << 23, flush = size_t(256) << 20;
    std::vector<float> values(size);
    unsigned h = 1;
    for (float& v : values) v = (float)((h = h * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1.0f;
    float *out, *x, *y;
    char* other;
    if (cudaMalloc(&out, 2 * size * sizeof(float)) || cudaMalloc(&x, size * sizeof(float)) || cudaMalloc(&y, size * sizeof(float)) || cudaMalloc(&other, flush)) return 1;
    cudaMemcpy(x, values.data(), size * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(y, values.data(), size * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, 2 * size * sizeof(float));
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    auto time = [&](const char* name, cudaError_t (*call)(float*, const float*, const float*, int, cudaStream_t), std::vector<int> sizes) {
        for (int n : sizes) {
            std::vector<float> times;
            for (int k = 0; k < repeats; ++k) {
                for (int again = 0; again < 6; ++again) cudaMemsetAsync(other, k, flush);  // long enough to enqueue the rest
                cudaEventRecord(begin);
                cudaError_t error = call(out, x, y, n, 0);
                cudaEventRecord(end);
                if (error == cudaSuccess) error = cudaEventSynchronize(end);
                if (error != cudaSuccess) {
                    printf("%s %d failed: %s\n", name, n, cudaGetErrorString(error));
                    return;
                }
                float ms;
                cudaEventElapsedTime(&ms, begin, end);
                if (k || count > 1) times.push_back(1000.0f * ms);
            }
            std::sort(times.begin(), times.end());
            printf("%s %d %.3f\n", name, n, times[times.size() / 2]);
            fflush(stdout);
        }
    };
#define VARIANT(NAME, ...) time(#NAME, NAME, {__VA_ARGS__});
#include "variants.def"
    return 0;
}
