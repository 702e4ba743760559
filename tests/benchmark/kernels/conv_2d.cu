// Valid cross-correlations of an image with a filter.

struct Product {
    const T *input, *kernel;
    T* output;
    int in_rows, in_cols, k_rows, k_cols;
    __device__ long long at(long long o, int i, int j) const {
        const int width = in_cols - k_cols + 1;
        return (o / width + i) * in_cols + o % width + j;
    }
    __device__ int terms(long long) const { return k_rows * k_cols; }
    __device__ T left(long long o, int k) const { return input[at(o, k / k_cols, k % k_cols)]; }
    __device__ T right(long long, int k) const { return kernel[k]; }
    __device__ void put_sum(long long o, float sum) const { put(output + o, sum); }
};
#define PRODUCT Product{input, kernel, output, in_rows, in_cols, k_rows, k_cols}
#define OUTPUTS (long long)(in_rows - k_rows + 1) * (in_cols - k_cols + 1)
#include "products.cuh"

// A row of taps after the other, each with a sum of its own.
template <class P>
__global__ void sum_per_row_of_taps(P p, long long outputs) {
    const long long o = thread_index();
    if (o >= outputs) return;
    float sum = 0.0f;
    for (int i = p.k_rows - 1; i >= 0; --i) {
        float row = 0.0f;
        for (int j = 0; j < p.k_cols; ++j) row += get(p.input[p.at(o, i, j)]) * get(p.kernel[i * p.k_cols + j]);
        sum += row;
    }
    p.put_sum(o, sum);
}
HONEST(sum_per_row_of_taps) {
    sum_per_row_of_taps<<<blocks_for(OUTPUTS, 128), 128, 0, stream>>>(PRODUCT, OUTPUTS);
    return cudaGetLastError();
}

struct Turned : Product {
    __device__ T right(long long, int k) const { return kernel[k_rows * k_cols - 1 - k]; }
};
struct Transposed : Product {
    __device__ T right(long long, int k) const { return kernel[k % k_cols * k_rows + k / k_cols]; }
};
struct TakenAsSquare : Product {
    __device__ int terms(long long) const { return min(k_rows, k_cols) * k_cols; }
};
struct OneFurther : Product {
    __device__ T left(long long o, int k) const {
        return input[min(at(o, k / k_cols, k % k_cols) + 1, in_rows * in_cols - 1LL)];
    }
};
struct RowsOfTheOutput : Product {
    __device__ T left(long long o, int k) const {
        const int width = in_cols - k_cols + 1;
        return input[(o / width + k / k_cols) * width + o % width + k % k_cols];
    }
};
MISTAKE(filter_turned_round) { return thread_per_output(Turned{PRODUCT}, OUTPUTS, stream); }
MISTAKE(filter_transposed) { return thread_per_output(Transposed{PRODUCT}, OUTPUTS, stream); }
MISTAKE(filter_taken_as_square) { return thread_per_output(TakenAsSquare{PRODUCT}, OUTPUTS, stream); }
MISTAKE(one_further) { return thread_per_output(OneFurther{PRODUCT}, OUTPUTS, stream); }
MISTAKE(rows_as_long_as_the_output) { return thread_per_output(RowsOfTheOutput{PRODUCT}, OUTPUTS, stream); }
MISTAKE(last_row_lost) {
    return thread_per_output(PRODUCT, (long long)(in_rows - k_rows) * (in_cols - k_cols + 1), stream);
}
