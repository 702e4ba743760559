// Loads and stores of 4 bytes: strides, offsets, gathers, loops. Each kernel runs once; the comment says what it shows.
#include <cuda_runtime.h>

#define THREAD int i = blockIdx.x * blockDim.x + threadIdx.x

__global__ void copy(float* out, const float* in, int n) { THREAD; out[i] = in[i]; }  // neighbours
__global__ void offset_1(float* out, const float* in, int n) { THREAD; out[i] = in[i + 1]; }  // loads shifted by one element
__global__ void offset_8(float* out, const float* in, int n) { THREAD; out[i] = in[i + 8]; }  // shifted by one sector
__global__ void store_offset_3(float* out, const float* in, int n) { THREAD; out[i + 3] = in[i]; }  // stores shifted by three
__global__ void stride_2(float* out, const float* in, int n) { THREAD; out[i] = in[2 * i]; }  // every second element
__global__ void stride_4(float* out, const float* in, int n) { THREAD; out[i] = in[4 * i]; }  // two lanes a sector
__global__ void stride_8(float* out, const float* in, int n) { THREAD; out[i] = in[8 * i]; }  // a sector a lane
__global__ void stride_33(float* out, const float* in, int n) { THREAD; out[i] = in[33 * i]; }  // an odd stride above a line
__global__ void store_stride_3(float* out, const float* in, int n) { THREAD; out[3 * i] = in[i]; }  // stores of parts of sectors
__global__ void reversed(float* out, const float* in, int n) { THREAD; out[i] = in[n - 1 - i]; }  // neighbours, backwards
__global__ void broadcast(float* out, const float* in, int n) { THREAD; out[i] = in[blockIdx.x]; }  // one address a warp
__global__ void quads(float* out, const float* in, int n) { THREAD; out[i] = in[i / 4]; }  // four lanes an address
__global__ void swapped_pairs(float* out, const float* in, int n) { THREAD; out[i ^ 1] = in[i ^ 3]; }  // permuted within a sector
__global__ void scatter(float* out, const float* in, int n) { THREAD; out[(unsigned)i * 40503u % (unsigned)n] = in[i]; }  // stores all over
__global__ void gather(float* out, const float* in, int n) { THREAD; out[i] = in[(unsigned)i * 40503u % (unsigned)n]; }  // loads all over
__global__ void stencil_3(float* out, const float* in, int n) { THREAD; out[i] = in[i] + in[i + 1] + in[i + 2]; }  // overlapping loads
__global__ void read_only(float* out, const float* __restrict__ in, int n) { THREAD; out[i] = __ldg(in + i) + __ldcs(in + n + i); }  // hinted loads
__global__ void grid_stride(float* out, const float* in, int n) { for (THREAD; i < n; i += gridDim.x * blockDim.x) out[i] = in[i]; }  // a loop over the grid
__global__ void chunk_per_thread(float* out, const float* in, int n) {  // each thread its own run of elements
    THREAD;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 16; ++k) sum += in[16 * i + k];
    out[i] = sum;
}
__global__ void row_per_thread(float* out, const float* in, int n) {  // a matrix of 128 columns, a row a thread
    THREAD;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 128; ++k) sum += in[128 * i + k];
    out[i] = sum;
}
__global__ void column_per_thread(float* out, const float* in, int n) {  // the same, a column a thread
    THREAD;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 32; ++k) sum += in[k * n + i];
    out[i] = sum;
}

extern "C" cudaError_t global_memory(float* out, const float* in, int n, cudaStream_t stream) {
    copy<<<n / 256, 256, 0, stream>>>(out, in, n);
    offset_1<<<n / 256, 256, 0, stream>>>(out, in, n);
    offset_8<<<n / 256, 256, 0, stream>>>(out, in, n);
    store_offset_3<<<n / 256, 256, 0, stream>>>(out, in, n);
    stride_2<<<n / 256, 256, 0, stream>>>(out, in, n);
    stride_4<<<n / 256, 256, 0, stream>>>(out, in, n);
    stride_8<<<n / 256, 256, 0, stream>>>(out, in, n);
    stride_33<<<n / 256, 256, 0, stream>>>(out, in, n);
    store_stride_3<<<n / 256, 256, 0, stream>>>(out, in, n);
    reversed<<<n / 256, 256, 0, stream>>>(out, in, n);
    broadcast<<<n / 256, 256, 0, stream>>>(out, in, n);
    quads<<<n / 256, 256, 0, stream>>>(out, in, n);
    swapped_pairs<<<n / 256, 256, 0, stream>>>(out, in, n);
    scatter<<<n / 256, 256, 0, stream>>>(out, in, n);
    gather<<<n / 256, 256, 0, stream>>>(out, in, n);
    stencil_3<<<n / 256, 256, 0, stream>>>(out, in, n);
    read_only<<<n / 256, 256, 0, stream>>>(out, in, n);
    grid_stride<<<16, 256, 0, stream>>>(out, in, n);
    chunk_per_thread<<<n / 256, 256, 0, stream>>>(out, in, n);
    row_per_thread<<<n / 1024, 256, 0, stream>>>(out, in, n);
    column_per_thread<<<n / 256, 256, 0, stream>>>(out, in, n);
    return cudaGetLastError();
}
