// Bank conflicts of several kinds. Each kernel stores to shared memory in one way and loads in another.
#include <cuda_runtime.h>

#define THREAD int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x

template <int STRIDE, class T>
__device__ void strided(float* out, const float* in) {
    __shared__ T s[128 * STRIDE];
    THREAD;
    T v = (T)in[i];
    for (int k = t; k < 128 * STRIDE; k += 128) s[k] = v;
    __syncthreads();
    out[i] = (float)s[t * STRIDE];
}
__global__ void shared_stride_1(float* out, const float* in, int n) { strided<1, float>(out, in); }  // no conflict
__global__ void shared_stride_2(float* out, const float* in, int n) { strided<2, float>(out, in); }  // 2-way
__global__ void shared_stride_4(float* out, const float* in, int n) { strided<4, float>(out, in); }  // 4-way
__global__ void shared_stride_16(float* out, const float* in, int n) { strided<16, float>(out, in); }  // 16-way
__global__ void shared_stride_32(float* out, const float* in, int n) { strided<32, float>(out, in); }  // 32-way
__global__ void shared_stride_33(float* out, const float* in, int n) { strided<33, float>(out, in); }  // odd: none
__global__ void shared_bytes(float* out, const float* in, int n) { strided<1, unsigned char>(out, in); }  // four lanes a word
__global__ void shared_shorts_stride_2(float* out, const float* in, int n) { strided<2, short>(out, in); }  // 2 bytes, a word a lane
__global__ void shared_doubles(float* out, const float* in, int n) { strided<1, double>(out, in); }  // 8 bytes
__global__ void shared_doubles_stride_2(float* out, const float* in, int n) { strided<2, double>(out, in); }  // 8 bytes, 2-way

template <int STRIDE, class T>
__device__ void vectors(float* out, const float* in) {
    __shared__ T s[128 * STRIDE];
    THREAD;
    s[t * STRIDE] = reinterpret_cast<const T*>(in)[i];
    __syncthreads();
    reinterpret_cast<T*>(out)[i] = s[(t ^ 1) * STRIDE];
}
__global__ void shared_float2(float* out, const float* in, int n) { vectors<1, float2>(out, in); }  // float2
__global__ void shared_float2_stride_3(float* out, const float* in, int n) { vectors<3, float2>(out, in); }  // float2, stride 3
__global__ void shared_float4(float* out, const float* in, int n) { vectors<1, float4>(out, in); }  // float4
__global__ void shared_float4_stride_2(float* out, const float* in, int n) { vectors<2, float4>(out, in); }  // float4, stride 2
__global__ void shared_float4_stride_5(float* out, const float* in, int n) { vectors<5, float4>(out, in); }  // float4, stride 5

__global__ void shared_broadcast(float* out, const float* in, int n) {  // one word for all lanes
    __shared__ float s[128];
    THREAD;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[blockIdx.x % 128];
}
__global__ void shared_two_words_of_a_bank(float* out, const float* in, int n) {  // half the lanes one word, half another of its bank
    __shared__ float s[128];
    THREAD;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[t % 2 * 32 + t / 32];
}
__global__ void shared_permuted(float* out, const float* in, int n) {  // every bank once, in another order
    __shared__ float s[128];
    THREAD;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[(t * 5 + 3) % 32 + t / 32 * 32];
}
__global__ void shared_random(float* out, const float* in, int n) {  // irregular conflicts
    __shared__ float s[1024];
    THREAD;
    for (int k = t; k < 1024; k += 128) s[k] = in[k];
    __syncthreads();
    out[i] = s[(unsigned)i * 2654435761u >> 22];
}
__global__ void tile_unpadded(float* out, const float* in, int n) {  // transposed 32 × 32 tile
    __shared__ float tile[32][32];
    int x = threadIdx.x, b = blockIdx.x * 1024;
    for (int y = threadIdx.y; y < 32; y += 4) tile[y][x] = in[b + y * 32 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 4) out[b + y * 32 + x] = tile[x][y];
}
__global__ void tile_padded(float* out, const float* in, int n) {  // the same, rows of 33
    __shared__ float tile[32][33];
    int x = threadIdx.x, b = blockIdx.x * 1024;
    for (int y = threadIdx.y; y < 32; y += 4) tile[y][x] = in[b + y * 32 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 4) out[b + y * 32 + x] = tile[x][y];
}
__global__ void tile_swizzled(float* out, const float* in, int n) {  // the same, columns exclusive-ored
    __shared__ float tile[32][32];
    int x = threadIdx.x, b = blockIdx.x * 1024;
    for (int y = threadIdx.y; y < 32; y += 4) tile[y][x ^ y] = in[b + y * 32 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 4) out[b + y * 32 + x] = tile[x][y ^ x];
}
__global__ void shared_half_warp(float* out, const float* in, int n) {  // conflicts of the lower half only
    __shared__ float s[128];
    THREAD;
    s[t] = in[i];
    __syncthreads();
    if (t % 32 < 16) out[i] = s[t % 16 * 8];
}
__global__ void loaded_again(float* out, const float* in, int n) {  // a compiler that knows of memory spaces loads once
    __shared__ float s[128];
    THREAD;
    s[t] = in[i] + 1.0f;
    s[t] += in[i];
    out[i] = s[t];
}
__global__ void tree_interleaved(float* out, const float* in, int n) {  // reduction with strided lanes
    __shared__ float s[128];
    THREAD;
    s[t] = in[i];
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        if (2 * d * t < 128) s[2 * d * t] += s[2 * d * t + d];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void tree_sequential(float* out, const float* in, int n) {  // reduction with neighbouring lanes
    __shared__ float s[128];
    THREAD;
    s[t] = in[i];
    for (int d = 64; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void dynamic_shared(float* out, const float* in, int n) {  // extern array
    extern __shared__ float d[];
    THREAD;
    d[t] = in[i];
    __syncthreads();
    out[i] = d[127 - t];
}

extern "C" cudaError_t shared_memory(float* out, const float* in, int n, cudaStream_t stream) {
    shared_stride_1<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_stride_2<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_stride_4<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_stride_16<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_stride_32<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_stride_33<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_bytes<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_shorts_stride_2<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_doubles<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_doubles_stride_2<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_float2<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_float2_stride_3<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_float4<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_float4_stride_2<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_float4_stride_5<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_broadcast<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_two_words_of_a_bank<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_permuted<<<n / 128, 128, 0, stream>>>(out, in, n);
    shared_random<<<n / 128, 128, 0, stream>>>(out, in, n);
    tile_unpadded<<<n / 1024, dim3(32, 4), 0, stream>>>(out, in, n);
    tile_padded<<<n / 1024, dim3(32, 4), 0, stream>>>(out, in, n);
    tile_swizzled<<<n / 1024, dim3(32, 4), 0, stream>>>(out, in, n);
    shared_half_warp<<<n / 128, 128, 0, stream>>>(out, in, n);
    loaded_again<<<n / 128, 128, 0, stream>>>(out, in, n);
    tree_interleaved<<<n / 128, 128, 0, stream>>>(out, in, n);
    tree_sequential<<<n / 128, 128, 0, stream>>>(out, in, n);
    dynamic_shared<<<n / 128, 128, 128 * sizeof(float), stream>>>(out, in, n);
    return cudaGetLastError();
}
