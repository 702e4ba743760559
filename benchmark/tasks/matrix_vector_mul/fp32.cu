// Matrix times vector, naive: one thread per row.
#include <cuda_runtime.h>

__global__ void matrix_vector_mul_kernel(const float* A, const float* x, float* y,
                                         int M, int N) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= M) return;
    float sum = 0.0f;
    for (int n = 0; n < N; ++n) {
        sum += A[row * N + n] * x[n];
    }
    y[row] = sum;
}

extern "C" size_t matrix_vector_mul_workspace_bytes(int M, int N) {
    return 0;
}

extern "C" cudaError_t matrix_vector_mul(const float* A, const float* x, float* y, int M, int N,
                                         void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    matrix_vector_mul_kernel<<<(M - 1) / threads + 1, threads, 0, stream>>>(A, x, y, M, N);
    return cudaGetLastError();
}
