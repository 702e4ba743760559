// One atomic per thread against one per block. n = 1048576
#include <cuda_runtime.h>

__global__ void each(float* out, const float* x, const float* y, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * y[i];
    atomicAdd(out, sum);
}

__global__ void reduced(float* out, const float* x, const float* y, int n) {
    __shared__ float part[8];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * y[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; ++i) sum += part[i];
        atomicAdd(out, sum);
    }
}

extern "C" cudaError_t before(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    each<<<1024, 256, 0, stream>>>(out, x, y, n);
    return cudaGetLastError();
}

extern "C" cudaError_t after(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    reduced<<<1024, 256, 0, stream>>>(out, x, y, n);
    return cudaGetLastError();
}
