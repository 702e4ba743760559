// Valid cross-correlation in two dimensions, naive: one thread per output, everything from global memory.
#include <cuda_runtime.h>

__global__ void conv_2d_kernel(const float* input, const float* kernel, float* output,
                               int in_rows, int in_cols, int k_rows, int k_cols) {
    const int out_rows = in_rows - k_rows + 1;
    const int out_cols = in_cols - k_cols + 1;
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (col >= out_cols) return;
    for (long long row = blockIdx.y * blockDim.y + threadIdx.y; row < out_rows; row += gridDim.y * blockDim.y) {
        float sum = 0.0f;
        for (int i = 0; i < k_rows; ++i) {
            for (int j = 0; j < k_cols; ++j) {
                const float x = input[(row + i) * in_cols + col + j];
                sum += x * kernel[(long long)i * k_cols + j];
            }
        }
        output[row * out_cols + col] = sum;
    }
}

extern "C" size_t conv_2d_workspace_bytes(int in_rows, int in_cols, int k_rows, int k_cols) {
    return 0;
}

extern "C" cudaError_t conv_2d(const float* input, const float* kernel, float* output,
                               int in_rows, int in_cols, int k_rows, int k_cols,
                               void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const dim3 threads(16, 16);
    const int tall = (in_rows - k_rows) / 16 + 1;
    const dim3 blocks((in_cols - k_cols) / 16 + 1, tall < 65535 ? tall : 65535);
    conv_2d_kernel<<<blocks, threads, 0, stream>>>(input, kernel, output, in_rows, in_cols, k_rows, k_cols);
    return cudaGetLastError();
}
