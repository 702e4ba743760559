// Rows padded to one length; the padding has the column -1.

struct Ell {
    const T* values;
    const int* col_ids;
    int max_nnz;
    __device__ long long start(int row) const { return (long long)row * max_nnz; }
    __device__ int length(int row) const {
        int length = 0;
        while (length < max_nnz && col_ids[start(row) + length] >= 0) ++length;
        return length;
    }
    __device__ int column(long long e) const { return col_ids[e]; }
};
#define ROW Ell{values, col_ids, max_nnz}
#include "gathered.cuh"

// The padding not skipped but multiplied: its values are 0.
struct PaddingMultiplied : Ell {
    __device__ int length(int) const { return max_nnz; }
    __device__ int column(long long e) const { return max(col_ids[e], 0); }
};
HONEST(padding_multiplied) {
    return thread_per_output(gathered(PaddingMultiplied{ROW}, RIGHT, RESULT, WIDTH, cols, rows), OUTPUTS, stream);
}

struct LastSlotForgotten : Ell {
    __device__ int length(int row) const { return min(Ell::length(row), max_nnz - 1); }
};
struct RowsCutToFours : Ell {
    __device__ long long start(int row) const { return (long long)row * (max_nnz / 4 * 4); }
    __device__ int length(int row) const { return max_nnz; }
    __device__ int column(long long e) const { return max(col_ids[e], 0); }
};
MISTAKE(last_slot_forgotten) {
    return thread_per_output(gathered(LastSlotForgotten{ROW}, RIGHT, RESULT, WIDTH, cols, rows), OUTPUTS, stream);
}
MISTAKE(row_stride_cut_to_fours) {
    return thread_per_output(gathered(RowsCutToFours{ROW}, RIGHT, RESULT, WIDTH, cols, rows), OUTPUTS, stream);
}
