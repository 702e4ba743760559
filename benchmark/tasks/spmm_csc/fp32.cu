// Sparse times dense matrix, naive: a thread per sparse column and column of X, in 16x16 blocks, adds its products
// with atomics.
#include <cuda_runtime.h>

__global__ void spmm_csc_kernel(int cols, int K, const float* values, const int* row_idx, const int* col_offsets,
                                const float* X, float* Y) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (col >= cols) return;
    for (long long k = blockIdx.y * blockDim.y + threadIdx.y; k < K; k += gridDim.y * blockDim.y) {
        for (int e = col_offsets[col]; e < col_offsets[col + 1]; ++e) {
            atomicAdd(&Y[(long long)row_idx[e] * K + k], values[e] * X[col * K + k]);
        }
    }
}

extern "C" size_t spmm_csc_workspace_bytes(int rows, int cols, int nnz, int K) {
    return 0;
}

extern "C" cudaError_t spmm_csc(int rows, int cols, int nnz, int K, const float* values, const int* row_idx,
                                const int* col_offsets, const float* X, float* Y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(Y, 0, (size_t)rows * K * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    const dim3 threads(16, 16);
    const int wide = (K - 1) / 16 + 1;
    const dim3 blocks((cols - 1) / 16 + 1, wide < 65535 ? wide : 65535);
    spmm_csc_kernel<<<blocks, threads, 0, stream>>>(cols, K, values, row_idx, col_offsets, X, Y);
    return cudaGetLastError();
}
