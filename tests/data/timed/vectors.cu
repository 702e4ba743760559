// Vectors of n elements: element by element, sums, scans, histograms, sorting, gathers.
#include <cuda_runtime.h>

__device__ float gelu_of(float v) { return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))); }
__device__ float fast_gelu_of(float v) {
    float u = 1.5957691216f * (v + 0.044715f * v * v * v);
    return v * __fdividef(1.0f, 1.0f + __expf(-u));
}
#define ELEMENT int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
__global__ void axpy(float* out, const float* x, const float* y, int n) { ELEMENT; out[i] = 2.0f * x[i] + y[i]; }
__global__ void axpy_4(float4* out, const float4* x, const float4* y, int n) {
    ELEMENT;
    float4 u = x[i], v = y[i];
    out[i] = make_float4(2.0f * u.x + v.x, 2.0f * u.y + v.y, 2.0f * u.z + v.z, 2.0f * u.w + v.w);
}
__global__ void axpy_chunks(float* out, const float* x, const float* y, int n) {  // eight neighbours a thread
    int i = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < 8; ++k) out[i + k] = 2.0f * x[i + k] + y[i + k];
}
__global__ void axpy_loop(float* out, const float* x, const float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2.0f * x[i] + y[i];
}
__global__ void gelu(float* out, const float* x, int n) { ELEMENT; out[i] = gelu_of(x[i]); }
__global__ void gelu_fast(float* out, const float* x, int n) { ELEMENT; out[i] = fast_gelu_of(x[i]); }
__global__ void gelu_double(float* out, const float* x, int n) { ELEMENT; double v = x[i]; out[i] = (float)(0.5 * v * (1.0 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)))); }
__global__ void sines(float* out, const float* x, int n) { ELEMENT; out[i] = sinf(x[i]) * cosf(2.0f * x[i]) + sqrtf(fabsf(x[i])) / (1.5f + x[i]); }
__global__ void polynomial(float* out, const float* x, int n) {
    ELEMENT;
    float v = x[i], p = 1.0f;
#pragma unroll
    for (int k = 0; k < 64; ++k) p = p * v + 0.25f;
    out[i] = p;
}
__global__ void powers(float* out, const float* x, int n) {  // the coefficients of a series by powf
    ELEMENT;
    float v = fabsf(x[i]), p = 0.0f;
    for (int k = 0; k < 8; ++k) p += powf(v, (float)k) * 0.5f;
    out[i] = p;
}
__global__ void add_one(float* out, const float* x, int n) { ELEMENT; out[i] = x[i] + 1.0f; }
__global__ void gather_8(float* out, const float* x, int n) {
    ELEMENT;
    float sum = 0.0f;
    unsigned h = i;
    for (int k = 0; k < 8; ++k) {
        h = h * 1664525u + 1013904223u;
        sum += x[h % (unsigned)n];
    }
    out[i] = sum;
}

__global__ void sum_atomics(float* out, const float* x, int n) { ELEMENT; atomicAdd(out, x[i]); }
__global__ void sum_warps(float* out, const float* x, int n) {
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
__global__ void sum_tree(float* out, const float* x, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
}
__global__ void sum_tree_interleaved(float* out, const float* x, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        if (2 * d * threadIdx.x < 256) s[2 * d * threadIdx.x] += s[2 * d * threadIdx.x + d];
    }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
}
__global__ void partial_sums(float* part, const float* x, int n) {
    __shared__ float s[8];
    float v = 0.0f;
    const float4* x4 = reinterpret_cast<const float4*>(x);
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += gridDim.x * 256) {
        float4 u = x4[i];
        v += (u.x + u.y) + (u.z + u.w);
    }
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) part[blockIdx.x] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}
__global__ void sum_one_block(float* out, const float* x, int n) {
    __shared__ float s[1024];
    float v = 0.0f;
    for (int i = threadIdx.x; i < n; i += 1024) v += x[i];
    s[threadIdx.x] = v;
    for (int d = 512; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    }
    if (threadIdx.x == 0) out[0] = s[0];
}

__global__ void histogram_global(int* bins, const float* x, int n) { ELEMENT; atomicAdd(bins + (int)(fabsf(x[i]) * 255.0f), 1); }
__global__ void histogram_shared(int* bins, const float* x, int n) {
    __shared__ int s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(s + (int)(fabsf(x[i]) * 255.0f), 1);
    __syncthreads();
    if (s[threadIdx.x]) atomicAdd(bins + threadIdx.x, s[threadIdx.x]);
}
__global__ void histogram_few_bins(int* bins, const float* x, int n) { ELEMENT; atomicAdd(bins + (int)(fabsf(x[i]) * 7.0f), 1); }

