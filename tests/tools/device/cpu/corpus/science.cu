// Kernels as simulation codes have them: sparse rows, transforms, stencils, sorting, graphs, random numbers.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <math_constants.h>

namespace cg = cooperative_groups;

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

// --- CSR, LANES threads a row ---------------------------------------------------------------------------------------
template <typename Value, int LANES>
__global__ void csr_vector(int rows, const int* __restrict__ row_ptr, const int* __restrict__ col, const Value* __restrict__ val,
                           const Value* __restrict__ x, Value* __restrict__ y) {
    const int lane = threadIdx.x & (LANES - 1);
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    Value sum = 0;
    if (row < rows) {
        for (int k = row_ptr[row] + lane; k < row_ptr[row + 1]; k += LANES) sum += val[k] * __ldg(&x[col[k]]);
    }
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset, LANES);
    if (row < rows && lane == 0) y[row] = sum;
}
extern "C" cudaError_t spmv(const int* row_ptr, const int* col, const float* val, const float* x, float* y, int rows, cudaStream_t stream) {
    csr_vector<float, 8><<<CEIL_DIV(rows * 8, 128), 128, 0, stream>>>(rows, row_ptr, col, val, x, y);
    return cudaGetLastError();
}

// --- FFT of 256 points in shared memory, radix 2, Stockham --------------------------------------------------------------
__device__ __forceinline__ float2 cmul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
template <int N>
__global__ void stockham(const float2* in, float2* out) {
    __shared__ float2 work[2][N];
    const int t = threadIdx.x;
    const float2* mine = in + blockIdx.x * N;
    work[0][t] = mine[t];
    work[0][t + N / 2] = mine[t + N / 2];
    int from = 0;
    for (int half = 1; half < N; half <<= 1) {
        __syncthreads();
        int k = t & (half - 1);
        float s, c;
        sincosf(-CUDART_PI_F * (float)k / (float)half, &s, &c);
        float2 a = work[from][t], b = cmul(work[from][t + N / 2], make_float2(c, s));
        int j = ((t - k) << 1) + k;
        work[from ^ 1][j] = make_float2(a.x + b.x, a.y + b.y);
        work[from ^ 1][j + half] = make_float2(a.x - b.x, a.y - b.y);
        from ^= 1;
    }
    __syncthreads();
    out[blockIdx.x * N + t] = work[from][t];
    out[blockIdx.x * N + t + N / 2] = work[from][t + N / 2];
}
extern "C" cudaError_t fft256(const float* in, float* out, int batch, cudaStream_t stream) {
    stockham<256><<<batch, 128, 0, stream>>>(reinterpret_cast<const float2*>(in), reinterpret_cast<float2*>(out));
    return cudaGetLastError();
}

// --- 7-point stencil, marching along z with the column in registers --------------------------------------------------------
template <int BX, int BY>
__global__ void __launch_bounds__(BX* BY) march(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz, float c0, float c1) {
    __shared__ float plane[BY + 2][BX + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int ix = blockIdx.x * BX + threadIdx.x, iy = blockIdx.y * BY + threadIdx.y;
    const bool inside = ix < nx && iy < ny;
    const int stride = nx * ny;
    int index = iy * nx + ix;
    float behind, current = inside ? in[index] : 0.f, front = inside && nz > 1 ? in[index + stride] : 0.f;
    for (int z = 1; z < nz - 1; ++z) {
        behind = current;
        current = front;
        index += stride;
        front = inside ? in[index + stride] : 0.f;
        __syncthreads();
        plane[ty][tx] = current;
        if (threadIdx.y == 0) plane[0][tx] = inside && iy > 0 ? in[index - nx] : 0.f;
        if (threadIdx.y == BY - 1) plane[BY + 1][tx] = inside && iy < ny - 1 ? in[index + nx] : 0.f;
        if (threadIdx.x == 0) plane[ty][0] = inside && ix > 0 ? in[index - 1] : 0.f;
        if (threadIdx.x == BX - 1) plane[ty][BX + 1] = inside && ix < nx - 1 ? in[index + 1] : 0.f;
        __syncthreads();
        if (ix > 0 && iy > 0 && ix < nx - 1 && iy < ny - 1)
            out[index] = c0 * current + c1 * (behind + front + plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx]);
    }
}
extern "C" cudaError_t stencil7(const float* in, float* out, int nx, int ny, int nz, cudaStream_t stream) {
    dim3 block(16, 8), grid(CEIL_DIV(nx, 16), CEIL_DIV(ny, 8));
    march<16, 8><<<grid, block, 0, stream>>>(in, out, nx, ny, nz, 0.4f, 0.1f);
    return cudaGetLastError();
}

