// Sparse times dense matrix, naive: a thread per element of Y, in 16x16 blocks.
#include <cuda_runtime.h>

__global__ void spmm_csr_kernel(int rows, int K, const float* values, const int* col_idx, const int* row_offsets,
                                const float* X, float* Y) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= K) return;
    for (long long row = blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += gridDim.y * blockDim.y) {
        float sum = 0.0f;
        for (int e = row_offsets[row]; e < row_offsets[row + 1]; ++e) {
            sum += values[e] * X[(long long)col_idx[e] * K + k];
        }
        Y[row * K + k] = sum;
    }
}

extern "C" size_t spmm_csr_workspace_bytes(int rows, int cols, int nnz, int K) {
    return 0;
}

extern "C" cudaError_t spmm_csr(int rows, int cols, int nnz, int K, const float* values, const int* col_idx,
                                const int* row_offsets, const float* X, float* Y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const dim3 threads(16, 16);
    const int tall = (rows - 1) / 16 + 1;
    const dim3 blocks((K - 1) / 16 + 1, tall < 65535 ? tall : 65535);
    spmm_csr_kernel<<<blocks, threads, 0, stream>>>(rows, K, values, col_idx, row_offsets, X, Y);
    return cudaGetLastError();
}
