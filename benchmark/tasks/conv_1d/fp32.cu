// Valid cross-correlation in one dimension, naive: one thread per output, everything from global memory.
#include <cuda_runtime.h>

__global__ void conv_1d_kernel(const float* input, const float* kernel, float* output,
                               int input_size, int kernel_size) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i > input_size - kernel_size) return;
    float sum = 0.0f;
    for (int k = 0; k < kernel_size; ++k) {
        sum += input[i + k] * kernel[k];
    }
    output[i] = sum;
}

extern "C" size_t conv_1d_workspace_bytes(int input_size, int kernel_size) {
    return 0;
}

extern "C" cudaError_t conv_1d(const float* input, const float* kernel, float* output,
                               int input_size, int kernel_size,
                               void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    const int blocks = (input_size - kernel_size) / threads + 1;
    conv_1d_kernel<<<blocks, threads, 0, stream>>>(input, kernel, output, input_size, kernel_size);
    return cudaGetLastError();
}