// --- all pairs of bodies, four at a time through shared memory --------------------------------------------------------------
__device__ float3 interact(float3 a, float4 here, float4 other) {
    float3 r = {other.x - here.x, other.y - here.y, other.z - here.z};
    float inverse = rsqrtf(fmaf(r.x, r.x, fmaf(r.y, r.y, fmaf(r.z, r.z, 1e-3f))));
    float s = other.w * inverse * inverse * inverse;
    a.x += r.x * s;
    a.y += r.y * s;
    a.z += r.z * s;
    return a;
}
__global__ void all_pairs(const float4* __restrict__ position, float4* __restrict__ acceleration, int n) {
    extern __shared__ float4 cache[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 here = i < n ? position[i] : float4{0, 0, 0, 0};
    float3 a = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += blockDim.x) {
        cache[threadIdx.x] = base + threadIdx.x < n ? position[base + threadIdx.x] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < blockDim.x; ++j) a = interact(a, here, cache[j]);
        __syncthreads();
    }
    if (i < n) acceleration[i] = make_float4(a.x, a.y, a.z, 0.f);
}
extern "C" cudaError_t nbody(const float* position, float* acceleration, int n, cudaStream_t stream) {
    const int block = 64;
    all_pairs<<<(n + block - 1) / block, block, block * sizeof(float4), stream>>>((const float4*)position, (float4*)acceleration, n);
    return cudaGetLastError();
}

// --- work-efficient scan with padding against bank conflicts -------------------------------------------------------------------
#define LOG_BANKS 5
#define PADDED(i) ((i) + ((i) >> LOG_BANKS))
__global__ void blelloch(const int* in, int* out, int* block_sums, int n) {
    extern __shared__ int temp[];
    const int t = threadIdx.x, size = 2 * blockDim.x, base = blockIdx.x * size;
    temp[PADDED(t)] = base + t < n ? in[base + t] : 0;
    temp[PADDED(t + blockDim.x)] = base + t + blockDim.x < n ? in[base + t + blockDim.x] : 0;
    int offset = 1;
    for (int d = size >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) temp[PADDED(offset * (2 * t + 2) - 1)] += temp[PADDED(offset * (2 * t + 1) - 1)];
        offset <<= 1;
    }
    if (t == 0) {
        if (block_sums) block_sums[blockIdx.x] = temp[PADDED(size - 1)];
        temp[PADDED(size - 1)] = 0;
    }
    for (int d = 1; d < size; d <<= 1) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = PADDED(offset * (2 * t + 1) - 1), b = PADDED(offset * (2 * t + 2) - 1);
            int swap = temp[a];
            temp[a] = temp[b];
            temp[b] += swap;
        }
    }
    __syncthreads();
    if (base + t < n) out[base + t] = temp[PADDED(t)];
    if (base + t + blockDim.x < n) out[base + t + blockDim.x] = temp[PADDED(t + blockDim.x)];
}
__global__ void add_offsets(int* out, const int* offsets, int n) {
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    int add = offsets[blockIdx.x];
    if (i < n) out[i] += add;
    if (i + blockDim.x < n) out[i + blockDim.x] += add;
}
extern "C" cudaError_t exclusive_scan(const int* in, int* out, int* sums, int n, cudaStream_t stream) {
    const int block = 64, blocks = CEIL_DIV(n, 2 * block);
    const size_t bytes = (2 * block + (2 * block >> LOG_BANKS)) * sizeof(int);
    blelloch<<<blocks, block, bytes, stream>>>(in, out, sums, n);
    blelloch<<<1, block, bytes, stream>>>(sums, sums, nullptr, blocks);
    add_offsets<<<blocks, block, 0, stream>>>(out, sums, n);
    return cudaGetLastError();
}

