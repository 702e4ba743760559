// Sparse matrix times vector, naive: a thread per padded row, which also reads its padding.
#include <cuda_runtime.h>

__global__ void spmv_ell_kernel(int rows, int max_nnz, const float* values, const int* col_ids, const float* x,
                                float* y) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < max_nnz; ++j) {
        const int col = col_ids[row * max_nnz + j];
        if (col >= 0) sum += values[row * max_nnz + j] * x[col];
    }
    y[row] = sum;
}

extern "C" size_t spmv_ell_workspace_bytes(int rows, int cols, int max_nnz, int nnz) {
    return 0;
}

extern "C" cudaError_t spmv_ell(int rows, int cols, int max_nnz, int nnz, const float* values, const int* col_ids,
                                const float* x, float* y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    spmv_ell_kernel<<<(rows - 1) / 256 + 1, 256, 0, stream>>>(rows, max_nnz, values, col_ids, x, y);
    return cudaGetLastError();
}
