// Sparse matrix times vector, naive: a thread per row along x, and all 32 threads along y do the same work again.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmv_csr_kernel(int rows, const __nv_bfloat16* values, const int* col_idx, const int* row_offsets,
                                const __nv_bfloat16* x, __nv_bfloat16* y) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = row_offsets[row]; k < row_offsets[row + 1]; ++k) {
        sum += __bfloat162float(values[k]) * __bfloat162float(x[col_idx[k]]);
    }
    // 32 threads store the same value: volatile makes that defined.
    *(volatile unsigned short*)&y[row] = __bfloat16_as_ushort(__float2bfloat16(sum));
}

extern "C" size_t spmv_csr_workspace_bytes(int rows, int cols, int nnz) {
    return 0;
}

extern "C" cudaError_t spmv_csr(int rows, int cols, int nnz, const __nv_bfloat16* values, const int* col_idx,
                                const int* row_offsets, const __nv_bfloat16* x, __nv_bfloat16* y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const dim3 threads(32, 32);
    spmv_csr_kernel<<<(rows - 1) / 32 + 1, threads, 0, stream>>>(rows, values, col_idx, row_offsets, x, y);
    return cudaGetLastError();
}
