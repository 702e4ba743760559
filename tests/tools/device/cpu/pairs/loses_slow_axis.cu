// threadIdx.x along rows against along columns. Loses. n = 2048
#include <cuda_runtime.h>

template <bool SLOW>
__global__ void scale(float* out, const float* x, int n) {
    int a = blockIdx.x * 16 + threadIdx.x, b = blockIdx.y * 16 + threadIdx.y;
    int i = SLOW ? a * n + b : b * n + a;
    out[i] = 2.0f * x[i];
}

extern "C" cudaError_t before(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    scale<false><<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(out, x, n);
    return cudaGetLastError();
}

extern "C" cudaError_t after(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    scale<true><<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(out, x, n);
    return cudaGetLastError();
}
