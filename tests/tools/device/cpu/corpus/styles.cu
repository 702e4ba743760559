// The language: lambdas, functors, switches over template arguments, macros that launch, structs, streams, events.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <type_traits>

namespace detail {
struct Relu {
    __host__ __device__ float operator()(float x) const { return x > 0 ? x : 0; }
};
struct Scale {
    float by;
    __device__ __forceinline__ float operator()(float x) const { return x * by; }
};
template <typename F>
__global__ void apply(float* out, const float* in, int n, F f) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = f(in[i]);
}
}  // namespace detail

#define LAUNCH_APPLY(F, GRID, BLOCK, ...)                      \
    do {                                                       \
        detail::apply<F><<<GRID, BLOCK, 0, stream>>>(__VA_ARGS__); \
    } while (0)

template <int UNROLL_BY, bool TAIL>
__global__ void unrolled(float* out, const float* in, int n) {
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL_BY;
#pragma unroll
    for (int k = 0; k < UNROLL_BY; ++k) {
        if constexpr (TAIL) {
            if (base + k < n) out[base + k] = in[base + k] + 1.0f;
        } else {
            out[base + k] = in[base + k] + 1.0f;
        }
    }
}

template <int U>
static void launch_unrolled(float* out, const float* in, int n, cudaStream_t stream) {
    int blocks = (n + 128 * U - 1) / (128 * U);
    if (n % (128 * U) == 0) unrolled<U, false><<<blocks, 128, 0, stream>>>(out, in, n);
    else unrolled<U, true><<<blocks, 128, 0, stream>>>(out, in, n);
}

typedef struct {
    float x, y, z;
    int id;
} Particle;

struct Params {
    const float* in;
    float* out;
    int n;
    float table[4];
};

__global__ void particles(Particle* p, int n) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    Particle q = p[i];
    q.x += q.y * 0.5f;
    q.id = -q.id;
    p[i] = q;
}

__global__ void by_struct(const __grid_constant__ Params params) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < params.n) params.out[i] = params.in[i] * params.table[i & 3];
}

__device__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ __constant__ int offsets[2] = {100, 200};
__global__ void lookup(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[i % 8] + offsets[i & 1];
}

// Without shared memory of one name in two types a file does not get far.
__global__ void rows_softmax(float* out, const float* in, int cols) {
    extern __shared__ char raw[];
    float* row = reinterpret_cast<float*>(raw);
    const float* x = in + (size_t)blockIdx.x * cols;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, row[i] = x[i]);
    __shared__ float part[32], total;
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = m;
    __syncthreads();
    m = part[0];
    for (int w = 1; w < blockDim.x / 32; ++w) m = max(m, part[w]);
    float s = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) s += row[i] = __expf(row[i] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        total = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) total += part[w];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) out[(size_t)blockIdx.x * cols + i] = __fdividef(row[i], total);
}

__global__ void histogram(const unsigned char* in, unsigned int* bins, int n) {
    __shared__ unsigned int local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0u;
    __syncthreads();
    const uchar4* in4 = (const uchar4*)in;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) {
        uchar4 v = in4[i];
        atomicAdd(&local[v.x], 1u);
        atomicAdd(&local[v.y], 1u);
        atomicAdd(&local[v.z], 1);
        atomicAdd(local + v.w, 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i]) atomicAdd(bins + i, local[i]);
}

__global__ void integers(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = (unsigned)in[i];
    out[i] = __popc(v) + __clz((int)v) + (int)(__brev(v) >> 24) + __ffs((int)v) + (int)__byte_perm(v, 0, 0x0123) + __mulhi(in[i], 1 << 20) + (int)__umulhi(v, 77u) + min(in[i], 7) + max(3u, v);
}

extern "C" cudaError_t elementwise(float* out, const float* in, int n, int which, cudaStream_t stream) {
    switch (which) {
        case 0: LAUNCH_APPLY(detail::Relu, (n + 255) / 256, 256, out, in, n, detail::Relu{}); break;
        case 1: detail::apply<<<4, 64, 0, stream>>>(out, in, n, detail::Scale{3.0f}); break;
        case 2: {
            float c = 2.0f;
            auto f = [=] __device__(float x) { return x + c; };
            detail::apply<<<dim3(2), dim3(32), 0, stream>>>(out, in, n, f);
            break;
        }
        case 3: launch_unrolled<1>(out, in, n, stream); break;
        case 4: launch_unrolled<4>(out, in, n, stream); break;
        case 5: {
            void (*kernel)(float*, const float*, int) = n > 1000 ? unrolled<2, true> : unrolled<8, true>;
            kernel<<<(n + 255) / 256 * 4, 64, 0, stream>>>(out, in, n);
            break;
        }
        case 6: {
            Params params{in, out, n, {1, 2, 3, 4}};
            by_struct<<<(n + 63) / 64, 64>>>(params);
            break;
        }
        case 7: {
            cudaLaunchConfig_t config = {};
            config.gridDim = dim3((n + 255) / 256);
            config.blockDim = 256;
            config.stream = stream;
            return cudaLaunchKernelEx(&config, unrolled<1, true>, out, in, n);
        }
        case 8: {
            int blocks = (n + 31) / 32;
            void* args[] = {&out, &in, &n};
            return cudaLaunchKernel((const void*)unrolled<1, true>, blocks, 32, args, 0, stream);
        }
        default: return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}
extern "C" cudaError_t move_particles(void* p, int n, cudaStream_t stream) {
    particles<<<(n + 31) / 32, 32, 0, stream>>>((Particle*)p, n);
    return cudaPeekAtLastError();
}
extern "C" cudaError_t lookups(int* out, int n, cudaStream_t stream) {
    lookup<<<1, n, 0, stream>>>(out, n);
    return cudaGetLastError();
}
extern "C" cudaError_t softmax(float* out, const float* in, int rows, int cols, cudaStream_t stream) {
    cudaStream_t side;
    cudaEvent_t ready;
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    rows_softmax<<<rows, 128, cols * sizeof(float), side>>>(out, in, cols);
    cudaEventRecord(ready, side);
    cudaStreamWaitEvent(stream, ready, 0);
    cudaEventDestroy(ready);
    cudaStreamDestroy(side);
    return cudaGetLastError();
}
extern "C" cudaError_t histogram256(unsigned int* bins, const unsigned char* in, int n, cudaStream_t stream) {
    cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned int), stream);
    histogram<<<8, 128, 0, stream>>>(in, bins, n);
    return cudaGetLastError();
}
extern "C" cudaError_t integer_intrinsics(int* out, const int* in, int n, cudaStream_t stream) {
    integers<<<(n + 127) / 128, 128, 0, stream>>>(in, out, n);
    return cudaGetLastError();
}
extern "C" cudaError_t too_many_threads(float* out, const float* in, int n, cudaStream_t stream) {
    unrolled<1, true><<<1, 2048, 0, stream>>>(out, in, n);
    return cudaGetLastError();
}
