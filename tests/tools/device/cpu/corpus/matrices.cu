// Tiled products, transposition, convolution, sorting.
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

using bf16 = __nv_bfloat16;

struct alignas(16) Pack8 {
    __nv_bfloat162 v[4];
};

template <int BM, int BN, int BK, int TM, int TN>
__global__ void gemm_double_buffered(int M, int N, int K, const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {
    extern __shared__ __align__(16) float smem[];
    float* As = smem;                    // [2][BK][BM]
    float* Bs = smem + 2 * BK * BM;      // [2][BK][BN]
    constexpr int THREADS = (BM / TM) * (BN / TN);
    const int tx = threadIdx.x % (BN / TN), ty = threadIdx.x / (BN / TN);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float acc[TM][TN] = {{0.f}};
    auto load = [&](int stage, int k0) {
        for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
            int r = i / BK, k = i % BK;
            As[(stage * BK + k) * BM + r] = row0 + r < M && k0 + k < K ? A[(size_t)(row0 + r) * K + k0 + k] : 0.f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
            int k = i / BN, c = i % BN;
            Bs[(stage * BK + k) * BN + c] = k0 + k < K && col0 + c < N ? B[(size_t)(k0 + k) * N + col0 + c] : 0.f;
        }
    };
    load(0, 0);
    __syncthreads();
    int stage = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        if (k0 + BK < K) load(stage ^ 1, k0 + BK);
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) a[i] = As[(stage * BK + k) * BM + ty * TM + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) b[j] = Bs[(stage * BK + k) * BN + tx * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
        stage ^= 1;
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            int r = row0 + ty * TM + i, c = col0 + tx * TN + j;
            if (r < M && c < N) C[(size_t)r * N + c] = acc[i][j];
        }
}

template <typename T, int TILE>
__global__ void transpose(const T* in, T* out, int rows, int cols) {
    __shared__ T tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

__constant__ float filter[64];
__global__ void convolve(const float* in, float* out, int n, int taps) {
    extern __shared__ float window[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < blockDim.x + taps - 1; k += blockDim.x) {
        int g = blockIdx.x * blockDim.x + k;
        window[k] = g < n ? in[g] : 0.0f;
    }
    __syncthreads();
    if (i > n - taps) return;
    float sum = 0;
    for (int k = 0; k < taps; ++k) sum += window[threadIdx.x + k] * filter[k];
    out[i] = sum;
}

// 64 KB of dynamic shared memory: above what a launch gets without asking.
__global__ void bitonic(float* data, int n) {
    extern __shared__ float keys[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) keys[i] = data[i];
    __syncthreads();
    for (int size = 2; size <= n; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            for (int i = threadIdx.x; i < n; i += blockDim.x) {
                int j = i ^ stride;
                if (j > i) {
                    bool up = (i & size) == 0;
                    float a = keys[i], b = keys[j];
                    if ((a > b) == up) {
                        keys[i] = b;
                        keys[j] = a;
                    }
                }
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = keys[i];
}

__global__ void axpy_bf16x8(const bf16* __restrict__ x, bf16* __restrict__ y, float a, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i + 8 <= n) {
        uint4 raw = *reinterpret_cast<const uint4*>(x + i);
        Pack8 p = *reinterpret_cast<const Pack8*>(y + i);
        const __nv_bfloat162* q = reinterpret_cast<const __nv_bfloat162*>(&raw);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            float2 u = __bfloat1622float2(q[k]), v = __bfloat1622float2(p.v[k]);
            p.v[k] = __floats2bfloat162_rn(fmaf(a, u.x, v.x), fmaf(a, u.y, v.y));
        }
        *reinterpret_cast<Pack8*>(y + i) = p;
    } else {
        for (; i < n; ++i) y[i] = __float2bfloat16(fmaf(a, __bfloat162float(x[i]), __bfloat162float(y[i])));
    }
}

__global__ void half_poly(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 < n) {
        half2 h = __floats2half2_rn(x[2 * i], x[2 * i + 1]);
        half2 one = __float2half2_rn(1.0f);
        half2 r = __hfma2(h, h, __hadd2(h, one));
        if (__hgt(__low2half(h), __float2half(0.5f))) r = __hmul2(r, __half2half2(__float2half(2.0f)));
        float2 f = __half22float2(r);
        reinterpret_cast<float2*>(out)[i] = f;
    }
}

extern "C" cudaError_t gemm(float* C, const float* A, const float* B, int M, int N, int K, cudaStream_t stream) {
    constexpr int BM = 32, BN = 64, BK = 8;
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    size_t bytes = 2 * BK * (BM + BN) * sizeof(float);
    gemm_double_buffered<BM, BN, BK, 4, 4><<<grid, BM * BN / 16, bytes, stream>>>(M, N, K, A, B, C);
    return cudaGetLastError();
}
extern "C" cudaError_t transpose2(float* out, unsigned short* out16, const float* in, const unsigned short* in16, int rows, int cols, cudaStream_t stream) {
    dim3 block{16, 16, 1};
    dim3 grid{(unsigned)(cols + 15) / 16, (unsigned)(rows + 15) / 16, 1};
    transpose<float, 16><<<grid, block, 0, stream>>>(in, out, rows, cols);
    transpose<bf16, 16><<<grid, block, 0, stream>>>((const bf16*)in16, (bf16*)out16, rows, cols);
    return cudaGetLastError();
}
extern "C" cudaError_t convolution(float* out, const float* in, const float* weights, int n, int taps, cudaStream_t stream) {
    cudaError_t error = cudaMemcpyToSymbolAsync(filter, weights, taps * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
    convolve<<<(n + 127) / 128, 128, (128 + taps - 1) * sizeof(float), stream>>>(in, out, n, taps);
    return cudaGetLastError();
}
extern "C" cudaError_t sort(float* data, int n, cudaStream_t stream) {
    const int bytes = n * sizeof(float);
    cudaError_t error = cudaFuncSetAttribute(bitonic, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    bitonic<<<1, 512, bytes, stream>>>(data, n);
    return cudaGetLastError();
}
extern "C" cudaError_t sort_without_asking(float* data, int n, cudaStream_t stream) {
    cudaFuncSetAttribute(bitonic, cudaFuncAttributeMaxDynamicSharedMemorySize, 0);
    bitonic<<<1, 512, n * sizeof(float), stream>>>(data, n);
    return cudaGetLastError();
}
extern "C" cudaError_t axpy(unsigned short* y, const unsigned short* x, float a, int n, cudaStream_t stream) {
    axpy_bf16x8<<<(n / 8 + 64) / 64, 64, 0, stream>>>(reinterpret_cast<const bf16*>(x), reinterpret_cast<bf16*>(y), a, n);
    return cudaGetLastError();
}
extern "C" cudaError_t polynomial(float* out, const float* x, int n, cudaStream_t stream) {
    half_poly<<<(n / 2 + 255) / 256, 256, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}
