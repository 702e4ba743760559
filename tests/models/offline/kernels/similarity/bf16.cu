// Scaled inner products of all pairs of rows of two tables (a product with the second factor transposed).
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void pairs(const __nv_bfloat16* queries, const __nv_bfloat16* items, __nv_bfloat16* scores, int nq, int ni,
                      int dim, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int q = blockIdx.y * blockDim.y + threadIdx.y;
    if (q < nq && i < ni) {
        float dot = 0.0f;
        for (int d = 0; d < dim; ++d) {
            dot += __bfloat162float(queries[q * dim + d]) * __bfloat162float(items[i * dim + d]);
        }
        scores[q * ni + i] = __float2bfloat16(dot * scale);
    }
}

extern "C" size_t similarity_workspace_bytes(int nq, int ni, int dim) { return 0; }

extern "C" cudaError_t similarity(const __nv_bfloat16* queries, const __nv_bfloat16* items, __nv_bfloat16* scores,
                                  float scale, int nq, int ni, int dim, void* workspace, size_t workspace_bytes,
                                  cudaStream_t stream) {
    dim3 threads(16, 16);
    dim3 blocks((ni + 15) / 16, (nq + 15) / 16);
    pairs<<<blocks, threads, 0, stream>>>(queries, items, scores, nq, ni, dim, scale);
    return cudaGetLastError();
}
