// One block that strides over everything against a full grid. n = 262144
#include <cuda_runtime.h>

__global__ void relu(float* out, const float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

extern "C" cudaError_t before(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    relu<<<1, 1024, 0, stream>>>(out, x, n);
    return cudaGetLastError();
}

extern "C" cudaError_t after(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    relu<<<(n + 255) / 256, 256, 0, stream>>>(out, x, n);
    return cudaGetLastError();
}
