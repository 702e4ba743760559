// Sparse matrix times vector, naive: y is cleared, then a thread per entry adds its product with an atomic.
#include <cuda_runtime.h>

__global__ void spmv_coo_kernel(int nnz, const float* values, const int* row_idx, const int* col_idx, const float* x,
                                float* y) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= nnz) return;
    atomicAdd(&y[row_idx[k]], values[k] * x[col_idx[k]]);
}

extern "C" size_t spmv_coo_workspace_bytes(int rows, int cols, int nnz) {
    return 0;
}

extern "C" cudaError_t spmv_coo(int rows, int cols, int nnz, const float* values, const int* row_idx,
                                const int* col_idx, const float* x, float* y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    spmv_coo_kernel<<<(nnz - 1) / 256 + 1, 256, 0, stream>>>(nnz, values, row_idx, col_idx, x, y);
    return cudaGetLastError();
}
