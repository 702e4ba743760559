// One element per thread against four at once. n = 4194304
#include <cuda_runtime.h>

__global__ void scalar(float* out, const float* x, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}

__global__ void packed(float4* out, const float4* x, const float4* y, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 a = x[i], b = y[i];
        out[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

extern "C" cudaError_t before(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    scalar<<<(n + 127) / 128, 128, 0, stream>>>(out, x, y, n);
    return cudaGetLastError();
}

extern "C" cudaError_t after(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
    packed<<<(n / 4 + 127) / 128, 128, 0, stream>>>((float4*)out, (const float4*)x, (const float4*)y, n / 4);
    return cudaGetLastError();
}
