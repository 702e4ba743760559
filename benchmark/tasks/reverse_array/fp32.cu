// Reversed copy, naive: a thread per pair of elements that change places.
#include <cuda_runtime.h>

__global__ void reverse_array_kernel(float* out, const float* in, int N) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= (N + 1LL) / 2) return;
    const float left = in[i];
    const float right = in[N - 1 - i];
    out[i] = right;
    out[N - 1 - i] = left;
}

extern "C" size_t reverse_array_workspace_bytes(int N) {
    return 0;
}

extern "C" cudaError_t reverse_array(float* out, const float* in, int N,
                                     void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    const long long pairs = (N + 1LL) / 2;
    reverse_array_kernel<<<(unsigned)((pairs + threads - 1) / threads), threads, 0, stream>>>(out, in, N);
    return cudaGetLastError();
}
