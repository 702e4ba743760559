// Partial warps, tails, blocks and grids of two and three dimensions, divergence.
#include <cuda_runtime.h>

#define THREAD int i = blockIdx.x * blockDim.x + threadIdx.x

__global__ void block_of_48(float* out, const float* in, int n) { THREAD; out[i] = in[i]; }  // the second warp is half empty
__global__ void one_thread_blocks(float* out, const float* in, int n) { THREAD; out[i] = in[i]; }  // one lane a warp
__global__ void tail(float* out, const float* in, int n) { THREAD; if (i < n - 13) out[i] = in[i]; }  // the last warp is partial
__global__ void first_20_lanes(float* out, const float* in, int n) { THREAD; if (i % 32 < 20) out[i] = in[i]; }  // partial warps
__global__ void odd_lanes(float* out, const float* in, int n) { THREAD; if (i % 2) out[i] = in[i]; }  // every second lane
__global__ void two_branches(float* out, const float* in, int n) {  // both sides load
    THREAD;
    if (i % 2) out[i] = in[i];
    else out[i] = in[n + i] * 2.0f;
}
__global__ void growing_loops(float* out, const float* in, int n) {  // lanes leave a loop one by one
    THREAD;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k <= i % 32; ++k) sum += in[k * 32 + i % 32];
    out[i] = sum;
}
__global__ void rows_32_by_8(float* out, const float* in, int n) {  // x along rows
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[y * 128 + x] = in[y * 128 + x];
}
__global__ void rows_8_by_32(float* out, const float* in, int n) {  // four rows a warp
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    out[y * 128 + x] = in[y * 128 + x];
}
__global__ void rows_16_by_16(float* out, const float* in, int n) {  // two rows a warp, odd width
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < 100) out[y * 100 + x] = in[y * 100 + x];
}
__global__ void columns_32_by_8(float* out, const float* in, int n) {  // x along columns
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[x * 128 + y] = in[x * 128 + y];
}
__global__ void box_4_by_4_by_4(float* out, const float* in, int n) {  // three dimensions
    int x = blockIdx.x * 4 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    out[(z * 16 + y) * 32 + x] = in[(z * 16 + y) * 32 + x];
}
__global__ void naive_product(float* out, const float* in, int n) {  // 64 × 64 matrices, one output a thread
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 64; ++k) sum += in[r * 64 + k] * in[4096 + k * 64 + c];
    out[r * 64 + c] = sum;
}
__global__ void tiled_product(float* out, const float* in, int n) {  // the same through shared tiles
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, c = blockIdx.x * 16 + tx, r = blockIdx.y * 16 + ty;
    float sum = 0.0f;
#pragma unroll 1
    for (int k0 = 0; k0 < 64; k0 += 16) {
        a[ty][tx] = in[r * 64 + k0 + tx];
        b[ty][tx] = in[4096 + (k0 + ty) * 64 + c];
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < 16; ++k) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    out[r * 64 + c] = sum;
}

extern "C" cudaError_t launch_shapes(float* out, const float* in, int n, cudaStream_t stream) {
    block_of_48<<<n / 64, 48, 0, stream>>>(out, in, n);
    one_thread_blocks<<<256, 1, 0, stream>>>(out, in, n);
    tail<<<n / 128, 128, 0, stream>>>(out, in, n);
    first_20_lanes<<<n / 128, 128, 0, stream>>>(out, in, n);
    odd_lanes<<<n / 128, 128, 0, stream>>>(out, in, n);
    two_branches<<<n / 128, 128, 0, stream>>>(out, in, n);
    growing_loops<<<n / 128, 128, 0, stream>>>(out, in, n);
    rows_32_by_8<<<dim3(4, n / 1024), dim3(32, 8), 0, stream>>>(out, in, n);
    rows_8_by_32<<<dim3(16, n / 4096), dim3(8, 32), 0, stream>>>(out, in, n);
    rows_16_by_16<<<dim3(7, n / 2048), dim3(16, 16), 0, stream>>>(out, in, n);
    columns_32_by_8<<<dim3(4, 16), dim3(32, 8), 0, stream>>>(out, in, n);
    box_4_by_4_by_4<<<dim3(8, 4, 4), dim3(4, 4, 4), 0, stream>>>(out, in, n);
    naive_product<<<dim3(4, 4), dim3(16, 16), 0, stream>>>(out, in, n);
    tiled_product<<<dim3(4, 4), dim3(16, 16), 0, stream>>>(out, in, n);
    return cudaGetLastError();
}
