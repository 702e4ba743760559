// Compressed sparse rows.

struct Csr {
    const T* values;
    const int *col_idx, *row_offsets;
    __device__ long long start(int row) const { return row_offsets[row]; }
    __device__ int length(int row) const { return row_offsets[row + 1] - row_offsets[row]; }
    __device__ int column(long long e) const { return col_idx[e]; }
};
#define ROW Csr{values, col_idx, row_offsets}
#include "gathered.cuh"

