// Grey value of a planar image; the fast thread axis walks down the rows.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void lumaKernel(const __nv_bfloat16* red, const __nv_bfloat16* green, const __nv_bfloat16* blue,
                           __nv_bfloat16* grey, int height, int width) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < height && x < width) {
        int at = y * width + x;
        float r = __bfloat162float(red[at]);
        float g = __bfloat162float(green[at]);
        float b = __bfloat162float(blue[at]);
        grey[at] = __float2bfloat16(0.299f * r + 0.587f * g + 0.114f * b);
    }
}

extern "C" size_t luma_workspace_bytes(int height, int width) { return 0; }

extern "C" cudaError_t luma(const __nv_bfloat16* red, const __nv_bfloat16* green, const __nv_bfloat16* blue,
                            __nv_bfloat16* grey, int height, int width, void* workspace, size_t workspace_bytes,
                            cudaStream_t stream) {
    dim3 tile(16, 16);
    dim3 tiles((height + tile.x - 1) / tile.x, (width + tile.y - 1) / tile.y);
    lumaKernel<<<tiles, tile, 0, stream>>>(red, green, blue, grey, height, width);
    return cudaGetLastError();
}
