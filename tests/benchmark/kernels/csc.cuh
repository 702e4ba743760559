// Compressed sparse columns.

struct Csc {
    const T* values;
    const int *row_idx, *col_offsets;
    int cols;
    __device__ long long row(long long e) const { return row_idx[e]; }
    __device__ long long column(long long e) const {  // the last that starts at or before e
        int low = 0, high = cols;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            (col_offsets[middle] <= e ? low : high) = middle;
        }
        return low;
    }
};
#define ENTRIES Csc{values, row_idx, col_offsets, cols}
#include "scattered.cuh"

// A thread per column of the matrix, which adds its entries by atomics.
template <bool FIRST_32>
__global__ void thread_per_matrix_column(const T* values, const int* row_idx, const int* col_offsets, const T* right,
                                         float* sums, int cols, long long width) {
    const long long i = thread_index(), c = i / width, k = i % width;
    if (c >= cols) return;
    const int end = FIRST_32 ? min(col_offsets[c + 1], col_offsets[c] + 32) : col_offsets[c + 1];
    for (int e = col_offsets[c]; e < end; ++e) {
        atomicAdd(sums + row_idx[e] * width + k, get(values[e]) * get(right[c * width + k]));
    }
}
HONEST(thread_per_matrix_column) {
    float* sums = cleared(workspace, OUTPUTS, stream);
    thread_per_matrix_column<false><<<blocks_for((long long)cols * (WIDTH), 64), 64, 0, stream>>>(
        values, row_idx, col_offsets, RIGHT, sums, cols, WIDTH);
    return rounded(sums, nullptr, RESULT, OUTPUTS, stream);
}
MISTAKE(long_columns_cut) {
    float* sums = cleared(workspace, OUTPUTS, stream);
    thread_per_matrix_column<true><<<blocks_for((long long)cols * (WIDTH), 64), 64, 0, stream>>>(
        values, row_idx, col_offsets, RIGHT, sums, cols, WIDTH);
    return rounded(sums, nullptr, RESULT, OUTPUTS, stream);
}
