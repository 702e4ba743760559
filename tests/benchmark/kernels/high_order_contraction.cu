// Contractions over x and y.

struct Product {
    const T *A, *B;
    T* C;
    long long a_dim, b_dim, c_dim, x_dim, y_dim;
    __device__ int terms(long long) const { return (int)(x_dim * y_dim); }
    __device__ T left(long long o, int k) const {
        const long long a = o / (b_dim * c_dim), b = o / c_dim % b_dim, x = k / y_dim, y = k % y_dim;
        return A[((a * x_dim + x) * b_dim + b) * y_dim + y];
    }
    __device__ T right(long long o, int k) const { return B[(k / y_dim * c_dim + o % c_dim) * y_dim + k % y_dim]; }
    __device__ void put_sum(long long o, float sum) const { put(C + o, sum); }
};
#define PRODUCT Product{A, B, C, a_dim, b_dim, c_dim, x_dim, y_dim}
#define OUTPUTS (long long)a_dim * b_dim * c_dim
#include "products.cuh"

// The terms with y outermost.
struct YOutermost : Product {
    __device__ int other(int k) const { return (int)(k % x_dim * y_dim + k / x_dim); }
    __device__ T left(long long o, int k) const { return Product::left(o, other(k)); }
    __device__ T right(long long o, int k) const { return Product::right(o, other(k)); }
};
HONEST(y_outermost) { return thread_per_output(YOutermost{PRODUCT}, OUTPUTS, stream); }

struct AAsABXY : Product {
    __device__ T left(long long o, int k) const { return A[o / c_dim * x_dim * y_dim + k]; }
};
struct BAsXYC : Product {
    __device__ T right(long long o, int k) const { return B[k * c_dim + o % c_dim]; }
};
struct CAsACB : Product {
    __device__ void put_sum(long long o, float sum) const {
        put(C + o / (b_dim * c_dim) * (b_dim * c_dim) + o % c_dim * b_dim + o / c_dim % b_dim, sum);
    }
};
struct LastXDropped : Product {
    __device__ int terms(long long) const { return (int)((x_dim - 1) * y_dim); }
};
struct FirstAOnly : Product {
    __device__ T left(long long o, int k) const { return Product::left(o % (b_dim * c_dim), k); }
};
MISTAKE(a_as_a_b_x_y) { return thread_per_output(AAsABXY{PRODUCT}, OUTPUTS, stream); }
MISTAKE(b_as_x_y_c) { return thread_per_output(BAsXYC{PRODUCT}, OUTPUTS, stream); }
MISTAKE(c_as_a_c_b) { return thread_per_output(CAsACB{PRODUCT}, OUTPUTS, stream); }
MISTAKE(last_x_dropped) { return thread_per_output(LastXDropped{PRODUCT}, OUTPUTS, stream); }
MISTAKE(first_a_for_all) { return thread_per_output(FirstAOnly{PRODUCT}, OUTPUTS, stream); }
