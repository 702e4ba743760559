// Sparse times dense, the entries of a row anywhere. A task defines before it includes this
//   ENTRIES  an object with row(e), column(e) and the values
//   RIGHT    the vector or matrix on the right [cols, WIDTH]
//   RESULT   the result [rows, WIDTH]
//   WIDTH    columns of both
// Sums are kept in the workspace in float and rounded at the end.

#define OUTPUTS (long long)rows * (WIDTH)
WORKSPACE_BYTES() { return (size_t)(OUTPUTS) * 2 * sizeof(float); }

template <class E>
struct Scattered {
    E entries;
    const T* right;
    long long width, first, count;  // entries from `first`
    __device__ float product(long long e, long long k) const {
        return get(entries.values[e]) * get(right[entries.column(e) * width + k]);
    }
    __device__ long long output(long long e, long long k) const { return entries.row(e) * width + k; }
};
template <class E>
static Scattered<E> scattered(E entries, const T* right, int width, int count, int first = 0) {
    return {entries, right, width, first, count};
}
#define PRODUCT scattered(ENTRIES, RIGHT, WIDTH, nnz)

// A thread per column of the result goes through all entries.
template <bool BF16_SUM, class P>
__global__ void thread_per_column(P p, float* sums, bool backwards) {
    const long long k = thread_index();
    if (k >= p.width) return;
    for (long long i = 0; i < p.count; ++i) {
        const long long e = p.first + (backwards ? p.count - 1 - i : i);
        float* sum = sums + p.output(e, k);
        *sum = __fadd_rn(p.product(e, k), *sum);
        if (BF16_SUM) *sum = in_bf16(*sum);
    }
}
template <bool BF16_SUM, class P>
static void add_serially(P p, float* sums, bool backwards, cudaStream_t stream) {
    thread_per_column<BF16_SUM><<<blocks_for(p.width, 32), 32, 0, stream>>>(p, sums, backwards);
}
template <bool ATOMIC, class P>
__global__ void thread_per_product(P p, float* sums) {
    const long long i = thread_index();
    if (i >= p.count * p.width) return;
    const long long e = p.first + i / p.width, k = i % p.width;
    float* sum = sums + p.output(e, k);
    if (ATOMIC) {
        atomicAdd(sum, p.product(e, k));
    } else {
        const float before = *sum;
        __syncwarp();
        *sum = before + p.product(e, k);
    }
}
template <bool ATOMIC = true, class P>
static void add_at_once(P p, float* sums, cudaStream_t stream) {
    if (p.count > 0) thread_per_product<ATOMIC><<<blocks_for(p.count * p.width, 128), 128, 0, stream>>>(p, sums);
}
__global__ void round_sums(const float* sums, const float* more, T* result, long long outputs) {
    const long long o = thread_index();
    if (o < outputs) put(result + o, more ? sums[o] + more[o] : sums[o]);
}
static float* cleared(void* workspace, long long sums, cudaStream_t stream) {
    cudaMemsetAsync(workspace, 0, sums * sizeof(float), stream);
    return (float*)workspace;
}
static cudaError_t rounded(const float* sums, const float* more, T* result, long long outputs, cudaStream_t stream) {
    round_sums<<<blocks_for(outputs, 128), 128, 0, stream>>>(sums, more, result, outputs);
    return cudaGetLastError();
}
template <class P>
static cudaError_t by_atomics(P p, T* result, long long outputs, void* workspace, cudaStream_t stream) {
    float* sums = cleared(workspace, outputs, stream);
    add_at_once(p, sums, stream);
    return rounded(sums, nullptr, result, outputs, stream);
}

