// Sparse matrix times vector, naive: a thread per entry adds its product to a float copy of y with an atomic, then a
// thread per row converts it.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmv_coo_kernel(int nnz, const __nv_bfloat16* values, const int* row_idx, const int* col_idx,
                                const __nv_bfloat16* x, float* sums) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= nnz) return;
    atomicAdd(&sums[row_idx[k]], __bfloat162float(values[k]) * __bfloat162float(x[col_idx[k]]));
}

__global__ void convert_kernel(int rows, const float* sums, __nv_bfloat16* y) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row < rows) y[row] = __float2bfloat16(sums[row]);
}

extern "C" size_t spmv_coo_workspace_bytes(int rows, int cols, int nnz) {
    return rows * sizeof(float);
}

extern "C" cudaError_t spmv_coo(int rows, int cols, int nnz, const __nv_bfloat16* values, const int* row_idx,
                                const int* col_idx, const __nv_bfloat16* x, __nv_bfloat16* y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    float* sums = (float*)workspace;
    cudaError_t error = cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    spmv_coo_kernel<<<(nnz - 1) / 256 + 1, 256, 0, stream>>>(nnz, values, row_idx, col_idx, x, sums);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    convert_kernel<<<(rows - 1) / 256 + 1, 256, 0, stream>>>(rows, sums, y);
    return cudaGetLastError();
}
