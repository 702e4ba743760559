// Atomics on global and shared memory, with and without a result.
#include <cuda_runtime.h>

#define THREAD int i = blockIdx.x * blockDim.x + threadIdx.x

__global__ void add_one_address(float* out, const float* in, int n) { THREAD; atomicAdd(out, in[i]); }  // all lanes one address
__global__ void add_neighbours(float* out, const float* in, int n) { THREAD; atomicAdd(out + i, in[i]); }  // each lane its own
__global__ void add_stride_8(float* out, const float* in, int n) { THREAD; atomicAdd(out + 8 * i, in[i]); }  // a sector a lane
__global__ void add_four_addresses(float* out, const float* in, int n) { THREAD; atomicAdd(out + i % 4, in[i]); }  // eight lanes an address
__global__ void add_per_warp(float* out, const float* in, int n) {  // one lane a warp
    THREAD;
    float v = in[i];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (i % 32 == 0) atomicAdd(out, v);
}
__global__ void take_ticket(float* out, const float* in, int n) {  // the old value is used
    THREAD;
    int ticket = atomicAdd(reinterpret_cast<int*>(out) + n + i / 32, 1 + i % 2);
    out[i] = (float)ticket;
}
__global__ void largest(float* out, const float* in, int n) { THREAD; atomicMax(reinterpret_cast<int*>(out) + i / 32, (int)(in[i] * 1000.0f)); }  // integer maximum
__global__ void exchange(float* out, const float* in, int n) { THREAD; out[n + i] = atomicExch(out + i, in[i]); }  // exchange
__global__ void odd_lanes_add(float* out, const float* in, int n) { THREAD; if (i % 2) atomicAdd(out + i, in[i]); }  // half of the lanes
__global__ void shared_counter(float* out, const float* in, int n) {  // shared integers
    __shared__ int s[128];
    THREAD;
    s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(s + (threadIdx.x * 7) % 128, i);
    __syncthreads();
    out[i] = (float)s[threadIdx.x];
}

extern "C" cudaError_t atomics(float* out, const float* in, int n, cudaStream_t stream) {
    add_one_address<<<n / 128, 128, 0, stream>>>(out, in, n);
    add_neighbours<<<n / 128, 128, 0, stream>>>(out, in, n);
    add_stride_8<<<n / 128, 128, 0, stream>>>(out, in, n);
    add_four_addresses<<<n / 128, 128, 0, stream>>>(out, in, n);
    add_per_warp<<<n / 128, 128, 0, stream>>>(out, in, n);
    take_ticket<<<n / 128, 128, 0, stream>>>(out, in, n);
    largest<<<n / 128, 128, 0, stream>>>(out, in, n);
    exchange<<<n / 128, 128, 0, stream>>>(out, in, n);
    odd_lanes_add<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_counter<<<n / 128, 128, 0, stream>>>(out, in, n);
    return cudaGetLastError();
}
