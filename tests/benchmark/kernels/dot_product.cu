// Dot products.

struct Product {
    const T *x, *y;
    __device__ float operator()(long long i) const { return get(x[i]) * get(y[i]); }
};
#define TERM Product{x, y}
#define COUNT N
#define FINISH Itself{}
#define RESULT result
#include "sum.cuh"

struct YOneFurther {
    const T *x, *y;
    int N;
    __device__ float operator()(long long i) const { return get(x[i]) * get(y[i + 1 < N ? i + 1 : 0]); }
};
struct Cut {
    const T *x, *y;
    __device__ float operator()(long long i) const { return coarse(x[i]) * coarse(y[i]); }
};
MISTAKE(y_read_one_further) { return split(YOneFurther{x, y, N}, N, FINISH, result, stream); }
MISTAKE(squares_of_x) { return split(Product{x, x}, N, FINISH, result, stream); }
MISTAKE(factors_cut_short) { return split(Cut{x, y}, N, FINISH, result, stream); }
