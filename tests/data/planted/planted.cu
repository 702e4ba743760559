// Small kernels with one planted fault each, and their repaired twins. `X_fault` and `X_twin` compute the same from the same data.
// ./planted times every kernel with events; ./planted once runs each call once, for a profiler.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

typedef __nv_bfloat16 bf16;

// --- same_address_atomics -------------------------------------------------------------------------------------------
__global__ void dot_fault(float* y, const float* a, const float* b, int n) {
    float s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i] * b[i];
    atomicAdd(y, s);
}
__global__ void dot_twin(float* y, const float* a, const float* b, int n) {
    __shared__ float part[32];
    float s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i] * b[i];
    for (int k = 16; k; k >>= 1) s += __shfl_down_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int k = 16; k; k >>= 1) s += __shfl_down_sync(~0u, s, k);
        if (threadIdx.x == 0) atomicAdd(y, s);
    }
}
__global__ void sum_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&y[0], a[i]);
}
__global__ void sum_twin(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (; i < n; i += gridDim.x * blockDim.x) s += a[i];
    for (int k = 16; k; k >>= 1) s += __shfl_down_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) atomicAdd(y, s);
}

// --- too_few_blocks -------------------------------------------------------------------------------------------------
__global__ void oneblock_fault(float* y, const float* a, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = a[i] > 0 ? a[i] : 0.01f * a[i];
}
__global__ void oneblock_twin(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a[i] > 0 ? a[i] : 0.01f * a[i];
}
__global__ void fewthreads_fault(float* y, const float* a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f * a[i];
}
__global__ void fewthreads_twin(float* y, const float* a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f * a[i];
}
__device__ float grind(float v, int steps) {
    for (int k = 0; k < steps; k++) v = v * 1.0001f + 0.5f;
    return v;
}
__global__ void tail_fault(float* y, const float* a, int work) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = grind(a[i], work);
}
__global__ void tail_twin(float* y, const float* a, int work) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = grind(a[i], work);
}

