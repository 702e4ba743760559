// Sparse matrix times vector, naive: a thread per padded row, which also reads its padding.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmv_ell_kernel(int rows, int max_nnz, const __nv_bfloat16* values, const int* col_ids,
                                const __nv_bfloat16* x, __nv_bfloat16* y) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < max_nnz; ++j) {
        const int col = col_ids[row * max_nnz + j];
        if (col >= 0) sum += __bfloat162float(values[row * max_nnz + j]) * __bfloat162float(x[col]);
    }
    y[row] = __float2bfloat16(sum);
}

extern "C" size_t spmv_ell_workspace_bytes(int rows, int cols, int max_nnz, int nnz) {
    return 0;
}

extern "C" cudaError_t spmv_ell(int rows, int cols, int max_nnz, int nnz, const __nv_bfloat16* values,
                                const int* col_ids, const __nv_bfloat16* x, __nv_bfloat16* y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    spmv_ell_kernel<<<(rows - 1) / 256 + 1, 256, 0, stream>>>(rows, max_nnz, values, col_ids, x, y);
    return cudaGetLastError();
}
