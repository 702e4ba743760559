// Fields of n × n: transposes, stencils, rows normalized.
#include <cuda_runtime.h>

__global__ void transpose_reads(float* out, const float* x, int n) {  // neighbours read, strided writes
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    out[c * n + r] = x[r * n + c];
}
__global__ void transpose_writes(float* out, const float* x, int n) {  // strided reads, neighbours written
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    out[r * n + c] = x[c * n + r];
}
template <int PAD>
__global__ void transpose_tile(float* out, const float* x, int n) {
    __shared__ float tile[32][32 + PAD];
    int c = blockIdx.x * 32, r = blockIdx.y * 32, t = threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8) tile[j][t] = x[(r + j) * n + c + t];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) out[(c + j) * n + r + t] = tile[t][j];
}
__global__ void stencil(float* out, const float* x, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= n - 1 || r >= n - 1) return;
    out[r * n + c] = 0.25f * (x[r * n + c - 1] + x[r * n + c + 1] + x[(r - 1) * n + c] + x[(r + 1) * n + c]) - x[r * n + c];
}
__global__ void stencil_slow_axis(float* out, const float* x, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= n - 1 || r >= n - 1) return;
    out[r * n + c] = 0.25f * (x[r * n + c - 1] + x[r * n + c + 1] + x[(r - 1) * n + c] + x[(r + 1) * n + c]) - x[r * n + c];
}
__global__ void stencil_shared(float* out, const float* x, int n) {
    __shared__ float s[10][34];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 340; k += 256) {
        int y = min(max((int)blockIdx.y * 8 + k / 34 - 1, 0), n - 1), z = min(max((int)blockIdx.x * 32 + k % 34 - 1, 0), n - 1);
        s[k / 34][k % 34] = x[y * n + z];
    }
    __syncthreads();
    if (c < 1 || r < 1 || c >= n - 1 || r >= n - 1) return;
    int y = threadIdx.y + 1, z = threadIdx.x + 1;
    out[r * n + c] = 0.25f * (s[y][z - 1] + s[y][z + 1] + s[y - 1][z] + s[y + 1][z]) - s[y][z];
}
__global__ void box_7(float* out, const float* x, int n) {  // mean of 7 × 7
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (c < 3 || r < 3 || c >= n - 3 || r >= n - 3) return;
    float sum = 0.0f;
    for (int i = -3; i <= 3; ++i)
        for (int j = -3; j <= 3; ++j) sum += x[(r + i) * n + c + j];
    out[r * n + c] = sum / 49.0f;
}
__global__ void box_7_by_rows(float* out, const float* x, int n) {
    int c = blockIdx.x * 256 + threadIdx.x, r = blockIdx.y;
    if (c < 3 || c >= n - 3) return;
    float sum = 0.0f;
    for (int j = -3; j <= 3; ++j) sum += x[r * n + c + j];
    out[r * n + c] = sum;
}
__global__ void box_7_by_columns(float* out, const float* x, int n) {
    int c = blockIdx.x * 256 + threadIdx.x, r = blockIdx.y;
    if (r < 3 || r >= n - 3) return;
    float sum = 0.0f;
    for (int j = -3; j <= 3; ++j) sum += x[(r + j) * n + c];
    out[r * n + c] = sum / 49.0f;
}
__global__ void softmax_thread(float* out, const float* x, int n) {  // a row a thread
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float most = -1e30f, sum = 0.0f;
    for (int k = 0; k < n; ++k) most = fmaxf(most, x[r * n + k]);
    for (int k = 0; k < n; ++k) sum += expf(x[r * n + k] - most);
    for (int k = 0; k < n; ++k) out[r * n + k] = expf(x[r * n + k] - most) / sum;
}
__device__ float over_block(float v, float* s, bool largest) {
    for (int d = 16; d > 0; d /= 2) {
        float u = __shfl_xor_sync(0xffffffffu, v, d);
        v = largest ? fmaxf(v, u) : v + u;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = s[0];
    for (int w = 1; w < blockDim.x / 32; ++w) v = largest ? fmaxf(v, s[w]) : v + s[w];
    return v;
}
__global__ void softmax_block(float* out, const float* x, int n) {  // a row a block
    __shared__ float s[8];
    const float* row = x + blockIdx.x * n;
    float most = -1e30f, sum = 0.0f;
    for (int k = threadIdx.x; k < n; k += 256) most = fmaxf(most, row[k]);
    most = over_block(most, s, true);
    for (int k = threadIdx.x; k < n; k += 256) sum += __expf(row[k] - most);
    sum = over_block(sum, s, false);
    for (int k = threadIdx.x; k < n; k += 256) out[blockIdx.x * n + k] = __expf(row[k] - most) / sum;
}
__global__ void softmax_warp(float* out, const float* x, int n) {  // a row a warp, kept in registers
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float v[32], most = -1e30f, sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k) {
        v[k] = k * 32 + lane < n ? x[r * n + k * 32 + lane] : -1e30f;
        most = fmaxf(most, v[k]);
    }
    for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += v[k] = __expf(v[k] - most);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
#pragma unroll
    for (int k = 0; k < 32; ++k)
        if (k * 32 + lane < n) out[r * n + k * 32 + lane] = v[k] / sum;
}
__global__ void row_sums_atomics(float* out, const float* x, int n) {
    int c = blockIdx.x * 256 + threadIdx.x, r = blockIdx.y;
    atomicAdd(out + r, x[r * n + c]);
}
__global__ void column_sums(float* out, const float* x, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < n; ++r) sum += x[r * n + c];
    out[c] = sum;
}
__global__ void column_sums_split(float* out, const float* x, int n) {
    int c = blockIdx.x * 256 + threadIdx.x, each = n / gridDim.y;
    float sum = 0.0f;
    for (int r = blockIdx.y * each; r < (blockIdx.y + 1) * each; ++r) sum += x[r * n + c];
    atomicAdd(out + c, sum);
}

