// Maximum pooling, naive: one thread per output goes over its window in global memory and tests the border each time.
#include <cuda_runtime.h>
#include <math.h>

__global__ void max_pooling_2d_kernel(const float* input, float* output, long long planes, int H, int W,
                                      int out_h, int out_w, int kernel_size, int stride, int padding) {
    const long long col = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (col >= out_w) return;
    for (long long plane = blockIdx.z; plane < planes; plane += gridDim.z) {
        for (long long row = blockIdx.y * blockDim.y + threadIdx.y; row < out_h; row += gridDim.y * blockDim.y) {
            float largest = -INFINITY;
            for (int i = 0; i < kernel_size; ++i) {
                for (int j = 0; j < kernel_size; ++j) {
                    const long long h = row * stride - padding + i;
                    const long long w = col * stride - padding + j;
                    if (h >= 0 && h < H && w >= 0 && w < W) {
                        largest = fmaxf(largest, input[(plane * H + h) * W + w]);
                    }
                }
            }
            output[(plane * out_h + row) * out_w + col] = largest;
        }
    }
}

extern "C" size_t max_pooling_2d_workspace_bytes(int N, int C, int H, int W, int kernel_size, int stride, int padding) {
    return 0;
}

extern "C" cudaError_t max_pooling_2d(const float* input, float* output, int N, int C, int H, int W,
                                      int kernel_size, int stride, int padding,
                                      void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const long long planes = (long long)N * C;
    const int out_h = (int)((H + 2LL * padding - kernel_size) / stride) + 1;
    const int out_w = (int)((W + 2LL * padding - kernel_size) / stride) + 1;
    const int tall = (out_h - 1) / 16 + 1;
    const dim3 threads(16, 16);
    const dim3 blocks((out_w - 1) / 16 + 1, tall < 65535 ? tall : 65535, planes < 65535 ? (unsigned)planes : 65535u);
    max_pooling_2d_kernel<<<blocks, threads, 0, stream>>>(input, output, planes, H, W, out_h, out_w,
                                                          kernel_size, stride, padding);
    return cudaGetLastError();
}
