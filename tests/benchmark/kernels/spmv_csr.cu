// Sparse products: honest orders of summation, and what goes wrong in them.

WORKSPACE_BYTES { return (size_t)rows * sizeof(float); }

// --- honest ----------------------------------------------------------------------------------------------------------

// Thread per row. `first` entries are skipped and at most `most` taken; the honest kernels take all.
__global__ void thread_per_row(int rows, const T* values, const int* col_idx, const int* row_offsets, const T* x, T* y,
                               int first, int most) {
    const long long row = thread_index();
    if (row >= rows) return;
    const int start = row_offsets[row], end = min(row_offsets[row + 1] - start, most) + start;
    float sum = 0.0f;
    for (int k = start + first; k < end; ++k) sum = fmaf(get(values[k]), get(x[col_idx[k]]), sum);
    put(y + row, sum);
}
HONEST(sequential) {
    thread_per_row<<<blocks_for(rows, 128), 128, 0, stream>>>(rows, values, col_idx, row_offsets, x, y, 0, nnz);
    return cudaGetLastError();
}

__global__ void backwards_per_row(int rows, const T* values, const int* col_idx, const int* row_offsets, const T* x,
                                  T* y) {
    const long long row = thread_index();
    if (row >= rows) return;
    float even = 0.0f, odd = 0.0f;
    for (int k = row_offsets[row + 1] - 1; k >= row_offsets[row]; --k) {
        (k % 2 ? odd : even) += __fmul_rn(get(values[k]), get(x[col_idx[k]]));
    }
    put(y + row, even + odd);
}
HONEST(two_sums_backwards) {
    backwards_per_row<<<blocks_for(rows, 128), 128, 0, stream>>>(rows, values, col_idx, row_offsets, x, y);
    return cudaGetLastError();
}

__global__ void warp_per_row(const T* values, const int* col_idx, const int* row_offsets, const T* x, T* y, int widest) {
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int k = row_offsets[row] + threadIdx.x; k < row_offsets[row + 1]; k += 32) {
        sum += get(values[k]) * get(x[col_idx[k]]);
    }
    for (int d = widest; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) put(y + row, sum);
}
HONEST(split_over_lanes) {
    warp_per_row<<<rows, 32, 0, stream>>>(values, col_idx, row_offsets, x, y, 16);
    return cudaGetLastError();
}

__global__ void block_per_row(const T* values, const int* col_idx, const int* row_offsets, const T* x, T* y) {
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int k = row_offsets[row] + threadIdx.x; k < row_offsets[row + 1]; k += 128) {
        sum += get(values[k]) * get(x[col_idx[k]]);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) put(y + row, sum);
}
HONEST(tree) {
    block_per_row<<<rows, 128, 0, stream>>>(values, col_idx, row_offsets, x, y);
    return cudaGetLastError();
}

__global__ void thread_per_entry(int rows, int nnz, const T* values, const int* col_idx, const int* row_offsets,
                                 const T* x, float* sums) {
    const long long k = thread_index();
    if (k >= nnz) return;
    int low = 0, high = rows;  // the last row that starts at or before k
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (row_offsets[middle] <= k ? low : high) = middle;
    }
    atomicAdd(sums + low, get(values[k]) * get(x[col_idx[k]]));
}
__global__ void round_sums(const float* sums, T* y, int rows) {
    const long long row = thread_index();
    if (row < rows) put(y + row, sums[row]);
}
HONEST(atomics) {
    float* sums = (float*)workspace;
    cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
    thread_per_entry<<<blocks_for(nnz, 128), 128, 0, stream>>>(rows, nnz, values, col_idx, row_offsets, x, sums);
    round_sums<<<blocks_for(rows, 128), 128, 0, stream>>>(sums, y, rows);
    return cudaGetLastError();
}

// --- mistakes --------------------------------------------------------------------------------------------------------

MISTAKE(long_rows_cut) {
    thread_per_row<<<blocks_for(rows, 128), 128, 0, stream>>>(rows, values, col_idx, row_offsets, x, y, 0, 32);
    return cudaGetLastError();
}
MISTAKE(first_entry_skipped) {
    thread_per_row<<<blocks_for(rows, 128), 128, 0, stream>>>(rows, values, col_idx, row_offsets, x, y, 1, nnz);
    return cudaGetLastError();
}
MISTAKE(rows_beyond_fours_dropped) {
    if (rows < 4) return cudaSuccess;
    thread_per_row<<<blocks_for(rows, 128), 128, 0, stream>>>(rows / 4 * 4, values, col_idx, row_offsets, x, y, 0, nnz);
    return cudaGetLastError();
}
MISTAKE(one_shuffle_missing) {
    warp_per_row<<<rows, 32, 0, stream>>>(values, col_idx, row_offsets, x, y, 8);
    return cudaGetLastError();
}
MISTAKE(sums_not_cleared) {
    float* sums = (float*)workspace;
    thread_per_entry<<<blocks_for(nnz, 128), 128, 0, stream>>>(rows, nnz, values, col_idx, row_offsets, x, sums);
    round_sums<<<blocks_for(rows, 128), 128, 0, stream>>>(sums, y, rows);
    return cudaGetLastError();
}

template <int COLUMN_SHIFT, bool BF16_SUM, bool EMPTY_ROWS, int ROW_SHIFT>
__global__ void faulty_row(int rows, int cols, const T* values, const int* col_idx, const int* row_offsets, const T* x,
                           T* y) {
    const long long row = thread_index();
    if (row >= rows || (!EMPTY_ROWS && row_offsets[row] == row_offsets[row + 1])) return;
    float sum = 0.0f;
    for (int k = row_offsets[row]; k < row_offsets[row + 1]; ++k) {
        sum += get(values[k]) * get(x[(col_idx[k] + COLUMN_SHIFT) % cols]);
        if (BF16_SUM) sum = in_bf16(sum);
    }
    put(y + (row + ROW_SHIFT) % rows, sum);
}
MISTAKE(off_by_one_column) {
    faulty_row<1, false, true, 0><<<blocks_for(rows, 128), 128, 0, stream>>>(
        rows, cols, values, col_idx, row_offsets, x, y);
    return cudaGetLastError();
}
MISTAKE(accumulated_in_bf16) {
    faulty_row<0, true, true, 0><<<blocks_for(rows, 128), 128, 0, stream>>>(
        rows, cols, values, col_idx, row_offsets, x, y);
    return cudaGetLastError();
}
MISTAKE(empty_rows_not_written) {
    faulty_row<0, false, false, 0><<<blocks_for(rows, 128), 128, 0, stream>>>(
        rows, cols, values, col_idx, row_offsets, x, y);
    return cudaGetLastError();
}
MISTAKE(off_by_one_row) {
    faulty_row<0, false, true, 1><<<blocks_for(rows, 128), 128, 0, stream>>>(
        rows, cols, values, col_idx, row_offsets, x, y);
    return cudaGetLastError();
}
