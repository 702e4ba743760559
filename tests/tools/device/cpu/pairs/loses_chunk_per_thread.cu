// Neighbouring threads on neighbouring elements against a chunk of 64 for each thread. Loses. n = 4194304
#include <cuda_runtime.h>

__global__ void strided(float* out, const float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2.0f * x[i];
}
__global__ void chunked(float* out, const float* x, int n) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 64;
    for (int i = first; i < first + 64 && i < n; ++i) out[i] = 2.0f * x[i];
}

extern "C" cudaError_t before(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    strided<<<n / 64 / 256, 256, 0, stream>>>(out, x, n);
    return cudaGetLastError();
}

extern "C" cudaError_t after(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    chunked<<<n / 64 / 256, 256, 0, stream>>>(out, x, n);
    return cudaGetLastError();
}
