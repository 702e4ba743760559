// A shared tile whose columns fall into one bank against a padded one. n = 2048
#include <cuda_runtime.h>

template <int PAD>
__global__ void tiled(float* out, const float* x, int n) {
    __shared__ float tile[32][32 + PAD];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * n + c];
    __syncthreads();
    int oc = blockIdx.y * 32 + threadIdx.x, orow = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(orow + k) * n + oc] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" cudaError_t before(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    tiled<0><<<dim3(n / 32, n / 32), dim3(32, 8), 0, stream>>>(out, x, n);
    return cudaGetLastError();
}

extern "C" cudaError_t after(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    tiled<1><<<dim3(n / 32, n / 32), dim3(32, 8), 0, stream>>>(out, x, n);
    return cudaGetLastError();
}
