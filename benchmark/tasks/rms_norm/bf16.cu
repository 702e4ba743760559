// RMS normalization, naive: two kernels, every thread adds its share to its row's sum with an atomic.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void squares_kernel(float* squares, const __nv_bfloat16* in, int N) {
    const __nv_bfloat16* x = in + (size_t)blockIdx.x * N;
    float partial = 0.0f;
    for (long long i = threadIdx.x; i < N; i += blockDim.x) {
        partial += __bfloat162float(x[i]) * __bfloat162float(x[i]);
    }
    atomicAdd(&squares[blockIdx.x], partial);
}

__global__ void normalize_kernel(__nv_bfloat16* out, const __nv_bfloat16* in, const __nv_bfloat16* weight,
                                 const __nv_bfloat16* bias, const float* squares, float eps, int N) {
    const size_t row = (size_t)blockIdx.x * N;
    for (long long i = threadIdx.x; i < N; i += blockDim.x) {
        const float normalized = __bfloat162float(in[row + i]) / sqrtf(squares[blockIdx.x] / (float)N + eps);
        out[row + i] = __float2bfloat16(normalized * __bfloat162float(weight[i]) + __bfloat162float(bias[i]));
    }
}

extern "C" size_t rms_norm_workspace_bytes(int rows, int N) {
    return (size_t)rows * sizeof(float);
}

extern "C" cudaError_t rms_norm(__nv_bfloat16* out, const __nv_bfloat16* in, const __nv_bfloat16* weight,
                                const __nv_bfloat16* bias, float eps, int rows, int N,
                                void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    float* squares = (float*)workspace;
    cudaError_t error = cudaMemsetAsync(squares, 0, (size_t)rows * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    squares_kernel<<<rows, 256, 0, stream>>>(squares, in, N);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    normalize_kernel<<<rows, 256, 0, stream>>>(out, in, weight, bias, squares, eps, N);
    return cudaGetLastError();
}
