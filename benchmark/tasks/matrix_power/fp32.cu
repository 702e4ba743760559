// Power of a matrix, naive: P - 1 products with a thread per element, each copied back before the next.
#include <cuda_runtime.h>

__global__ void matrix_power_product(const float* X, const float* A, float* product, int N) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const long long row = blockIdx.y * (long long)blockDim.y + threadIdx.y;
    if (row >= N || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < N; ++k) {
        sum += X[row * N + k] * A[(long long)k * N + col];
    }
    product[row * N + col] = sum;
}

extern "C" size_t matrix_power_workspace_bytes(int N, int P) {
    return 2 * (size_t)N * N * sizeof(float);
}

extern "C" cudaError_t matrix_power(const float* A, float* B, int N, int P,
                                    void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const size_t elements = (size_t)N * N;
    const size_t bytes = elements * sizeof(float);
    float* power = (float*)workspace;
    float* next = power + elements;
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
