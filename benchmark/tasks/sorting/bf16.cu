// Merge sort, naive: from short runs to long ones, one thread per pair of runs; every level is done twice, to the
// workspace and back.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void sorting_merge(const __nv_bfloat16* from, __nv_bfloat16* to, int rows, int N, long long width) {
    const long long pairs = (N + 2 * width - 1) / (2 * width);
    const long long pair = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pair >= rows * pairs) return;
    const __nv_bfloat16* source = from + pair / pairs * N;
    __nv_bfloat16* target = to + pair / pairs * N;
    const long long start = pair % pairs * 2 * width;
    const long long middle = start + width < N ? start + width : N;
    const long long end = start + 2 * width < N ? start + 2 * width : N;
    long long left = start;
    long long right = middle;
    for (long long i = start; i < end; ++i) {
        bool take_right = left == middle;
        if (left < middle && right < end) take_right = __bfloat162float(source[right]) < __bfloat162float(source[left]);
        target[i] = source[take_right ? right++ : left++];
    }
}

extern "C" size_t sorting_workspace_bytes(int rows, int N) {
    return (size_t)rows * N * sizeof(__nv_bfloat16);
}

extern "C" cudaError_t sorting(__nv_bfloat16* data, int rows, int N,
                               void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    __nv_bfloat16* other = (__nv_bfloat16*)workspace;
    const int threads = 256;
    for (long long width = 1; width < N; width *= 2) {
        const long long merges = rows * ((N + 2 * width - 1) / (2 * width));
        const unsigned blocks = (unsigned)((merges - 1) / threads + 1);
        sorting_merge<<<blocks, threads, 0, stream>>>(data, other, rows, N, width);
        cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess) return error;
        sorting_merge<<<blocks, threads, 0, stream>>>(other, data, rows, N, width);
        error = cudaGetLastError();
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}
