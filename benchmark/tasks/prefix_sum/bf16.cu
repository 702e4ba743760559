// Prefix sums, naive: every thread adds up its whole prefix.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void prefix_sum_kernel(__nv_bfloat16* out, const __nv_bfloat16* in, int rows, int N) {
    const long long index = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (index >= (long long)rows * N) return;
    const __nv_bfloat16* row = in + index / N * N;
    float sum = 0.0f;
    for (int j = 0; j <= index % N; ++j) {
        sum += __bfloat162float(row[j]);
    }
    out[index] = __float2bfloat16(sum);
}

extern "C" size_t prefix_sum_workspace_bytes(int rows, int N) {
    return 0;
}

extern "C" cudaError_t prefix_sum(__nv_bfloat16* out, const __nv_bfloat16* in, int rows, int N,
                                  void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    const long long elements = (long long)rows * N;
    prefix_sum_kernel<<<(unsigned)((elements - 1) / threads + 1), threads, 0, stream>>>(out, in, rows, N);
    return cudaGetLastError();
}
