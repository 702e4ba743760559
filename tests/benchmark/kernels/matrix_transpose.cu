// Transposes: by reading or by writing in order, and by tiles.

struct ReadInOrder {
    T* B;
    const T* A;
    long long M, N;
    __device__ void operator()(long long i) const { B[i % N * M + i / N] = A[i]; }
};
struct WrittenInOrder {
    T* B;
    const T* A;
    long long M, N;
    __device__ void operator()(long long i) const { B[i] = A[i % M * N + i / M]; }
};
#define WORK ReadInOrder{B, A, M, N}
#define COUNT (long long)M * N
#include "pointwise.cuh"

// Tiles of 16 x 16. What is wrong: no barrier, tiles put where they came from, tiles at the edges left out.
template <bool BARRIER, bool TURNED, bool EDGES>
__global__ void tiles(T* B, const T* A, int M, int N) {
    __shared__ float tile[16][17];
    const int m = blockIdx.y * 16, n = blockIdx.x * 16, x = threadIdx.x, y = threadIdx.y;
    if (!EDGES && (m + 16 > M || n + 16 > N)) return;
    if (m + y < M && n + x < N) tile[y][x] = get(A[(long long)(m + y) * N + n + x]);
    if (BARRIER) __syncthreads();
    if (m + x < M && n + y < N) put(B + (long long)(n + y) * M + m + x, TURNED ? tile[x][y] : tile[y][x]);
}
template <bool BARRIER, bool TURNED, bool EDGES>
static cudaError_t in_tiles(T* B, const T* A, int M, int N, cudaStream_t stream) {
    tiles<BARRIER, TURNED, EDGES><<<dim3(blocks_for(N, 16), blocks_for(M, 16)), dim3(16, 16), 0, stream>>>(B, A, M, N);
    return cudaGetLastError();
}
HONEST(written_in_order) { return each(WrittenInOrder{B, A, M, N}, COUNT, stream); }
HONEST(in_tiles) { return in_tiles<true, true, true>(B, A, M, N, stream); }

struct Copied {
    T* B;
    const T* A;
    __device__ void operator()(long long i) const { B[i] = A[i]; }
};
MISTAKE(copied) { return each(Copied{B, A}, COUNT, stream); }
MISTAKE(sides_exchanged) { return each(ReadInOrder{B, A, N, M}, COUNT, stream); }
MISTAKE(no_barrier) { return in_tiles<false, true, true>(B, A, M, N, stream); }
MISTAKE(tiles_not_turned) { return in_tiles<true, false, true>(B, A, M, N, stream); }
MISTAKE(tiles_at_the_edges_lost) { return in_tiles<true, true, false>(B, A, M, N, stream); }