// --- scan in one pass: each block looks back at the ones before it ------------------------------------------------------------
__device__ unsigned int next_block;
__global__ void look_back(const int* in, int* out, volatile int* aggregate, volatile int* prefix, volatile unsigned* state, int n) {
    __shared__ unsigned number;
    __shared__ int warp_sums[8];
    __shared__ int before;
    if (threadIdx.x == 0) number = atomicAdd(&next_block, 1u);
    __syncthreads();
    const int i = number * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d <<= 1) {
        int u = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    int total = 0;
    for (int w = 0; w < 8; ++w) {
        if (w == warp) v += total;
        total += warp_sums[w];
    }
    if (threadIdx.x == 0) {
        aggregate[number] = total;
        __threadfence();
        if (number == 0) {
            prefix[0] = total;
            __threadfence();
            state[0] = 2u;
            before = 0;
        } else {
            state[number] = 1u;
            int sum = 0;
            for (int b = (int)number - 1; b >= 0;) {
                unsigned s = state[b];
                if (s == 0u) continue;
                __threadfence();
                if (s == 2u) {
                    sum += prefix[b];
                    break;
                }
                sum += aggregate[b--];
            }
            before = sum;
            prefix[number] = sum + total;
            __threadfence();
            state[number] = 2u;
        }
    }
    __syncthreads();
    if (i < n) out[i] = v + before;
}
extern "C" cudaError_t scan_look_back(const int* in, int* out, int* aggregate, int* prefix, unsigned* state, int n, cudaStream_t stream) {
    const int blocks = CEIL_DIV(n, 256);
    const unsigned zero = 0;
    cudaError_t error = cudaMemcpyToSymbolAsync(next_block, &zero, sizeof zero, 0, cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) return error;
    cudaMemsetAsync(state, 0, blocks * sizeof(unsigned), stream);
    look_back<<<blocks, 256, 0, stream>>>(in, out, aggregate, prefix, state, n);
    return cudaGetLastError();
}

// --- radix sort of 32-bit keys within blocks of 256, one bit a pass -------------------------------------------------------------
__global__ void split_sort(unsigned* keys) {
    __shared__ unsigned data[256];
    __shared__ unsigned zeros_before[8];
    const unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5;
    unsigned key = keys[blockIdx.x * 256 + t];
    for (unsigned bit = 0; bit < 32; ++bit) {
        const bool one = key >> bit & 1u;
        const unsigned zeros = __ballot_sync(0xffffffffu, !one);
        if (lane == 0) zeros_before[warp] = __popc(zeros);
        __syncthreads();
        unsigned before = 0, all = 0;
        for (unsigned w = 0; w < 8; ++w) {
            before += w < warp ? zeros_before[w] : 0u;
            all += zeros_before[w];
        }
        const unsigned rank = before + __popc(zeros & ((1u << lane) - 1u));
        data[one ? all + t - rank : rank] = key;
        __syncthreads();
        key = data[t];
    }
    keys[blockIdx.x * 256 + t] = key;
}
extern "C" cudaError_t radix_sort(unsigned* keys, int blocks, cudaStream_t stream) {
    split_sort<<<blocks, 256, 0, stream>>>(keys);
    return cudaGetLastError();
}