HONEST(sequential) {
    float* sums = cleared(workspace, OUTPUTS, stream);
    add_serially<false>(PRODUCT, sums, false, stream);
    return rounded(sums, nullptr, RESULT, OUTPUTS, stream);
}
HONEST(backwards) {
    float* sums = cleared(workspace, OUTPUTS, stream);
    add_serially<false>(PRODUCT, sums, true, stream);
    return rounded(sums, nullptr, RESULT, OUTPUTS, stream);
}
HONEST(atomics) { return by_atomics(PRODUCT, RESULT, OUTPUTS, workspace, stream); }
HONEST(two_halves) {
    float *sums = cleared(workspace, 2 * OUTPUTS, stream), *more = sums + OUTPUTS;
    add_at_once(scattered(ENTRIES, RIGHT, WIDTH, nnz / 2), sums, stream);
    add_serially<false>(scattered(ENTRIES, RIGHT, WIDTH, nnz - nnz / 2, nnz / 2), more, true, stream);
    return rounded(sums, more, RESULT, OUTPUTS, stream);
}

MISTAKE(last_entry_dropped) {
    return by_atomics(scattered(ENTRIES, RIGHT, WIDTH, nnz - 1), RESULT, OUTPUTS, workspace, stream);
}
MISTAKE(entries_beyond_fours_dropped) {
    return by_atomics(scattered(ENTRIES, RIGHT, WIDTH, nnz / 4 * 4), RESULT, OUTPUTS, workspace, stream);
}
MISTAKE(first_entry_skipped) {
    return by_atomics(scattered(ENTRIES, RIGHT, WIDTH, nnz - 1, 1), RESULT, OUTPUTS, workspace, stream);
}
MISTAKE(sums_not_cleared) {
    add_at_once(PRODUCT, (float*)workspace, stream);
    return rounded((float*)workspace, nullptr, RESULT, OUTPUTS, stream);
}
MISTAKE(stores_in_place_of_atomics) {
    float* sums = cleared(workspace, OUTPUTS, stream);
    add_at_once<false>(PRODUCT, sums, stream);
    return rounded(sums, nullptr, RESULT, OUTPUTS, stream);
}
MISTAKE(accumulated_in_bf16) {
    float* sums = cleared(workspace, OUTPUTS, stream);
    add_serially<true>(PRODUCT, sums, false, stream);
    return rounded(sums, nullptr, RESULT, OUTPUTS, stream);
}
MISTAKE(outputs_beyond_fours_not_written) {
    float* sums = cleared(workspace, OUTPUTS, stream);
    add_at_once(PRODUCT, sums, stream);
    return OUTPUTS < 4 ? cudaSuccess : rounded(sums, nullptr, RESULT, OUTPUTS / 4 * 4, stream);
}
template <class E>
struct RowsAndColumnsExchanged : E {
    int rows, cols;
    __device__ long long row(long long e) const { return E::column(e) % rows; }
    __device__ long long column(long long e) const { return E::row(e) % cols; }
};
template <class E>
static RowsAndColumnsExchanged<E> exchanged(E entries, int rows, int cols) { return {entries, rows, cols}; }
template <class E>
struct OneRowFurther : E {
    int rows;
    __device__ long long row(long long e) const { return (E::row(e) + 1) % rows; }
};
template <class E>
static OneRowFurther<E> one_row_further(E entries, int rows) { return {entries, rows}; }
template <class E>
struct OneColumnFurther : E {
    int cols;
    __device__ long long column(long long e) const { return (E::column(e) + 1) % cols; }
};
template <class E>
static OneColumnFurther<E> one_column_further(E entries, int cols) { return {entries, cols}; }
MISTAKE(rows_and_columns_exchanged) {
    return by_atomics(scattered(exchanged(ENTRIES, rows, cols), RIGHT, WIDTH, nnz), RESULT, OUTPUTS, workspace, stream);
}
MISTAKE(off_by_one_row) {
    return by_atomics(scattered(one_row_further(ENTRIES, rows), RIGHT, WIDTH, nnz), RESULT, OUTPUTS, workspace, stream);
}
MISTAKE(off_by_one_column) {
    const auto product = scattered(one_column_further(ENTRIES, cols), RIGHT, WIDTH, nnz);
    return by_atomics(product, RESULT, OUTPUTS, workspace, stream);
}