__global__ void scan_blocks(float* out, float* sums, const float* x) {  // Hillis and Steele, 256 a block
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = x[i];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        float v = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += v;
    }
    out[i] = s[t];
    if (t == 255) sums[blockIdx.x] = s[t];
}
__global__ void scan_add(float* out, const float* sums) {
    float before = 0.0f;
    for (int b = 0; b < blockIdx.x; ++b) before += sums[b];
    out[blockIdx.x * 256 + threadIdx.x] += before;
}
__global__ void scan_one_block(float* out, const float* x, int n) {
    __shared__ float warps[32];
    float carry = 0.0f;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < n; i += 1024) {
        float v = x[i];
        for (int d = 1; d < 32; d *= 2) {
            float u = __shfl_up_sync(0xffffffffu, v, d);
            if (lane >= d) v += u;
        }
        if (lane == 31) warps[warp] = v;
        __syncthreads();
        if (warp == 0) {
            float w = warps[lane];
            for (int d = 1; d < 32; d *= 2) {
                float u = __shfl_up_sync(0xffffffffu, w, d);
                if (lane >= d) w += u;
            }
            warps[lane] = w;
        }
        __syncthreads();
        v += carry + (warp ? warps[warp - 1] : 0.0f);
        out[i] = v;
        carry += warps[31];
        __syncthreads();
    }
}
__global__ void sort_step(float* data, int j, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other <= i) return;
    float a = data[i], b = data[other];
    if ((a > b) == ((i & k) == 0)) {
        data[i] = b;
        data[other] = a;
    }
}
__global__ void sort_block(float* out, const float* x, int size) {  // up to 1024 in shared memory
    __shared__ float s[1024];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 1024 + t];
    for (int k = 2; k <= 1024; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int other = t ^ j;
            if (other > t) {
                float a = s[t], b = s[other];
                if ((a > b) == ((t & k) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
        }
    __syncthreads();
    out[blockIdx.x * 1024 + t] = s[t];
}
__global__ void bodies(float* out, const float* x, int n) {  // all pairs, straight from global memory
    ELEMENT;
    float here = x[i], force = 0.0f;
    for (int j = 0; j < n; ++j) {
        float d = x[j] - here;
        force += d * rsqrtf(d * d + 0.01f);
    }
    out[i] = force;
}
__global__ void bodies_tiled(float* out, const float* x, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float here = x[i], force = 0.0f;
    for (int j0 = 0; j0 < n; j0 += 256) {
        s[threadIdx.x] = x[j0 + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; ++j) {
            float d = s[j] - here;
            force += d * rsqrtf(d * d + 0.01f);
        }
        __syncthreads();
    }
    out[i] = force;
}
__constant__ float taps[32] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.4f, 0.3f, 0.2f, 0.1f};
__global__ void filter(float* out, const float* x, const float* w, int n) {
    ELEMENT;
    float sum = 0.0f;
    for (int k = 0; k < 32; ++k) sum += x[i + k] * w[k];
    out[i] = sum;
}
__global__ void filter_constant(float* out, const float* x, int n) {
    __shared__ float s[256 + 32];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = x[i];
    if (threadIdx.x < 32) s[256 + threadIdx.x] = x[i + 256];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += s[threadIdx.x + k] * taps[k];
    out[i] = sum;
}

#define ENTRY(NAME) extern "C" cudaError_t NAME(float* out, const float* x, const float* y, int n, cudaStream_t stream)
#define GRID (n + 255) / 256, 256, 0, stream
ENTRY(axpy_plain) { axpy<<<GRID>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(axpy_float4) { axpy_4<<<n / 1024, 256, 0, stream>>>((float4*)out, (const float4*)x, (const float4*)y, n / 4); return cudaGetLastError(); }
ENTRY(axpy_chunk) { axpy_chunks<<<n / 2048, 256, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(axpy_grid_stride) { axpy_loop<<<264, 256, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(axpy_one_block) { axpy_loop<<<1, 1024, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(axpy_small_blocks) { axpy<<<n / 32, 32, 0, stream>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(gelu_tanh) { gelu<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(gelu_intrinsic) { gelu_fast<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(gelu_in_double) { gelu_double<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(sin_cos_root) { sines<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(horner_64) { polynomial<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(series_powf) { powers<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(one_launch) { add_one<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(five_launches) {
    add_one<<<GRID>>>(out, x, n);
    for (int k = 0; k < 4; ++k) add_one<<<GRID>>>(out, out, n);
    return cudaGetLastError();
}
ENTRY(gather_random) { gather_8<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(sum_by_atomics) { sum_atomics<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(sum_by_warps) { sum_warps<<<264, 256, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(sum_by_tree) { sum_tree<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(sum_by_interleaved_tree) { sum_tree_interleaved<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(sum_in_two_launches) {
    partial_sums<<<256, 256, 0, stream>>>(out + 1024, x, n);
    partial_sums<<<1, 256, 0, stream>>>(out, out + 1024, 256);
    return cudaGetLastError();
}
ENTRY(sum_by_one_block) { sum_one_block<<<1, 1024, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(histogram_by_global_atomics) { histogram_global<<<GRID>>>((int*)out, x, n); return cudaGetLastError(); }
ENTRY(histogram_by_shared_atomics) { histogram_shared<<<132, 256, 0, stream>>>((int*)out, x, n); return cudaGetLastError(); }
ENTRY(histogram_of_8_bins) { histogram_few_bins<<<GRID>>>((int*)out, x, n); return cudaGetLastError(); }
ENTRY(scan_in_two_launches) {
    scan_blocks<<<n / 256, 256, 0, stream>>>(out, out + n, x);
    scan_add<<<n / 256, 256, 0, stream>>>(out, out + n);
    return cudaGetLastError();
}
ENTRY(scan_by_one_block) { scan_one_block<<<1, 1024, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(sort_by_launches) {
    add_one<<<GRID>>>(out, x, n);
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) sort_step<<<GRID>>>(out, j, k);
    return cudaGetLastError();
}
ENTRY(sort_in_shared) { sort_block<<<n / 1024, 1024, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(bodies_plain) { bodies<<<GRID>>>(out, x, n); return cudaGetLastError(); }
ENTRY(bodies_in_tiles) { bodies_tiled<<<n / 256, 256, 0, stream>>>(out, x, n); return cudaGetLastError(); }
ENTRY(filter_plain) { filter<<<GRID>>>(out, x, y, n); return cudaGetLastError(); }
ENTRY(filter_in_shared) { filter_constant<<<n / 256, 256, 0, stream>>>(out, x, n); return cudaGetLastError(); }
