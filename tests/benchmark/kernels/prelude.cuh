// What all kernels here share. `T` is the unit's storage type; sums are kept in float.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

__device__ inline float get(float x) { return x; }
__device__ inline float get(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void put(float* to, float x) { *to = x; }
__device__ inline void put(__nv_bfloat16* to, float x) { *to = __float2bfloat16(x); }

// Rounded to bf16: what a kernel may not do to its sums.
__device__ inline float in_bf16(float x) { return __bfloat162float(__float2bfloat16(x)); }
[[maybe_unused]] static float host_in_bf16(float x) { return __bfloat162float(__float2bfloat16(x)); }

// Fewer significant bits than the storage type has: 11 of float (as TF32), 5 of bf16.
[[maybe_unused]] __device__ static float coarse(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); }
[[maybe_unused]] __device__ static float coarse(__nv_bfloat16 x) {
    return __uint_as_float(__float_as_uint(get(x)) & 0xfff80000u);
}

// Stored with the bits cut off that don't fit, instead of rounded: `x` is exact.
[[maybe_unused]] __device__ static void put_cut(float* to, double x) {
    const float near = (float)x;
    *to = fabs((double)near) > fabs(x) ? __uint_as_float(__float_as_uint(near) - 1) : near;
}
[[maybe_unused]] __device__ static void put_cut(__nv_bfloat16* to, double x) {
    float cut;
    put_cut(&cut, x);
    *to = __float2bfloat16(__uint_as_float(__float_as_uint(cut) & 0xffff0000u));
}

__device__ inline long long thread_index() { return blockIdx.x * (long long)blockDim.x + threadIdx.x; }
__device__ inline long long thread_count() { return (long long)gridDim.x * blockDim.x; }

__device__ inline float warp_sum(float x) {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

__device__ inline float warp_max(float x) {
    for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}

// Sum over a block of 128 threads, by a tree in shared memory; all threads get it.
__device__ inline float block_sum(float x) {
    __shared__ float s[128];
    s[threadIdx.x] = x;
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    const float sum = s[0];
    __syncthreads();
    return sum;
}

[[maybe_unused]] static int blocks_for(long long threads, int block) { return (int)((threads + block - 1) / block); }
