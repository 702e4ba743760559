// Kernels as machine-learning codes have them: attention, norms, quantized products, convolutions, clustering.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <float.h>

namespace cg = cooperative_groups;

// --- attention in one pass, keys and values through more than 48 KB of shared memory ------------------------------------------
template <int D, int TILE>
__global__ void attention(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ o, int n, float scale) {
    extern __shared__ __align__(16) unsigned char raw[];
    float* ks = reinterpret_cast<float*>(raw);
    float* vs = ks + TILE * D;
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float mine[D], sum[D], most = -FLT_MAX, total = 0.f;
#pragma unroll
    for (int d = 0; d < D; ++d) {
        mine[d] = row < n ? q[row * D + d] * scale : 0.f;
        sum[d] = 0.f;
    }
    for (int base = 0; base < n; base += TILE) {
        const int here = min(TILE, n - base);
        for (int i = threadIdx.x; i < here * D / 4; i += blockDim.x) {
            reinterpret_cast<float4*>(ks)[i] = reinterpret_cast<const float4*>(k + base * D)[i];
            reinterpret_cast<float4*>(vs)[i] = reinterpret_cast<const float4*>(v + base * D)[i];
        }
        __syncthreads();
        for (int j = 0; j < here; ++j) {
            float s = 0.f;
#pragma unroll
            for (int d = 0; d < D; ++d) s = fmaf(mine[d], ks[j * D + d], s);
            const float larger = fmaxf(most, s), shrink = __expf(most - larger), weight = __expf(s - larger);
            total = total * shrink + weight;
#pragma unroll
            for (int d = 0; d < D; ++d) sum[d] = sum[d] * shrink + weight * vs[j * D + d];
            most = larger;
        }
        __syncthreads();
    }
    if (row < n)
        for (int d = 0; d < D; ++d) o[row * D + d] = sum[d] / total;
}
extern "C" cudaError_t flash(const float* q, const float* k, const float* v, float* o, int n, cudaStream_t stream) {
    constexpr int D = 32, TILE = 256;
    constexpr int bytes = 2 * TILE * D * sizeof(float);
    cudaError_t error = cudaFuncSetAttribute(attention<D, TILE>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    attention<D, TILE><<<(n + 63) / 64, 64, bytes, stream>>>(q, k, v, o, n, 0.17677669f);
    return cudaGetLastError();
}

// --- layer norm of bf16 rows, Welford's sums merged across lanes -----------------------------------------------------------------
struct Moments {
    float mean, m2, count;
};
__device__ Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count, delta = b.mean - a.mean, part = count > 0.f ? b.count / count : 0.f;
    return Moments{a.mean + delta * part, a.m2 + b.m2 + delta * delta * a.count * part, count};
}
__global__ void layer_norm(const __nv_bfloat162* __restrict__ x, __nv_bfloat162* __restrict__ y, const float2* gamma, const float2* beta, int pairs) {
    const auto block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    Moments m{0.f, 0.f, 0.f};
    for (int i = warp.thread_rank(); i < pairs; i += warp.num_threads()) {
        const float2 v = __bfloat1622float2(x[row * pairs + i]);
        m = merge(m, Moments{v.x, 0.f, 1.f});
        m = merge(m, Moments{v.y, 0.f, 1.f});
    }
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) m = merge(m, Moments{warp.shfl_xor(m.mean, d), warp.shfl_xor(m.m2, d), warp.shfl_xor(m.count, d)});
    const float scale = rsqrtf(m.m2 / m.count + 1e-5f);
    for (int i = warp.thread_rank(); i < pairs; i += 32) {
        float2 v = __bfloat1622float2(x[row * pairs + i]);
        const float2 g = gamma[i], b = beta[i];
        v.x = (v.x - m.mean) * scale * g.x + b.x;
        v.y = (v.y - m.mean) * scale * g.y + b.y;
        y[row * pairs + i] = __float22bfloat162_rn(v);
    }
}
extern "C" cudaError_t norm_rows(const __nv_bfloat16* x, __nv_bfloat16* y, const float* gamma, const float* beta, int rows, int columns, cudaStream_t stream) {
    layer_norm<<<rows / 4, 128, 0, stream>>>((const __nv_bfloat162*)x, (__nv_bfloat162*)y, (const float2*)gamma, (const float2*)beta, columns / 2);
    return cudaGetLastError();
}

