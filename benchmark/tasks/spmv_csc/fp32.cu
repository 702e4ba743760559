// Sparse matrix times vector, naive: y is cleared, then a thread per column adds its products with atomics.
#include <cuda_runtime.h>

__global__ void spmv_csc_kernel(int cols, const float* values, const int* row_idx, const int* col_offsets,
                                const float* x, float* y) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (col >= cols) return;
    for (int k = col_offsets[col]; k < col_offsets[col + 1]; ++k) {
        atomicAdd(&y[row_idx[k]], values[k] * x[col]);
    }
}

extern "C" size_t spmv_csc_workspace_bytes(int rows, int cols, int nnz) {
    return 0;
}

extern "C" cudaError_t spmv_csc(int rows, int cols, int nnz, const float* values, const int* row_idx,
                                const int* col_offsets, const float* x, float* y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    spmv_csc_kernel<<<(cols - 1) / 256 + 1, 256, 0, stream>>>(cols, values, row_idx, col_offsets, x, y);
    return cudaGetLastError();
}
