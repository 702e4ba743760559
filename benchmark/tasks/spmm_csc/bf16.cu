// Sparse times dense matrix, naive: a thread per sparse column and column of X, in 16x16 blocks, adds its products
// to a float copy of Y with atomics, then a thread per element converts it.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmm_csc_kernel(int cols, int K, const __nv_bfloat16* values, const int* row_idx,
                                const int* col_offsets, const __nv_bfloat16* X, float* sums) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (col >= cols) return;
    for (long long k = blockIdx.y * blockDim.y + threadIdx.y; k < K; k += gridDim.y * blockDim.y) {
        for (int e = col_offsets[col]; e < col_offsets[col + 1]; ++e) {
            const float product = __bfloat162float(values[e]) * __bfloat162float(X[col * K + k]);
            atomicAdd(&sums[(long long)row_idx[e] * K + k], product);
        }
    }
}

__global__ void convert_kernel(long long elements, const float* sums, __nv_bfloat16* Y) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < elements) Y[i] = __float2bfloat16(sums[i]);
}

extern "C" size_t spmm_csc_workspace_bytes(int rows, int cols, int nnz, int K) {
    return (size_t)rows * K * sizeof(float);
}

extern "C" cudaError_t spmm_csc(int rows, int cols, int nnz, int K, const __nv_bfloat16* values, const int* row_idx,
                                const int* col_offsets, const __nv_bfloat16* X, __nv_bfloat16* Y,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    float* sums = (float*)workspace;
    cudaError_t error = cudaMemsetAsync(sums, 0, (size_t)rows * K * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    const dim3 threads(16, 16);
    const int wide = (K - 1) / 16 + 1;
    const dim3 blocks((cols - 1) / 16 + 1, wide < 65535 ? wide : 65535);
    spmm_csc_kernel<<<blocks, threads, 0, stream>>>(cols, K, values, row_idx, col_offsets, X, sums);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    const long long elements = (long long)rows * K;
    convert_kernel<<<(unsigned)((elements - 1) / 256 + 1), 256, 0, stream>>>(elements, sums, Y);
    return cudaGetLastError();
}
