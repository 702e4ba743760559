// One launch against sixteen of a sixteenth each. Loses. n = 262144
#include <cuda_runtime.h>

__global__ void scale(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}

extern "C" cudaError_t before(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    scale<<<(n + 255) / 256, 256, 0, stream>>>(out, x, n);
    return cudaGetLastError();
}

extern "C" cudaError_t after(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    const int part = n / 16;
    for (int k = 0; k < 16; ++k) scale<<<(part + 255) / 256, 256, 0, stream>>>(out + k * part, x + k * part, part);
    return cudaGetLastError();
}