// --- a product of 8-bit integers, four at once -----------------------------------------------------------------------------------
__global__ void quantized(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c, int m, int n, int k4) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    int sum = 0;
    for (int k = 0; k < k4; ++k) sum = __dp4a(a[row * k4 + k], b[col * k4 + k], sum);
    c[row * n + col] = sum;
}
extern "C" cudaError_t int8_product(const int* a, const int* b, int* c, int m, int n, int k4, cudaStream_t stream) {
    quantized<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k4);
    return cudaGetLastError();
}

// --- convolution with its filter in constant memory and a halo in shared memory ----------------------------------------------------
#define RADIUS 2
__constant__ float kernel_2d[(2 * RADIUS + 1) * (2 * RADIUS + 1)];
template <typename T, int BLOCK>
__global__ void convolve_2d(const T* __restrict__ in, T* __restrict__ out, int width, int height, int pitch) {
    __shared__ T tile[BLOCK + 2 * RADIUS][BLOCK + 2 * RADIUS + 1];
    const int x0 = blockIdx.x * BLOCK - RADIUS, y0 = blockIdx.y * BLOCK - RADIUS;
    for (int y = threadIdx.y; y < BLOCK + 2 * RADIUS; y += BLOCK)
        for (int x = threadIdx.x; x < BLOCK + 2 * RADIUS; x += BLOCK) {
            const int gx = min(max(x0 + x, 0), width - 1), gy = min(max(y0 + y, 0), height - 1);
            tile[y][x] = in[gy * pitch + gx];
        }
    __syncthreads();
    const int x = blockIdx.x * BLOCK + threadIdx.x, y = blockIdx.y * BLOCK + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.f;
#pragma unroll
    for (int j = 0; j <= 2 * RADIUS; ++j)
#pragma unroll
        for (int i = 0; i <= 2 * RADIUS; ++i) sum += kernel_2d[j * (2 * RADIUS + 1) + i] * static_cast<float>(tile[threadIdx.y + j][threadIdx.x + i]);
    out[y * pitch + x] = static_cast<T>(sum);
}
extern "C" cudaError_t blur(const float* in, float* out, int width, int height, cudaStream_t stream) {
    float weights[25];
    for (int i = 0; i < 25; ++i) weights[i] = 1.0f / (1.0f + i);
    cudaError_t error = cudaMemcpyToSymbol(kernel_2d, weights, sizeof weights);
    if (error != cudaSuccess) return error;
    convolve_2d<float, 16><<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16), 0, stream>>>(in, out, width, height, width);
    return cudaGetLastError();
}

// --- k-means: assign and gather, in two streams that wait for each other ---------------------------------------------------------
__global__ void assign(const float2* points, const float2* centers, int* nearest, int n, int k) {
    extern __shared__ float2 shared_centers[];
    for (int i = threadIdx.x; i < k; i += blockDim.x) shared_centers[i] = centers[i];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = FLT_MAX;
    int which = -1;
    for (int c = 0; c < k; ++c) {
        const float dx = points[i].x - shared_centers[c].x, dy = points[i].y - shared_centers[c].y, d = dx * dx + dy * dy;
        if (d < best) best = d, which = c;
    }
    nearest[i] = which;
}
__global__ void gather_sums(const float2* points, const int* nearest, float* sums, int* counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int c = nearest[i];
    const unsigned peers = __match_any_sync(__activemask(), c);
    const int leader = __ffs(peers) - 1;
    if ((int)(threadIdx.x & 31) == leader) atomicAdd(&counts[c], __popc(peers));
    atomicAdd(&sums[2 * c], points[i].x);
    atomicAdd(&sums[2 * c + 1], points[i].y);
}
extern "C" cudaError_t kmeans_step(const float* points, const float* centers, int* nearest, float* sums, int* counts, int n, int k, cudaStream_t stream) {
    cudaStream_t side;
    cudaEvent_t cleared;
    cudaError_t error = cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    if (error == cudaSuccess) error = cudaEventCreateWithFlags(&cleared, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
    cudaMemsetAsync(sums, 0, 2 * k * sizeof(float), side);
    cudaMemsetAsync(counts, 0, k * sizeof(int), side);
    cudaEventRecord(cleared, side);
    assign<<<(n + 127) / 128, 128, k * sizeof(float2), stream>>>((const float2*)points, (const float2*)centers, nearest, n, k);
    cudaStreamWaitEvent(stream, cleared, 0);
    gather_sums<<<(n + 127) / 128, 128, 0, stream>>>((const float2*)points, nearest, sums, counts, n);
    error = cudaGetLastError();
    cudaEventDestroy(cleared);
    cudaStreamDestroy(side);
    return error;
}

// --- sums and scans of cooperative groups -----------------------------------------------------------------------------------------
__global__ void group_sums(const int* in, int* total, int* largest, int* scanned, int* partner, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    const int i = block.group_index().x * block.size() + block.thread_rank();
    const int v = i < n ? in[i] : 0;
    const int sum = cg::reduce(tile, v, cg::plus<int>());
    const int most = cg::reduce(tile, v, cg::greater<int>());
    const int running = cg::inclusive_scan(tile, v, cg::plus<int>());
    const int opposite = tile.shfl(v, tile.size() - 1 - tile.thread_rank());
    if (i < n) {
        scanned[i] = running;
        partner[i] = opposite;
    }
    if (tile.thread_rank() == 0) {
        atomicAdd(total, sum);
        atomicMax(largest, most);
    }
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.any(v > 1000000) && active.thread_rank() == 0) atomicAdd(total, 1);
}
extern "C" cudaError_t groups(const int* in, int* total, int* largest, int* scanned, int* partner, int n, cudaStream_t stream) {
    cudaMemsetAsync(total, 0, sizeof(int), stream);
    cudaMemsetAsync(largest, 0x80, sizeof(int), stream);
    group_sums<<<(n + 95) / 96, 96, 0, stream>>>(in, total, largest, scanned, partner, n);
    return cudaGetLastError();
}

