// Dot product, naive: each thread sums its share of the products and adds it to the result with an atomic.
#include <cuda_runtime.h>

__global__ void dot_product_kernel(float* result, const float* x, const float* y, int N) {
    float sum = 0.0f;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < N; i += (long long)gridDim.x * blockDim.x) {
        sum += x[i] * y[i];
    }
    atomicAdd(result, sum);
}

extern "C" size_t dot_product_workspace_bytes(int N) {
    return 0;
}

extern "C" cudaError_t dot_product(float* result, const float* x, const float* y, int N,
                                   void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemsetAsync(result, 0, sizeof(float), stream);
    if (error != cudaSuccess) return error;
    const int threads = 256;
    const long long wanted = ((long long)N + threads - 1) / threads;
    const int blocks = wanted < 1024 ? (int)wanted : 1024;
    dot_product_kernel<<<blocks, threads, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}
