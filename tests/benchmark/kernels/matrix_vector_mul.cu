// Matrix times vector.

struct Product {
    const T *A, *x;
    T* y;
    long long M, N;
    __device__ int terms(long long) const { return (int)N; }
    __device__ T left(long long m, int n) const { return A[m * N + n]; }
    __device__ T right(long long, int n) const { return x[n]; }
    __device__ void put_sum(long long m, float sum) const { put(y + m, sum); }
};
#define PRODUCT Product{A, x, y, M, N}
#define OUTPUTS M
#include "products.cuh"

// x staged in shared memory, 256 elements at a time; with `once` no more than the first 256.
__global__ void x_in_shared(const T* A, const T* x, T* y, int M, int N, bool once) {
    __shared__ float s[256];
    const long long m = thread_index();
    float sum = 0.0f;
    for (int start = 0; start < (once ? min(N, 256) : N); start += 256) {
        for (int n = threadIdx.x; n < 256 && start + n < N; n += blockDim.x) s[n] = get(x[start + n]);
        __syncthreads();
        for (int n = 0; m < M && n < 256 && start + n < N; ++n) sum += get(A[m * N + start + n]) * s[n];
        __syncthreads();
    }
    if (m < M) put(y + m, sum);
}
HONEST(x_in_shared_memory) {
    x_in_shared<<<blocks_for(M, 64), 64, 0, stream>>>(A, x, y, M, N, false);
    return cudaGetLastError();
}

struct Transposed : Product {
    __device__ T left(long long m, int n) const { return A[n * M + m]; }
};
struct FirstLaneOnly : Product {
    __device__ int terms(long long) const { return (int)((N + 31) / 32); }
    __device__ T left(long long m, int n) const { return A[m * N + 32 * n]; }
    __device__ T right(long long, int n) const { return x[32 * n]; }
};
MISTAKE(x_staged_up_to_256) {
    x_in_shared<<<blocks_for(M, 64), 64, 0, stream>>>(A, x, y, M, N, true);
    return cudaGetLastError();
}
MISTAKE(read_as_transposed) { return thread_per_output(Transposed{PRODUCT}, M, stream); }
MISTAKE(only_the_first_lane_adds) { return thread_per_output(FirstLaneOnly{PRODUCT}, M, stream); }
MISTAKE(rows_beyond_eights_dropped) { return thread_per_output(PRODUCT, M / 8 * 8, stream); }