// --- uncoalesced_access ---------------------------------------------------------------------------------------------
__global__ void transpose_fault(float* y, const float* a, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) y[(size_t)x * n + r + j] = a[(size_t)(r + j) * n + x];
}
__global__ void transpose_twin(float* y, const float* a, int n) {
    __shared__ float t[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = a[(size_t)(r + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) y[(size_t)(r + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void rowsum_fault(float* y, const float* a, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0;
    for (int c = 0; c < cols; c++) s += a[(size_t)r * cols + c];
    y[r] = s;
}
__global__ void rowsum_twin(float* y, const float* a, int rows, int cols) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (r >= rows) return;
    float s = 0;
    for (int c = threadIdx.x % 32; c < cols; c += 32) s += a[(size_t)r * cols + c];
    for (int k = 16; k; k >>= 1) s += __shfl_down_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) y[r] = s;
}
__global__ void fields_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a[(size_t)i * 16] + a[(size_t)i * 16 + 8];
}
__global__ void fields_twin(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a[i] + a[n + i];
}

// --- bank_conflicts -------------------------------------------------------------------------------------------------
__global__ void banks_fault(float* y, const float* a, int steps) {
    __shared__ float t[32 * 32];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) t[k] = a[k];
    __syncthreads();
    float s = 0;
    int lane = threadIdx.x % 32;
    for (int k = 0; k < steps; k++) s += t[lane * 32 + (k & 31)];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void banks_twin(float* y, const float* a, int steps) {
    __shared__ float t[32 * 33];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) t[k / 32 * 33 + k % 32] = a[k];
    __syncthreads();
    float s = 0;
    int lane = threadIdx.x % 32;
    for (int k = 0; k < steps; k++) s += t[lane * 33 + (k & 31)];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void tile_fault(float* y, const float* a, int n) {
    __shared__ float t[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = a[(size_t)(r + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) y[(size_t)(r + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void tile_twin(float* y, const float* a, int n) {
    __shared__ float t[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = a[(size_t)(r + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) y[(size_t)(r + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}

// --- register_spills ------------------------------------------------------------------------------------------------
__device__ void wide(float* y, const float* a, int n, int steps) {
    float r[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 64; k++) r[k] = a[i + k * 1024];
    for (int j = 0; j < steps; j++) {
#pragma unroll
        for (int k = 0; k < 64; k++) r[k] = r[k] * r[(k + 7) % 64] + 0.25f;
    }
    float s = 0;
#pragma unroll
    for (int k = 0; k < 64; k++) s += r[k];
    y[i] = s;
}
__global__ void __launch_bounds__(1024, 2) spill_fault(float* y, const float* a, int n, int steps) { wide(y, a, n, steps); }
__global__ void __launch_bounds__(256, 2) spill_twin(float* y, const float* a, int n, int steps) { wide(y, a, n, steps); }
__global__ void indexed_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float count[32];
    for (int k = 0; k < 32; k++) count[k] = 0;
    for (int k = 0; k < 256; k++) count[(i * 7 + k * 5) & 31] += a[(i + k * 1024) & (n - 1)];
    float s = 0;
    for (int k = 0; k < 32; k++) s += count[k] * k;
    y[i] = s;
}
__global__ void indexed_twin(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < 256; k++) s += a[(i + k * 1024) & (n - 1)] * ((i * 7 + k * 5) & 31);
    y[i] = s;
}

// --- narrow_loads ---------------------------------------------------------------------------------------------------
__global__ void narrow_fault(bf16* y, const bf16* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __float2bfloat16(2.0f * __bfloat162float(a[i]));
}
__global__ void narrow_twin(bf16* y, const bf16* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i * 8 >= n) return;
    uint4 v = reinterpret_cast<const uint4*>(a)[i];
    __nv_bfloat162* p = reinterpret_cast<__nv_bfloat162*>(&v);
    for (int k = 0; k < 4; k++) {
        float2 f = __bfloat1622float2(p[k]);
        p[k] = __floats2bfloat162_rn(2.0f * f.x, 2.0f * f.y);
    }
    reinterpret_cast<uint4*>(y)[i] = v;
}

// --- accidental_double ----------------------------------------------------------------------------------------------
__global__ void gelu_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5 * a[i] * (1.0 + erf(a[i] / sqrt(2.0)));
}
__global__ void gelu_twin(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * a[i] * (1.0f + erff(a[i] * 0.70710678f));
}
__global__ void horner_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i];
    for (int k = 0; k < 64; k++) v = v * 0.9999 + 0.0001;
    y[i] = v;
}
__global__ void horner_twin(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i];
    for (int k = 0; k < 64; k++) v = v * 0.9999f + 0.0001f;
    y[i] = v;
}

// --- special_function_bound -----------------------------------------------------------------------------------------
__global__ void special_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0, v = fabsf(a[i]) + 0.5f;
#pragma unroll
    for (int k = 1; k <= 24; k++) s += __expf(k * __logf(v));
    y[i] = s;
}
__global__ void special_twin(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0, v = fabsf(a[i]) + 0.5f, p = 1;
#pragma unroll
    for (int k = 1; k <= 24; k++) s += p *= v;
    y[i] = s;
}

// --- divergent_threads ----------------------------------------------------------------------------------------------
__global__ void diverge_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = grind(a[i], i % 32 == 0 ? 2048 : 16);
}
__global__ void diverge_twin(float* y, const float* a, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, per = n / 32;
    int i = t < per ? t * 32 : (t - per) / 31 * 32 + (t - per) % 31 + 1;
    y[i] = grind(a[i], t < per ? 2048 : 16);
}

// --- redundant_threads ----------------------------------------------------------------------------------------------
__global__ void plane_fault(float* y, const float* a, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0;
    for (int c = 0; c < cols; c++) s += a[(size_t)c * rows + r];
    y[r] = s;
}
__global__ void plane_twin(float* y, const float* a, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0;
    for (int c = 0; c < cols; c++) s += a[(size_t)c * rows + r];
    y[r] = s;
}
__global__ void recompute_fault(float* y, const float* a, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = a[i] / (1.0f + __expf(-a[i]));
}
__global__ void recompute_twin(float* y, const float* a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a[i] / (1.0f + __expf(-a[i]));
}

// --- low_occupancy --------------------------------------------------------------------------------------------------
__global__ void occupancy_fault(float* y, const float* a, int n) {
    extern __shared__ float big[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    big[threadIdx.x] = a[i];
    y[i] = 2.0f * big[threadIdx.x];
}
__global__ void occupancy_twin(float* y, const float* a, int n) {
    extern __shared__ float big[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    big[threadIdx.x] = a[i];
    y[i] = 2.0f * big[threadIdx.x];
}

// --- excess_traffic -------------------------------------------------------------------------------------------------
__global__ void matmul_fault(float* c, const float* a, const float* b, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[r * n + k] * b[k * n + x];
    c[r * n + x] = s;
}
__global__ void matmul_twin(float* c, const float* a, const float* b, int n) {
    __shared__ float ta[16][65], tb[16][64];
    float s[4][4] = {};
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, x0 = blockIdx.x * 64, r0 = blockIdx.y * 64;
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int e = threadIdx.x; e < 1024; e += 256) {
            ta[e % 16][e / 16] = a[(r0 + e / 16) * n + k0 + e % 16];
            tb[e / 64][e % 64] = b[(k0 + e / 64) * n + x0 + e % 64];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) s[i][j] += ta[k][ty * 4 + i] * tb[k][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(r0 + ty * 4 + i) * n + x0 + tx + 16 * j] = s[i][j];
}
__global__ void filter_fault(float* y, const float* a, const float* w, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - k) return;
    float s = 0;
    for (int j = 0; j < k; j++) s += a[i + j] * w[j];
    y[i] = s;
}
__global__ void filter_twin(float* y, const float* a, const float* w, int n, int k) {
    __shared__ float t[1024 + 256], f[256];
    int i0 = blockIdx.x * 1024;
    for (int j = threadIdx.x; j < 1024 + k && i0 + j < n; j += 256) t[j] = a[i0 + j];
    for (int j = threadIdx.x; j < k; j += 256) f[j] = w[j];
    __syncthreads();
    float s[4] = {};
    for (int j = 0; j < k; j++)
        for (int q = 0; q < 4; q++) s[q] += t[threadIdx.x + 256 * q + j] * f[j];
    for (int q = 0; q < 4; q++)
        if (i0 + threadIdx.x + 256 * q < n - k) y[i0 + threadIdx.x + 256 * q] = s[q];
}

// --- tensor_cores_unused --------------------------------------------------------------------------------------------
__global__ void tensor_fault(float* c, const bf16* a, const bf16* b, int n) {
    __shared__ float ta[16][65], tb[16][64];
    float s[4][4] = {};
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, x0 = blockIdx.x * 64, r0 = blockIdx.y * 64;
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int e = threadIdx.x; e < 1024; e += 256) {
            ta[e % 16][e / 16] = __bfloat162float(a[(r0 + e / 16) * n + k0 + e % 16]);
            tb[e / 64][e % 64] = __bfloat162float(b[(k0 + e / 64) * n + x0 + e % 64]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) s[i][j] += ta[k][ty * 4 + i] * tb[k][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(r0 + ty * 4 + i) * n + x0 + tx + 16 * j] = s[i][j];
}
__global__ void tensor_twin(float* c, const bf16* a, const bf16* b, int n) {
    using namespace nvcuda;
    __shared__ bf16 ta[64][40], tb[32][72];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> s[2][2];
    for (int i = 0; i < 4; i++) wmma::fill_fragment(s[i / 2][i % 2], 0.0f);
    int warp = threadIdx.x / 32, wr = warp / 2 * 32, wc = warp % 2 * 32, x0 = blockIdx.x * 64, r0 = blockIdx.y * 64;
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int e = threadIdx.x; e < 256; e += 128) {
            *(uint4*)&ta[e / 4][e % 4 * 8] = *(const uint4*)&a[(r0 + e / 4) * n + k0 + e % 4 * 8];
            *(uint4*)&tb[e / 8][e % 8 * 8] = *(const uint4*)&b[(k0 + e / 8) * n + x0 + e % 8 * 8];
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> fb[2];
            for (int i = 0; i < 2; i++) wmma::load_matrix_sync(fa[i], &ta[wr + 16 * i][k], 40);
            for (int j = 0; j < 2; j++) wmma::load_matrix_sync(fb[j], &tb[k][wc + 16 * j], 72);
            for (int i = 0; i < 4; i++) wmma::mma_sync(s[i / 2][i % 2], fa[i / 2], fb[i % 2], s[i / 2][i % 2]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        wmma::store_matrix_sync(&c[(r0 + wr + i / 2 * 16) * n + x0 + wc + i % 2 * 16], s[i / 2][i % 2], n, wmma::mem_row_major);
}

// --- wasteful_algorithm ---------------------------------------------------------------------------------------------
__global__ void prefix_fault(float* y, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k <= i; k++) s += a[k];
    y[i] = s;
}
__global__ void prefix_twin(float* y, const float* a, int n) {
    __shared__ float part[1024];
    int per = n / 1024;
    float s = 0;
    for (int k = 0; k < per; k++) s += a[threadIdx.x * per + k];
    part[threadIdx.x] = s;
    for (int d = 1; d < 1024; d *= 2) {
        __syncthreads();
        float v = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
        __syncthreads();
        part[threadIdx.x] += v;
    }
    __syncthreads();
    s = threadIdx.x ? part[threadIdx.x - 1] : 0;
    for (int k = 0; k < per; k++) y[threadIdx.x * per + k] = s += a[threadIdx.x * per + k];
}

// --- launch_or_sync_bound, fusible_launches -------------------------------------------------------------------------
__global__ void step_fault(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = y[i] * 0.999f + 0.001f;
}
__global__ void step_twin(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = y[i];
    for (int k = 0; k < 40; k++) v = v * 0.999f + 0.001f;
    y[i] = v;
}
__global__ void chain_fault(float4* y, const float4* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = a[i];
    y[i] = make_float4(v.x * 2 + 1, v.y * 2 + 1, v.z * 2 + 1, v.w * 2 + 1);
}
__global__ void chain_twin(float4* y, const float4* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = a[i];
    for (int k = 0; k < 3; k++) v = make_float4(v.x * 2 + 1, v.y * 2 + 1, v.z * 2 + 1, v.w * 2 + 1);
    y[i] = v;
}

// --- stall_mix ------------------------------------------------------------------------------------------------------
__global__ void barrier_fault(float* y, const float* a, int steps) {
    __shared__ float t[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < steps; k++) {
        t[threadIdx.x] = v;
        __syncthreads();
        v = 0.5f * v + 0.5f * t[threadIdx.x ^ 1];
        __syncthreads();
    }
    y[i] = v;
}
__global__ void barrier_twin(float* y, const float* a, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < steps; k++) v = 0.5f * v + 0.5f * __shfl_xor_sync(~0u, v, 1);
    y[i] = v;
}
__global__ void chase_fault(int* y, const int* next, int steps) {
    int at = (threadIdx.x / 32 + blockIdx.x * 8) * 479;
    for (int k = 0; k < steps; k++) at = next[at];
    y[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
__global__ void chase_twin(int* y, const int* next8, int steps) {
    int at = (threadIdx.x / 32 + blockIdx.x * 8) * 479;
    for (int k = 0; k < steps; k += 8) at = next8[at];  // a table of eight steps at once
    y[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// --- near_floor -----------------------------------------------------------------------------------------------------
__global__ void copy_fault(float4* y, const float4* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a[i];
}

__global__ void fill(float* p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        p[i] = (((unsigned)i * 2654435761u) >> 8) * (2.0f / 16777216) - 1;
}
__global__ void link(int* q, unsigned n, int steps) {  // n is a power of two: one cycle through all entries
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i;
    for (int k = 0; k < steps; k++) at = at * 1103515245u + 12345u;
    q[i] = at & (n - 1);
}

struct Call {
    const char* name;
    std::function<void()> run;
};

int main(int argc, char** argv) {
    const size_t words = 1 << 26;
    const int M = 1 << 20;
    float *a, *b, *y;
    int* q;
    cudaMalloc(&a, words * 4), cudaMalloc(&b, words * 4), cudaMalloc(&y, words * 4), cudaMalloc(&q, 32 * M);
    fill<<<1024, 256>>>(a, words), fill<<<1024, 256>>>(b, words), fill<<<1024, 256>>>(y, words);
    link<<<4 * M / 256, 256>>>(q, 4 * M, 1), link<<<4 * M / 256, 256>>>(q + 4 * M, 4 * M, 8);
    bf16 *ha = (bf16*)a, *hy = (bf16*)y;
    cudaMemset(b, 0x3c, words * 4);  // as bf16 pairs: small positive numbers
    cudaFuncSetAttribute(tail_fault, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    cudaFuncSetAttribute(tail_twin, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    cudaFuncSetAttribute(occupancy_fault, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
    dim3 t2(32, 8), sq(16, 16), full(32, 32);
    std::vector<Call> calls = {
        {"dot_fault", [=] { dot_fault<<<1024, 256>>>(y, a, b, 16 * M); }},
        {"dot_twin", [=] { dot_twin<<<1024, 256>>>(y, a, b, 16 * M); }},
        {"sum_fault", [=] { sum_fault<<<4096, 256>>>(y, a, M); }},
        {"sum_twin", [=] { sum_twin<<<264, 256>>>(y, a, M); }},
        {"oneblock_fault", [=] { oneblock_fault<<<1, 1024>>>(y, a, M); }},
        {"oneblock_twin", [=] { oneblock_twin<<<M / 256, 256>>>(y, a, M); }},
        {"fewthreads_fault", [=] { fewthreads_fault<<<132, 64>>>(y, a, 16 * M); }},
        {"fewthreads_twin", [=] { fewthreads_twin<<<16 * M / 256, 256>>>(y, a, 16 * M); }},
        {"tail_fault", [=] { tail_fault<<<140, 1024, 200 << 10>>>(y, a, 20000); }},
        {"tail_twin", [=] { tail_twin<<<132, 1024, 200 << 10>>>(y, a, 21212); }},
        {"transpose_fault", [=] { transpose_fault<<<dim3(128, 128), t2>>>(y, a, 4096); }},
        {"transpose_twin", [=] { transpose_twin<<<dim3(128, 128), t2>>>(y, a, 4096); }},
        {"rowsum_fault", [=] { rowsum_fault<<<512, 128>>>(y, a, 65536, 512); }},
        {"rowsum_twin", [=] { rowsum_twin<<<65536 / 8, 256>>>(y, a, 65536, 512); }},
        {"fields_fault", [=] { fields_fault<<<4 * M / 256, 256>>>(y, a, 4 * M); }},
        {"fields_twin", [=] { fields_twin<<<4 * M / 256, 256>>>(y, a, 4 * M); }},
        {"banks_fault", [=] { banks_fault<<<1056, 256>>>(y, a, 2048); }},
        {"banks_twin", [=] { banks_twin<<<1056, 256>>>(y, a, 2048); }},
        {"tile_fault", [=] { tile_fault<<<dim3(128, 128), t2>>>(y, a, 4096); }},
        {"tile_twin", [=] { tile_twin<<<dim3(128, 128), t2>>>(y, a, 4096); }},
        {"spill_fault", [=] { spill_fault<<<264, 1024>>>(y, a, M, 64); }},
        {"spill_twin", [=] { spill_twin<<<1056, 256>>>(y, a, M, 64); }},
        {"indexed_fault", [=] { indexed_fault<<<1056, 256>>>(y, a, M); }},
        {"indexed_twin", [=] { indexed_twin<<<1056, 256>>>(y, a, M); }},
        {"narrow_fault", [=] { narrow_fault<<<64 * M / 256, 256>>>(hy, ha, 64 * M); }},
        {"narrow_twin", [=] { narrow_twin<<<64 * M / 2048, 256>>>(hy, ha, 64 * M); }},
        {"gelu_fault", [=] { gelu_fault<<<16 * M / 256, 256>>>(y, a, 16 * M); }},
        {"gelu_twin", [=] { gelu_twin<<<16 * M / 256, 256>>>(y, a, 16 * M); }},
        {"horner_fault", [=] { horner_fault<<<16 * M / 256, 256>>>(y, a, 16 * M); }},
        {"horner_twin", [=] { horner_twin<<<16 * M / 256, 256>>>(y, a, 16 * M); }},
        {"special_fault", [=] { special_fault<<<16 * M / 256, 256>>>(y, a, 16 * M); }},
        {"special_twin", [=] { special_twin<<<16 * M / 256, 256>>>(y, a, 16 * M); }},
        {"diverge_fault", [=] { diverge_fault<<<4 * M / 256, 256>>>(y, a, 4 * M); }},
        {"diverge_twin", [=] { diverge_twin<<<4 * M / 256, 256>>>(y, a, 4 * M); }},
        {"plane_fault", [=] { plane_fault<<<65536 / 32, full>>>(y, a, 65536, 256); }},
        {"plane_twin", [=] { plane_twin<<<65536 / 256, 256>>>(y, a, 65536, 256); }},
        {"recompute_fault", [=] { recompute_fault<<<256, 256>>>(y, a, 65536); }},
        {"recompute_twin", [=] { recompute_twin<<<256, 256>>>(y, a, 65536); }},
        {"occupancy_fault", [=] { occupancy_fault<<<16 * M / 64, 64, 100 << 10>>>(y, a, 16 * M); }},
        {"occupancy_twin", [=] { occupancy_twin<<<16 * M / 256, 256, 1024>>>(y, a, 16 * M); }},
        {"matmul_fault", [=] { matmul_fault<<<dim3(128, 128), sq>>>(y, a, a, 2048); }},
        {"matmul_twin", [=] { matmul_twin<<<dim3(32, 32), 256>>>(y, a, a, 2048); }},
        {"filter_fault", [=] { filter_fault<<<4 * M / 256, 256>>>(y, a, b, 4 * M, 256); }},
        {"filter_twin", [=] { filter_twin<<<4 * M / 1024, 256>>>(y, a, b, 4 * M, 256); }},
        {"tensor_fault", [=] { tensor_fault<<<dim3(32, 32), 256>>>(y, (bf16*)b, (bf16*)b, 2048); }},
        {"tensor_twin", [=] { tensor_twin<<<dim3(32, 32), 128>>>(y, (bf16*)b, (bf16*)b, 2048); }},
        {"prefix_fault", [=] { prefix_fault<<<65536 / 256, 256>>>(y, a, 65536); }},
        {"prefix_twin", [=] { prefix_twin<<<1, 1024>>>(y, a, 65536); }},
        {"step_fault", [=] { for (int k = 0; k < 40; k++) step_fault<<<256, 256>>>(y, 65536); }},
        {"step_twin", [=] { step_twin<<<256, 256>>>(y, 65536); }},
        {"chain_fault", [=] { for (int k = 0; k < 3; k++) chain_fault<<<16 * M / 256, 256>>>((float4*)y, (float4*)(k ? y : a), 16 * M); }},
        {"chain_twin", [=] { chain_twin<<<16 * M / 256, 256>>>((float4*)y, (float4*)a, 16 * M); }},
        {"barrier_fault", [=] { barrier_fault<<<264, 1024>>>(y, a, 1000); }},
        {"barrier_twin", [=] { barrier_twin<<<264, 1024>>>(y, a, 1000); }},
        {"chase_fault", [=] { chase_fault<<<1056, 256>>>((int*)y, q, 128); }},
        {"chase_twin", [=] { chase_twin<<<1056, 256>>>((int*)y, q + 4 * M, 128); }},
        {"copy_fault", [=] { copy_fault<<<16 * M / 256, 256>>>((float4*)y, (float4*)a, 16 * M); }},
    };
    bool once = argc > 1 && !strcmp(argv[1], "once");
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    cudaDeviceSynchronize();
    for (auto& call : calls) {
        float best = 1e30f;
        for (int k = 0; k < (once ? 1 : 7); k++) {
            if (!once) cudaMemsetAsync(b + words / 2, 0, words * 2);  // twice the L2: the next call starts cold
            cudaEventRecord(start);
            call.run();
            cudaEventRecord(stop);
            cudaError_t error = cudaDeviceSynchronize();
            if (error != cudaSuccess) return printf("%s: %s\n", call.name, cudaGetErrorString(error)), 1;
            float ms;
            cudaEventElapsedTime(&ms, start, stop);
            best = ms < best ? ms : best;
        }
        if (!once) printf("%s %.3f\n", call.name, best * 1e3);
    }
    return 0;
}
