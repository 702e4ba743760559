// Sparse times dense matrix, naive: a thread per element of Y, in 16x16 blocks with the rows on threadIdx.x.
#include <cuda_runtime.h>

__global__ void spmm_ell_kernel(int rows, int max_nnz, int K, const float* values, const int* col_ids, const float* X,
                                float* Y) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (long long k = blockIdx.y * blockDim.y + threadIdx.y; k < K; k += gridDim.y * blockDim.y) {
        float sum = 0.0f;
        for (int j = 0; j < max_nnz; ++j) {
            const long long col = col_ids[row * max_nnz + j];
            if (col >= 0) sum += values[row * max_nnz + j] * X[col * K + k];
        }
        Y[row * K + k] = sum;
    }
}

extern "C" size_t spmm_ell_workspace_bytes(int rows, int cols, int max_nnz, int nnz, int K) {
    return 0;
}

extern "C" cudaError_t spmm_ell(int rows, int cols, int max_nnz, int nnz, int K, const float* values,
                                const int* col_ids, const float* X, float* Y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const dim3 threads(16, 16);
    const int wide = (K - 1) / 16 + 1;
    const dim3 blocks((rows - 1) / 16 + 1, wide < 65535 ? wide : 65535);
    spmm_ell_kernel<<<blocks, threads, 0, stream>>>(rows, max_nnz, K, values, col_ids, X, Y);
    return cudaGetLastError();
}
