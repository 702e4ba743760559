// Copies of a matrix.

struct Copied {
    T* B;
    const T* A;
    long long N, stride;  // of the target's rows
    __device__ void operator()(long long i) const { B[i / N * stride + i % N] = A[i]; }
};
#define WORK Copied{B, A, N, N}
#define COUNT (long long)M * N
#include "pointwise.cuh"

__global__ void block_per_row(T* B, const T* A, int N, int columns) {
    const long long row = blockIdx.x * (long long)N;
    for (int n = threadIdx.x; n < columns; n += blockDim.x) B[row + n] = A[row + n];
}
HONEST(block_per_row) {
    block_per_row<<<M, 96, 0, stream>>>(B, A, N, N);
    return cudaGetLastError();
}
HONEST(copied_by_the_runtime) {
    return cudaMemcpyAsync(B, A, sizeof(T) * M * N, cudaMemcpyDeviceToDevice, stream);
}

MISTAKE(row_stride_cut_to_fours) { return each(Copied{B, A, N, N < 4 ? N : N / 4 * 4}, COUNT, stream); }
MISTAKE(columns_beyond_sixteens_lost) {
    block_per_row<<<M, 96, 0, stream>>>(B, A, N, N / 16 * 16);
    return cudaGetLastError();
}
MISTAKE(last_row_lost) { return each(WORK, (long long)(M - 1) * N, stream); }
struct ThroughHalf {
    T* B;
    const T* A;
    __device__ void operator()(long long i) const { put(B + i, __half2float(__float2half(get(A[i])))); }
};
struct NanCleaned {
    T* B;
    const T* A;
    __device__ void operator()(long long i) const { put(B + i, fmaxf(get(A[i]), -INFINITY)); }
};
FP32_MISTAKE(through_half) { return each(ThroughHalf{B, A}, COUNT, stream); }
MISTAKE(nan_cleaned) { return each(NanCleaned{B, A}, COUNT, stream); }
