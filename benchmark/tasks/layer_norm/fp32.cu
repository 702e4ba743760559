// Layer normalization, naive: three kernels, every thread adds its share to its row's sum with an atomic.
#include <cuda_runtime.h>
#include <math.h>

__global__ void sum_kernel(float* sum, const float* in, int N) {
    const float* x = in + (size_t)blockIdx.x * N;
    float partial = 0.0f;
    for (long long i = threadIdx.x; i < N; i += blockDim.x) {
        partial += x[i];
    }
    atomicAdd(&sum[blockIdx.x], partial);
}

__global__ void squares_kernel(float* squares, const float* sum, const float* in, int N) {
    const float* x = in + (size_t)blockIdx.x * N;
    const float mean = sum[blockIdx.x] / (float)N;
    float partial = 0.0f;
    for (long long i = threadIdx.x; i < N; i += blockDim.x) {
        const float deviation = x[i] - mean;
        partial += deviation * deviation;
    }
    atomicAdd(&squares[blockIdx.x], partial);
}

__global__ void normalize_kernel(float* out, const float* in, const float* weight, const float* bias,
                                 const float* sum, const float* squares, float eps, int N) {
    const size_t row = (size_t)blockIdx.x * N;
    const float mean = sum[blockIdx.x] / (float)N;
    const float variance = squares[blockIdx.x] / (float)N;
    for (long long i = threadIdx.x; i < N; i += blockDim.x) {
        const float normalized = (in[row + i] - mean) / sqrtf(variance + eps);
        out[row + i] = normalized * weight[i] + bias[i];
    }
}

extern "C" size_t layer_norm_workspace_bytes(int rows, int N) {
    return 2 * (size_t)rows * sizeof(float);
}

extern "C" cudaError_t layer_norm(float* out, const float* in, const float* weight, const float* bias, float eps,
                                  int rows, int N,
                                  void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    float* sum = (float*)workspace;
    float* squares = sum + rows;
    cudaError_t error = cudaMemsetAsync(workspace, 0, 2 * (size_t)rows * sizeof(float), stream);
    if (error != cudaSuccess) return error;
    sum_kernel<<<rows, 256, 0, stream>>>(sum, in, N);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    squares_kernel<<<rows, 256, 0, stream>>>(squares, sum, in, N);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    normalize_kernel<<<rows, 256, 0, stream>>>(out, in, weight, bias, sum, squares, eps, N);
    return cudaGetLastError();
}