// --- breadth-first search, a level a launch, with a queue ---------------------------------------------------------------------
__global__ void visit(const int* __restrict__ first, const int* __restrict__ edges, int* level, const int* queue, int queued, int* next, int* next_size, int depth) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= queued) return;
    const int node = queue[k];
    for (int e = first[node]; e < first[node + 1]; ++e) {
        const int other = edges[e];
        if (atomicCAS(&level[other], -1, depth + 1) == -1) next[atomicAdd(next_size, 1)] = other;
    }
}
extern "C" cudaError_t bfs(const int* first, const int* edges, int* level, int* queue_a, int* queue_b, int* sizes, int nodes, cudaStream_t stream) {
    int queued = 1, zero = 0;
    cudaMemsetAsync(level, 0xFF, nodes * sizeof(int), stream);
    cudaMemcpyAsync(level, &zero, sizeof(int), cudaMemcpyHostToDevice, stream);
    cudaMemcpyAsync(queue_a, &zero, sizeof(int), cudaMemcpyHostToDevice, stream);
    for (int depth = 0; queued > 0; ++depth) {
        cudaMemsetAsync(sizes, 0, sizeof(int), stream);
        visit<<<CEIL_DIV(queued, 64), 64, 0, stream>>>(first, edges, level, queue_a, queued, queue_b, sizes, depth);
        cudaMemcpyAsync(&queued, sizes, sizeof(int), cudaMemcpyDeviceToHost, stream);
        cudaError_t error = cudaStreamSynchronize(stream);
        if (error != cudaSuccess) return error;
        int* swap = queue_a;
        queue_a = queue_b;
        queue_b = swap;
    }
    return cudaGetLastError();
}

// --- Jacobi sweeps in one cooperative launch that fills the machine -------------------------------------------------------------
__global__ void sweeps(float* a, float* b, int n, int count) {
    cg::grid_group grid = cg::this_grid();
    for (int k = 0; k < count; ++k) {
        for (int i = 1 + grid.thread_rank(); i < n - 1; i += grid.size()) b[i] = 0.5f * (a[i - 1] + a[i + 1]);
        grid.sync();
        float* swap = a;
        a = b;
        b = swap;
    }
}
extern "C" cudaError_t jacobi(float* a, float* b, int n, cudaStream_t stream) {
    int device = 0, multiprocessors = 0, per_sm = 0, count = 10, can = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sweeps, 64, 0);
    if (error != cudaSuccess || !can) return error != cudaSuccess ? error : cudaErrorNotSupported;
    int blocks = min(multiprocessors * per_sm, CEIL_DIV(n, 64));
    void* arguments[] = {&a, &b, &n, &count};
    return cudaLaunchCooperativeKernel((void*)sweeps, dim3(blocks), dim3(64), arguments, 0, stream);
}

// --- random numbers by counter, and a mean by them ------------------------------------------------------------------------------
__host__ __device__ inline unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
}
__global__ void circle(unsigned seed, int samples, unsigned long long* inside) {
    const int stride = gridDim.x * blockDim.x;
    unsigned mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < samples; i += stride) {
        const unsigned a = mix(seed + 2u * i), b = mix(seed + 2u * i + 1u);
        const float x = a * 2.3283064365386963e-10f, y = b * 2.3283064365386963e-10f;
        mine += x * x + y * y < 1.0f;
    }
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    for (int d = tile.size() / 2; d > 0; d /= 2) mine += tile.shfl_down(mine, d);
    if (tile.thread_rank() == 0) atomicAdd(inside, (unsigned long long)mine);
}
extern "C" cudaError_t monte_carlo(unsigned long long* inside, int samples, cudaStream_t stream) {
    cudaMemsetAsync(inside, 0, sizeof *inside, stream);
    circle<<<20, 128, 0, stream>>>(12345u, samples, inside);
    return cudaGetLastError();
}

