// Scaled inner products of all pairs of rows of two tables (a product with the second factor transposed).
#include <cuda_runtime.h>

#define AT(matrix, r, c, ld) matrix[(r) * (ld) + (c)]

__global__ void pairs(const float* queries, const float* items, float* scores, int nq, int ni, int dim, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int q = blockIdx.y * blockDim.y + threadIdx.y;
    if (q < nq && i < ni) {
        float dot = 0.0f;
        for (int d = 0; d < dim; ++d) {
            dot += AT(queries, q, d, dim) * AT(items, i, d, dim);
        }
        AT(scores, q, i, ni) = dot * scale;
    }
}

extern "C" size_t similarity_workspace_bytes(int nq, int ni, int dim) { return 0; }

extern "C" cudaError_t similarity(const float* queries, const float* items, float* scores, float scale, int nq, int ni,
                                  int dim, void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    dim3 threads(16, 16);
    dim3 blocks((ni + 15) / 16, (nq + 15) / 16);
    pairs<<<blocks, threads, 0, stream>>>(queries, items, scores, nq, ni, dim, scale);
    return cudaGetLastError();
}
