// Reductions, scans and votes as kernels are commonly written.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cfloat>

namespace cg = cooperative_groups;

#define WARP_SIZE 32
#define FULL_MASK 0xffffffff
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CHECK(call)                                  \
    do {                                             \
        cudaError_t status_ = (call);                \
        if (status_ != cudaSuccess) return status_;  \
    } while (0)

template <typename T, int N = WARP_SIZE>
__device__ __forceinline__ T warp_reduce_sum(T v) {
#pragma unroll
    for (int offset = N >> 1; offset > 0; offset >>= 1) v += __shfl_xor_sync(FULL_MASK, v, offset);
    return v;
}

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK, 2) block_sum(const float* __restrict__ in, float* __restrict__ partial, int n) {
    static_assert(BLOCK % WARP_SIZE == 0, "whole warps");
    __shared__ float warps[BLOCK / WARP_SIZE];
    const int tid = threadIdx.x, lane = tid & (WARP_SIZE - 1), wid = tid / WARP_SIZE;
    float sum = 0.f;
    const float4* in4 = reinterpret_cast<const float4*>(in);
    for (int i = blockIdx.x * BLOCK + tid; i < n / 4; i += gridDim.x * BLOCK) {
        float4 v = __ldg(&in4[i]);
        sum += v.x + v.y + v.z + v.w;
    }
    if (blockIdx.x == 0 && tid < n % 4) sum += in[n / 4 * 4 + tid];
    sum = warp_reduce_sum(sum);
    if (lane == 0) warps[wid] = sum;
    __syncthreads();
    if (wid == 0) {
        sum = lane < BLOCK / WARP_SIZE ? warps[lane] : 0.f;
        sum = warp_reduce_sum<float, BLOCK / WARP_SIZE>(sum);
        if (lane == 0) partial[blockIdx.x] = sum;
    }
}

__global__ void finish_sum(const float* partial, float* out, int n) {
    extern __shared__ float s[];
    float v = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += partial[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (unsigned int d = blockDim.x / 2; d > 0; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = s[0];
}

// Last block done: partial sums, a counter, a fence.
__device__ unsigned int blocks_done = 0;
__global__ void single_pass_sum(const float* in, volatile float* partial, float* out, int n) {
    __shared__ bool last;
    __shared__ float s[128];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0;
        for (int i = 0; i < gridDim.x; ++i) total += partial[i];
        *out = total;
    }
}

__global__ void tile_max(const float* in, float* out, int n) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = cg::reduce(tile, i < n ? in[i] : -FLT_MAX, cg::greater<float>());
    if (tile.thread_rank() == 0 && i < n) out[i / 16] = m;
}

__global__ void coop_sum(const float* in, float* partial, float* out, int n) {
    cg::grid_group grid = cg::this_grid();
    __shared__ float s[256];
    float v = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) v += in[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
    grid.sync();
    if (grid.thread_rank() == 0) {
        float t = 0;
        for (unsigned b = 0; b < gridDim.x; b++) t += partial[b];
        out[0] = t + s[0] - s[0];
    }
}

// Inclusive scan of one block with warp shuffles.
__global__ void block_scan(const int* in, int* out, int n) {
    __shared__ int totals[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = threadIdx.x < n ? in[threadIdx.x] : 0;
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(FULL_MASK, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int t = lane < blockDim.x / 32 ? totals[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int u = __shfl_up_sync(FULL_MASK, t, d);
            if (lane >= d) t += u;
        }
        totals[lane] = t;
    }
    __syncthreads();
    if (warp > 0) v += totals[warp - 1];
    if (threadIdx.x < n) out[threadIdx.x] = v;
}

// Stream compaction of positive values with a ballot.
__global__ void compact(const int* in, int* out, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned votes = __ballot_sync(FULL_MASK, keep);
    int lane = threadIdx.x & 31, base = 0;
    if (lane == 0 && votes) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(FULL_MASK, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
}

__device__ float atomic_max_float(float* address, float value) {
    int* bits = (int*)address;
    int old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

__global__ void count_and_max(const float* in, int* positives, float* largest, int n) {
    __shared__ int counted[1];
    if (threadIdx.x == 0) counted[0] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int all = __syncthreads_count(i < n && in[i] > 0);
    if (i < n) atomic_max_float(largest, in[i]);
    if (threadIdx.x == 0) atomicAdd(&counted[0], all);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(positives, counted[0]);
}

extern "C" cudaError_t sum(float* out, const float* in, float* workspace, int n, cudaStream_t stream) {
    int blocks = min(CEIL_DIV(n, 256), 64);
    block_sum<256><<<blocks, 256, 0, stream>>>(in, workspace, n);
    finish_sum<<<1, 64, 64 * sizeof(float), stream>>>(workspace, out, blocks);
    CHECK(cudaGetLastError());
    return cudaSuccess;
}
extern "C" cudaError_t sum_single_pass(float* out, const float* in, float* workspace, int n, cudaStream_t stream) {
    single_pass_sum<<<dim3(20), dim3(128), 0, stream>>>(in, workspace, out, n);
    return cudaGetLastError();
}
extern "C" cudaError_t sum_cooperative(float* out, const float* in, float* workspace, int n, cudaStream_t stream) {
    int per_sm = 0, device = 0;
    cudaDeviceProp prop;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&prop, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, coop_sum, 256, 0));
    int blocks = std::min(prop.multiProcessorCount * per_sm, 24);
    void* args[] = {(void*)&in, (void*)&workspace, (void*)&out, (void*)&n};
    return cudaLaunchCooperativeKernel((void*)coop_sum, dim3(blocks), dim3(256), args, 0, stream);
}
extern "C" cudaError_t max_of_16(float* out, const float* in, int n, cudaStream_t stream) {
    tile_max<<<CEIL_DIV(n, 128), 128, 0, stream>>>(in, out, n);
    return cudaGetLastError();
}
extern "C" cudaError_t scan(int* out, const int* in, int n, cudaStream_t stream) {
    block_scan<<<1, 1024, 0, stream>>>(in, out, n);
    return cudaGetLastError();
}
extern "C" cudaError_t compaction(int* out, int* count, const int* in, int n, cudaStream_t stream) {
    CHECK(cudaMemsetAsync(count, 0, sizeof(int), stream));
    compact<<<CEIL_DIV(n, 96), 96, 0, stream>>>(in, out, count, n);
    return cudaGetLastError();
}
extern "C" cudaError_t statistics(int* positives, float* largest, const float* in, int n, cudaStream_t stream) {
    static const float lowest = -FLT_MAX;
    CHECK(cudaMemsetAsync(positives, 0, sizeof(int), stream));
    CHECK(cudaMemcpyAsync(largest, &lowest, sizeof(float), cudaMemcpyHostToDevice, stream));
    count_and_max<<<CEIL_DIV(n, 192), 192, 0, stream>>>(in, positives, largest, n);
    return cudaGetLastError();
}