// --- escape times, with a loop that lanes leave at different times -----------------------------------------------------------------
__global__ void mandelbrot(int* out, int width, int height, int most) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const double cr = -2.0 + 3.0 * x / width, ci = -1.5 + 3.0 * y / height;
    double zr = 0, zi = 0;
    int k = 0;
    while (k < most && zr * zr + zi * zi <= 4.0) {
        const double t = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr);
        zi = __dadd_rn(__dmul_rn(2.0 * zr, zi), ci);
        zr = t;
        ++k;
    }
    out[y * width + x] = k;
}
extern "C" cudaError_t escape_times(int* out, int width, int height, cudaStream_t stream) {
    mandelbrot<<<dim3(CEIL_DIV(width, 16), CEIL_DIV(height, 4)), dim3(16, 4), 0, stream>>>(out, width, height, 50);
    return cudaGetLastError();
}

// --- shortest paths, blocked: one tile after another ---------------------------------------------------------------------------
#define TILE 16
__device__ void relax(float (*c)[TILE], const float (*a)[TILE], const float (*b)[TILE]) {
    const int x = threadIdx.x, y = threadIdx.y;
    for (int k = 0; k < TILE; ++k) {
        float through = a[y][k] + b[k][x];
        __syncthreads();
        c[y][x] = fminf(c[y][x], through);
        __syncthreads();
    }
}
__global__ void pivot_tile(float* d, int n, int round) {
    __shared__ float c[TILE][TILE];
    const int x = round * TILE + threadIdx.x, y = round * TILE + threadIdx.y;
    c[threadIdx.y][threadIdx.x] = d[y * n + x];
    __syncthreads();
    relax(c, c, c);
    d[y * n + x] = c[threadIdx.y][threadIdx.x];
}
__global__ void cross_tiles(float* d, int n, int round) {
    __shared__ float pivot[TILE][TILE], c[TILE][TILE];
    const int other = blockIdx.x + (blockIdx.x >= round ? 1 : 0);
    const bool row = blockIdx.y == 0;
    const int bx = row ? other : round, by = row ? round : other;
    const int x = bx * TILE + threadIdx.x, y = by * TILE + threadIdx.y;
    pivot[threadIdx.y][threadIdx.x] = d[(round * TILE + threadIdx.y) * n + round * TILE + threadIdx.x];
    c[threadIdx.y][threadIdx.x] = d[y * n + x];
    __syncthreads();
    if (row) relax(c, pivot, c);
    else relax(c, c, pivot);
    d[y * n + x] = c[threadIdx.y][threadIdx.x];
}
__global__ void other_tiles(float* d, int n, int round) {
    __shared__ float across[TILE][TILE], down[TILE][TILE];
    const int bx = blockIdx.x + (blockIdx.x >= round ? 1 : 0), by = blockIdx.y + (blockIdx.y >= round ? 1 : 0);
    const int x = bx * TILE + threadIdx.x, y = by * TILE + threadIdx.y;
    across[threadIdx.y][threadIdx.x] = d[y * n + round * TILE + threadIdx.x];
    down[threadIdx.y][threadIdx.x] = d[(round * TILE + threadIdx.y) * n + x];
    __syncthreads();
    float best = d[y * n + x];
#pragma unroll
    for (int k = 0; k < TILE; ++k) best = fminf(best, across[threadIdx.y][k] + down[k][threadIdx.x]);
    d[y * n + x] = best;
}
extern "C" cudaError_t shortest_paths(float* d, int n, cudaStream_t stream) {
    const dim3 block(TILE, TILE);
    const int rounds = n / TILE;
    for (int r = 0; r < rounds; ++r) {
        pivot_tile<<<1, block, 0, stream>>>(d, n, r);
        cross_tiles<<<dim3(rounds - 1, 2), block, 0, stream>>>(d, n, r);
        other_tiles<<<dim3(rounds - 1, rounds - 1), block, 0, stream>>>(d, n, r);
    }
    return cudaGetLastError();
}
