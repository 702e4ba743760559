// The k largest, naive: a whole merge sort of values with their indices, one thread per pair of runs, every level done
// twice (there and back); then the first k are copied.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void top_k_start(const __nv_bfloat16* input, __nv_bfloat16* values, int* indices, int rows, int N) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= (long long)rows * N) return;
    values[i] = input[i];
    indices[i] = (int)(i % N);
}

__global__ void top_k_merge(const __nv_bfloat16* from, const int* from_indices, __nv_bfloat16* to, int* to_indices,
                            int rows, int N, long long width) {
    const long long pairs = (N + 2 * width - 1) / (2 * width);
    const long long pair = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pair >= rows * pairs) return;
    const long long row = pair / pairs * N;
    const long long start = pair % pairs * 2 * width;
    const long long middle = start + width < N ? start + width : N;
    const long long end = start + 2 * width < N ? start + 2 * width : N;
    long long left = start;
    long long right = middle;
    for (long long i = start; i < end; ++i) {
        bool take_right = left == middle;
        if (left < middle && right < end) take_right = __bfloat162float(from[row + right]) > __bfloat162float(from[row + left]);
        const long long taken = row + (take_right ? right++ : left++);
        to[row + i] = from[taken];
        to_indices[row + i] = from_indices[taken];
    }
}

__global__ void top_k_first(const __nv_bfloat16* sorted, const int* sorted_indices, __nv_bfloat16* values, int* indices,
                            int rows, int N, int k) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= (long long)rows * k) return;
    const long long from = i / k * N + i % k;
    values[i] = sorted[from];
    indices[i] = sorted_indices[from];
}

extern "C" size_t top_k_workspace_bytes(int rows, int N, int k) {
    return 2 * (size_t)rows * N * (sizeof(int) + sizeof(__nv_bfloat16));
}

extern "C" cudaError_t top_k(__nv_bfloat16* values, int* indices, const __nv_bfloat16* input, int rows, int N, int k,
                             void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const long long elements = (long long)rows * N;
    int* here_indices = (int*)workspace;
    int* there_indices = here_indices + elements;
    __nv_bfloat16* here = (__nv_bfloat16*)(there_indices + elements);
    __nv_bfloat16* there = here + elements;
    const int threads = 256;
    top_k_start<<<(unsigned)((elements - 1) / threads + 1), threads, 0, stream>>>(input, here, here_indices, rows, N);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    for (long long width = 1; width < N; width *= 2) {
        const long long merges = rows * ((N + 2 * width - 1) / (2 * width));
        const unsigned blocks = (unsigned)((merges - 1) / threads + 1);
        top_k_merge<<<blocks, threads, 0, stream>>>(here, here_indices, there, there_indices, rows, N, width);
        error = cudaGetLastError();
        if (error != cudaSuccess) return error;
        top_k_merge<<<blocks, threads, 0, stream>>>(there, there_indices, here, here_indices, rows, N, width);
        error = cudaGetLastError();
        if (error != cudaSuccess) return error;
    }
    const long long kept = (long long)rows * k;
    const unsigned blocks = (unsigned)((kept - 1) / threads + 1);
    top_k_first<<<blocks, threads, 0, stream>>>(here, here_indices, values, indices, rows, N, k);
    return cudaGetLastError();
}
