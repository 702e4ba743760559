// How many values exceed a limit: a grid-stride loop with an integer atomic for every hit.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void tally(const __nv_bfloat16* values, int* hits, unsigned int total, float limit) {
    for (unsigned int pos = blockIdx.x * blockDim.x + threadIdx.x; pos < total; pos += gridDim.x * blockDim.x) {
        const float v = __bfloat162float(values[pos]);
        if (v > limit) {
            atomicAdd(hits, 1);
        }
    }
}

extern "C" size_t count_above_workspace_bytes(int total) { return 0; }

extern "C" cudaError_t count_above(const __nv_bfloat16* values, int* hits, float limit, int total, void* workspace,
                                   size_t workspace_bytes, cudaStream_t stream) {
    cudaMemsetAsync(hits, 0, sizeof(int), stream);
    tally<<<32, 256, 0, stream>>>(values, hits, total, limit);
    return cudaGetLastError();
}
