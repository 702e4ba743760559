// Matrix products and matrix-vector products, n × n.
#include <cuda_runtime.h>

__global__ void product(float* out, const float* a, const float* b, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= n || c >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[r * n + k] * b[k * n + c];
    out[r * n + c] = sum;
}
__global__ void product_by_rows(float* out, const float* a, const float* b, int n) {  // a warp runs down a column
    int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= n || c >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[r * n + k] * b[k * n + c];
    out[r * n + c] = sum;
}
__global__ void product_in_double(float* out, const float* a, const float* b, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    double sum = 0.0;
    for (int k = 0; k < n; ++k) sum += (double)a[r * n + k] * b[k * n + c];
    out[r * n + c] = (float)sum;
}
template <int TILE>
__global__ void product_tiled(float* out, const float* a, const float* b, int n) {
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, c = blockIdx.x * TILE + x, r = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        s[y][x] = a[r * n + k0 + x];
        t[y][x] = b[(k0 + y) * n + c];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += s[y][k] * t[k][x];
        __syncthreads();
    }
    out[r * n + c] = sum;
}
// Each thread EACH × EACH outputs of a tile of SIDE × SIDE, DEPTH deep.
template <int SIDE, int DEPTH, int EACH>
__global__ void product_in_registers(float* out, const float* a, const float* b, int n) {
    constexpr int ROW = SIDE / EACH, THREADS = ROW * ROW;
    __shared__ float s[DEPTH][SIDE + 4], t[DEPTH][SIDE];
    int tx = threadIdx.x % ROW, ty = threadIdx.x / ROW, row = blockIdx.y * SIDE, col = blockIdx.x * SIDE;
    float sum[EACH][EACH] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        for (int i = threadIdx.x; i < SIDE * DEPTH; i += THREADS) {
            s[i % DEPTH][i / DEPTH] = a[(row + i / DEPTH) * n + k0 + i % DEPTH];
            t[i / SIDE][i % SIDE] = b[(k0 + i / SIDE) * n + col + i % SIDE];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float u[EACH], v[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i += 4) {
                *reinterpret_cast<float4*>(u + i) = *reinterpret_cast<float4*>(&s[k][ty * EACH + i]);
                *reinterpret_cast<float4*>(v + i) = *reinterpret_cast<float4*>(&t[k][tx * EACH + i]);
            }
#pragma unroll
            for (int i = 0; i < EACH; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) sum[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) out[(row + ty * EACH + i) * n + col + tx * EACH + j] = sum[i][j];
}
// One output column strip per thread: b is read once for four rows.
__global__ void product_four_rows(float* out, const float* a, const float* b, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * 4;
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (int k = 0; k < n; ++k) {
        float v = b[k * n + c];
        s0 += a[r * n + k] * v;
        s1 += a[(r + 1) * n + k] * v;
        s2 += a[(r + 2) * n + k] * v;
        s3 += a[(r + 3) * n + k] * v;
    }
    out[r * n + c] = s0;
    out[(r + 1) * n + c] = s1;
    out[(r + 2) * n + c] = s2;
    out[(r + 3) * n + c] = s3;
}

__global__ void vector_row_per_thread(float* out, const float* a, const float* x, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[r * n + k] * x[k];
    out[r] = sum;
}
__global__ void vector_row_per_warp(float* out, const float* a, const float* x, int n) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int k = lane; k < n; k += 32) sum += a[r * n + k] * x[k];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) out[r] = sum;
}
__global__ void vector_row_per_block(float* out, const float* a, const float* x, int n) {
    __shared__ float part[8];
    const float4* row = reinterpret_cast<const float4*>(a + blockIdx.x * n);
    const float4* all = reinterpret_cast<const float4*>(x);
    float sum = 0.0f;
    for (int k = threadIdx.x; k < n / 4; k += 256) {
        float4 u = row[k], v = all[k];
        sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0.0f;
        for (int w = 0; w < 8; ++w) sum += part[w];
        out[blockIdx.x] = sum;
    }
}
__global__ void vector_transposed(float* out, const float* a, const float* x, int n) {  // a column a thread
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[k * n + c] * x[k];
    out[c] = sum;
}

#define ENTRY(NAME) extern "C" cudaError_t NAME(float* out, const float* x, const float* y, int n, cudaStream_t stream)
ENTRY(matmul_naive) { product<<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_naive_32) { product<<<dim3(n / 32, n / 32), dim3(32, 32), 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_by_rows) { product_by_rows<<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_double) { product_in_double<<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_tile_16) { product_tiled<16><<<dim3(n / 16, n / 16), dim3(16, 16), 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_tile_32) { product_tiled<32><<<dim3(n / 32, n / 32), dim3(32, 32), 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_four_rows) { product_four_rows<<<dim3(n / 128, n / 4), 128, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_registers_4) { product_in_registers<64, 16, 4><<<dim3(n / 64, n / 64), 256, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_registers_4_small) { product_in_registers<32, 16, 4><<<dim3(n / 32, n / 32), 64, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(matmul_registers_8) { product_in_registers<128, 8, 8><<<dim3(n / 128, n / 128), 256, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(gemv_row_per_thread) { vector_row_per_thread<<<n / 128, 128, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(gemv_row_per_warp) { vector_row_per_warp<<<n / 8, 256, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(gemv_row_per_block) { vector_row_per_block<<<n, 256, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(gemv_transposed) { vector_transposed<<<n / 128, 128, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
