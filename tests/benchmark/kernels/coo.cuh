// A list of entries in any order.

struct Coo {
    const T* values;
    const int *row_idx, *col_idx;
    __device__ long long row(long long e) const { return row_idx[e]; }
    __device__ long long column(long long e) const { return col_idx[e]; }
};
#define ENTRIES Coo{values, row_idx, col_idx}
#include "scattered.cuh"
