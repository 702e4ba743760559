// Power of a matrix, naive: P - 1 products with a thread per element, each copied back before the next.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void matrix_power_product(const __nv_bfloat16* X, const __nv_bfloat16* A, __nv_bfloat16* product, int N) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const long long row = blockIdx.y * (long long)blockDim.y + threadIdx.y;
    if (row >= N || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < N; ++k) {
        sum += __bfloat162float(X[row * N + k]) * __bfloat162float(A[(long long)k * N + col]);
    }
    product[row * N + col] = __float2bfloat16(sum);
}

extern "C" size_t matrix_power_workspace_bytes(int N, int P) {
    return 2 * (size_t)N * N * sizeof(__nv_bfloat16);
}

extern "C" cudaError_t matrix_power(const __nv_bfloat16* A, __nv_bfloat16* B, int N, int P,
                                    void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const size_t elements = (size_t)N * N;
    const size_t bytes = elements * sizeof(__nv_bfloat16);
    __nv_bfloat16* power = (__nv_bfloat16*)workspace;
    __nv_bfloat16* next = power + elements;
    const dim3 threads(16, 16);
    const int across = (N - 1) / 16 + 1;
    const dim3 blocks(across, across);
    cudaError_t error = cudaMemcpyAsync(power, A, bytes, cudaMemcpyDeviceToDevice, stream);
    for (int factor = 1; factor < P && error == cudaSuccess; ++factor) {
        matrix_power_product<<<blocks, threads, 0, stream>>>(power, A, next, N);
        error = cudaGetLastError();
        if (error == cudaSuccess) error = cudaMemcpyAsync(power, next, bytes, cudaMemcpyDeviceToDevice, stream);
    }
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync(B, power, bytes, cudaMemcpyDeviceToDevice, stream);
}
