// Copy of a matrix, naive: one thread per element, in blocks of 16 x 16.
#include <cuda_runtime.h>

__global__ void matrix_copy_kernel(const float* A, float* B, int M, int N) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (col >= N) return;
    for (long long row = blockIdx.y * blockDim.y + threadIdx.y; row < M; row += gridDim.y * blockDim.y) {
        B[row * N + col] = A[row * N + col];
    }
}

extern "C" size_t matrix_copy_workspace_bytes(int M, int N) {
    return 0;
}

extern "C" cudaError_t matrix_copy(const float* A, float* B, int M, int N,
                                   void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const dim3 threads(16, 16);
    const int tall = (M - 1) / 16 + 1;
    const dim3 blocks((N - 1) / 16 + 1, tall < 65535 ? tall : 65535);
    matrix_copy_kernel<<<blocks, threads, 0, stream>>>(A, B, M, N);
    return cudaGetLastError();
}
