// Sparse times dense, a row's entries one after the other in memory. A task defines before it includes this
//   ROW      an object with start(row), length(row), column(e) and the values, for entry e = start, start + 1, …
//   RIGHT    the vector or matrix on the right [cols, WIDTH]
//   RESULT   the result [rows, WIDTH]
//   WIDTH    columns of both

template <class Row>
struct Gathered {
    Row row;
    const T* right_side;
    T* result;
    long long width, cols;
    int column_shift, row_shift, rows;  // mistakes
    __device__ int terms(long long o) const { return row.length((int)(o / width)); }
    __device__ T left(long long o, int k) const { return row.values[row.start((int)(o / width)) + k]; }
    __device__ T right(long long o, int k) const {
        const long long column = (row.column(row.start((int)(o / width)) + k) + column_shift) % cols;
        return right_side[column * width + o % width];
    }
    __device__ void put_sum(long long o, float sum) const {
        put(result + (o / width + row_shift) % rows * width + o % width, sum);
    }
};
template <class Row>
static Gathered<Row> gathered(Row row, const T* right, T* result, int width, int cols, int rows, int column_shift = 0,
                              int row_shift = 0) {
    return {row, right, result, width, cols, column_shift, row_shift, rows};
}
#define PRODUCT gathered(ROW, RIGHT, RESULT, WIDTH, cols, rows)
#define OUTPUTS (long long)rows * (WIDTH)
#include "products.cuh"

// Only part of a row's entries.
template <class Row>
struct Part : Gathered<Row> {
    int first, most;
    __device__ int terms(long long o) const { return max(0, min(Gathered<Row>::terms(o), most) - first); }
    __device__ T left(long long o, int k) const { return Gathered<Row>::left(o, k + first); }
    __device__ T right(long long o, int k) const { return Gathered<Row>::right(o, k + first); }
};
template <class Row>
static Part<Row> part(Gathered<Row> whole, int first, int most) { return {whole, first, most}; }
template <class Row>
struct EmptyRowsLeft : Gathered<Row> {
    __device__ void put_sum(long long o, float sum) const {
        if (Gathered<Row>::terms(o)) Gathered<Row>::put_sum(o, sum);
    }
};
template <class Row>
static EmptyRowsLeft<Row> empty_rows_left(Gathered<Row> whole) { return {whole}; }
template <class Row>
struct Pattern : Gathered<Row> {
    __device__ T right(long long o, int k) const { return this->left(o, k); }
};
template <class Row>
static Pattern<Row> squares(Gathered<Row> whole) { return {whole}; }
MISTAKE(long_rows_cut) { return thread_per_output(part(PRODUCT, 0, 32), OUTPUTS, stream); }
MISTAKE(first_entry_skipped) { return thread_per_output(part(PRODUCT, 1, 1 << 30), OUTPUTS, stream); }
MISTAKE(empty_rows_not_written) { return thread_per_output(empty_rows_left(PRODUCT), OUTPUTS, stream); }
MISTAKE(right_side_ignored) { return thread_per_output(squares(PRODUCT), OUTPUTS, stream); }
MISTAKE(off_by_one_column) {
    return thread_per_output(gathered(ROW, RIGHT, RESULT, WIDTH, cols, rows, 1), OUTPUTS, stream);
}
MISTAKE(off_by_one_row) {
    return thread_per_output(gathered(ROW, RIGHT, RESULT, WIDTH, cols, rows, 0, 1), OUTPUTS, stream);
}
