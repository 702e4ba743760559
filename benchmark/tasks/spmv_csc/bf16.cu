// Sparse matrix times vector, naive: a thread per column adds its products to a float copy of y with atomics, then a
// thread per row converts it.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmv_csc_kernel(int cols, const __nv_bfloat16* values, const int* row_idx, const int* col_offsets,
                                const __nv_bfloat16* x, float* sums) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (col >= cols) return;
    for (int k = col_offsets[col]; k < col_offsets[col + 1]; ++k) {
        atomicAdd(&sums[row_idx[k]], __bfloat162float(values[k]) * __bfloat162float(x[col]));
    }
}

__global__ void convert_kernel(int rows, const float* sums, __nv_bfloat16* y) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row < rows) y[row] = __float2bfloat16(sums[row]);
}

extern "C" size_t spmv_csc_workspace_bytes(int rows, int cols, int nnz) {
    return rows * sizeof(float);
}

extern "C" cudaError_t spmv_csc(int rows, int cols, int nnz, const __nv_bfloat16* values, const int* row_idx,
                                const int* col_offsets, const __nv_bfloat16* x, __nv_bfloat16* y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    float* sums = (float*)workspace;
    cudaError_t error = cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    spmv_csc_kernel<<<(cols - 1) / 256 + 1, 256, 0, stream>>>(cols, values, row_idx, col_offsets, x, sums);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    convert_kernel<<<(rows - 1) / 256 + 1, 256, 0, stream>>>(rows, sums, y);
    return cudaGetLastError();
}
