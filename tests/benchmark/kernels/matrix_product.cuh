// C[rows, columns] = A[rows, inner] · B[inner, columns]. A task defines ROWS, COLUMNS and INNER before it
// includes this.

struct Product {
    const T *A, *B;
    T* C;
    long long rows, columns, inner;
    __device__ int terms(long long) const { return (int)inner; }
    __device__ T left(long long o, int k) const { return A[o / columns * inner + k]; }
    __device__ T right(long long o, int k) const { return B[k * columns + o % columns]; }
    __device__ void put_sum(long long o, float sum) const { put(C + o, sum); }
};
#define PRODUCT Product{A, B, C, ROWS, COLUMNS, INNER}
#define OUTPUTS (long long)(ROWS) * (COLUMNS)
#include "products.cuh"

// Tiles of 16 in shared memory. An `end` short of the inner size, or a last tile that isn't `padded`, is a mistake.
__global__ void tiles(const T* A, const T* B, T* C, int rows, int columns, int inner, int end, bool padded) {
    __shared__ float a[16][17], b[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < end; start += 16) {
        const int ka = start + threadIdx.x, kb = start + threadIdx.y;
        const bool left = row < rows && ka < inner, right = kb < inner && col < columns;
        if (padded || ka < inner) a[threadIdx.y][threadIdx.x] = left ? get(A[(long long)row * inner + ka]) : 0.0f;
        if (padded || kb < inner) b[threadIdx.y][threadIdx.x] = right ? get(B[(long long)kb * columns + col]) : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && col < columns) put(C + (long long)row * columns + col, sum);
}
static cudaError_t tiled(const T* A, const T* B, T* C, int rows, int columns, int inner, int end, bool padded,
                         cudaStream_t stream) {
    const dim3 blocks(blocks_for(columns, 16), blocks_for(rows, 16));
    tiles<<<blocks, dim3(16, 16), 0, stream>>>(A, B, C, rows, columns, inner, end, padded);
    return cudaGetLastError();
}
HONEST(in_tiles) { return tiled(A, B, C, ROWS, COLUMNS, INNER, INNER, true, stream); }
MISTAKE(last_tile_dropped) { return tiled(A, B, C, ROWS, COLUMNS, INNER, (INNER) / 16 * 16, true, stream); }
MISTAKE(last_tile_not_cleared) { return tiled(A, B, C, ROWS, COLUMNS, INNER, INNER, false, stream); }
MISTAKE(rows_beyond_sixteens_dropped) {
    return thread_per_output(PRODUCT, (long long)(ROWS) / 16 * 16 * (COLUMNS), stream);
}

struct BTransposed : Product {
    __device__ T right(long long o, int k) const { return B[(o % columns * inner + k) % (inner * columns)]; }
};
struct ATransposed : Product {
    __device__ T left(long long o, int k) const { return A[(k * rows + o / columns) % (rows * inner)]; }
};
MISTAKE(b_read_as_transposed) { return thread_per_output(BTransposed{PRODUCT}, OUTPUTS, stream); }
MISTAKE(a_read_as_transposed) { return thread_per_output(ATransposed{PRODUCT}, OUTPUTS, stream); }