#define ENTRY(NAME) extern "C" cudaError_t NAME(float* out, const float* x, const float* y, int n, cudaStream_t stream)
#define BLOCKS_32_8 dim3(n / 32, n / 8), dim3(32, 8), 0, stream
ENTRY(transpose_coalesced_reads) { transpose_reads<<<BLOCKS_32_8>>>(out, x, n); return cudaGetLastError(); }
ENTRY(transpose_coalesced_writes) { transpose_writes<<<BLOCKS_32_8>>>(out, x, n); return cudaGetLastError(); }
ENTRY(transpose_in_tiles) { transpose_tile<0><<<dim3(n / 32, n / 32), dim3(32, 8), 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(transpose_padded) { transpose_tile<1><<<dim3(n / 32, n / 32), dim3(32, 8), 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(stencil_plain) { stencil<<<BLOCKS_32_8>>>(out, x, n); return cudaGetLastError(); }
ENTRY(stencil_16_16) { stencil<<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(stencil_wrong_axis) { stencil_slow_axis<<<BLOCKS_32_8>>>(out, x, n); return cudaGetLastError(); }
ENTRY(stencil_in_shared) { stencil_shared<<<BLOCKS_32_8>>>(out, x, n); return cudaGetLastError(); }
ENTRY(box_filter) { box_7<<<BLOCKS_32_8>>>(out, x, n); return cudaGetLastError(); }
ENTRY(box_filter_separated) {
    box_7_by_rows<<<dim3(n / 256, n), 256, 0, stream>>>(out + n * n, x, n);
    box_7_by_columns<<<dim3(n / 256, n), 256, 0, stream>>>(out, out + n * n, n);
    return cudaGetLastError();
}
ENTRY(softmax_row_per_thread) { softmax_thread<<<n / 64, 64, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(softmax_row_per_block) { softmax_block<<<n, 256, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(softmax_row_per_warp) { softmax_warp<<<n / 4, 128, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(row_sums_by_atomics) { row_sums_atomics<<<dim3(n / 256, n), 256, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(column_sums_plain) { column_sums<<<n / 128, 128, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(column_sums_in_parts) { column_sums_split<<<dim3(n / 256, 16), 256, 0, stream>>>(out, x, n); return cudaGetLastError(); }