// --- the largest 32 of each row, sorted in the registers of one warp ---------------------------------------------------------------
__device__ float bitonic_warp(float v) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 2; k <= 32; k <<= 1)
#pragma unroll
        for (int j = k >> 1; j > 0; j >>= 1) {
            const float other = __shfl_xor_sync(0xffffffffu, v, j);
            const bool descending = (lane & k) == 0, lower = (lane & j) == 0;
            v = descending == lower ? fmaxf(v, other) : fminf(v, other);
        }
    return v;
}
__global__ void top_32(const float* in, float* out, int n) {
    const int lane = threadIdx.x & 31;
    float best = bitonic_warp(in[blockIdx.x * n + lane]);
    for (int base = 32; base < n; base += 32) {
        const float next = bitonic_warp(base + lane < n ? in[blockIdx.x * n + base + lane] : -FLT_MAX);
        best = bitonic_warp(fmaxf(best, __shfl_sync(0xffffffffu, next, 31 - lane)));
    }
    out[blockIdx.x * 32 + lane] = best;
}
extern "C" cudaError_t largest_32(const float* in, float* out, int rows, int n, cudaStream_t stream) {
    top_32<<<rows, 32, 0, stream>>>(in, out, n);
    return cudaGetLastError();
}

// --- half precision, two at once, transposed ----------------------------------------------------------------------------------------
__global__ void transpose_half(const half* __restrict__ in, half* __restrict__ out, int n) {
    __shared__ half tile[32][34];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8) {
        const half2 two = *reinterpret_cast<const half2*>(&in[(y + j) * n + x + 2 * threadIdx.x]);
        *reinterpret_cast<half2*>(&tile[j][2 * threadIdx.x]) = __hmul2(two, __float2half2_rn(2.0f));
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        *reinterpret_cast<half2*>(&out[(x + j) * n + y + 2 * threadIdx.x]) = __halves2half2(tile[2 * threadIdx.x][j], tile[2 * threadIdx.x + 1][j]);
}
extern "C" cudaError_t doubled_transpose(const half* in, half* out, int n, cudaStream_t stream) {
    transpose_half<<<dim3(n / 32, n / 32), dim3(16, 8), 0, stream>>>(in, out, n);
    return cudaGetLastError();
}

// --- counts of bytes, one table a warp, loaded 16 bytes at a time ---------------------------------------------------------------------
template <int WARPS>
__global__ void byte_counts(const uint4* __restrict__ in, unsigned* __restrict__ bins, int quads) {
    __shared__ unsigned table[WARPS][256];
    for (int i = threadIdx.x; i < WARPS * 256; i += blockDim.x) (&table[0][0])[i] = 0;
    __syncthreads();
    unsigned* mine = table[threadIdx.x / 32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        const uint4 four = in[i];
        const unsigned words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int w = 0; w < 4; ++w)
#pragma unroll
            for (int b = 0; b < 32; b += 8) atomicAdd(&mine[words[w] >> b & 0xffu], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < WARPS; ++w) sum += table[w][i];
        if (sum) atomicAdd(&bins[i], sum);
    }
}
extern "C" cudaError_t count_bytes(const unsigned char* in, unsigned* bins, int n, cudaStream_t stream) {
    cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned), stream);
    byte_counts<4><<<3, 128, 0, stream>>>(reinterpret_cast<const uint4*>(in), bins, n / 16);
    return cudaGetLastError();
}
