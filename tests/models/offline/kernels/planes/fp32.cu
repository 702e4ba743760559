// Interleaved samples to one plane per channel (a transpose): neighbouring threads write far apart.
#include <cuda_runtime.h>

__global__ void deinterleave(const float* __restrict__ mixed, float* __restrict__ planar, int samples, int channels) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int s = blockIdx.y * blockDim.y + threadIdx.y;
    if (s < samples && c < channels) planar[c * samples + s] = mixed[s * channels + c];
}

extern "C" size_t planes_workspace_bytes(int samples, int channels) { return 0; }

extern "C" cudaError_t planes(const float* mixed, float* planar, int samples, int channels, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
    const dim3 block(32, 8);
    const dim3 grid((channels + block.x - 1) / block.x, (samples + block.y - 1) / block.y);
    deinterleave<<<grid, block, 0, stream>>>(mixed, planar, samples, channels);
    return cudaPeekAtLastError();
}
