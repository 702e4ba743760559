// Mean squared errors.

struct Square {
    const T *X, *Y;
    __device__ float operator()(long long i) const {
        const float d = get(X[i]) - get(Y[i]);
        return d * d;
    }
};
#define TERM Square{X, Y}
#define COUNT N
#define FINISH DividedBy{(float)N}
#define RESULT loss
#include "sum.cuh"

HONEST(times_the_reciprocal) { return split(TERM, N, Times{1.0f / N}, loss, stream); }

struct Absolute {
    const T *X, *Y;
    __device__ float operator()(long long i) const { return fabsf(get(X[i]) - get(Y[i])); }
};
struct Expanded {
    const T *X, *Y;
    __device__ float operator()(long long i) const {
        const float x = get(X[i]), y = get(Y[i]);
        return in_bf16(x * x) - 2.0f * in_bf16(x * y) + in_bf16(y * y);
    }
};
struct Rooted {
    float n;
    __device__ float operator()(float sum) const { return sqrtf(sum / n); }
};
MISTAKE(not_divided) { return split(TERM, N, Itself{}, loss, stream); }
MISTAKE(divided_by_one_less) { return split(TERM, N, DividedBy{N - 1.0f}, loss, stream); }
MISTAKE(divided_twice) { return split(TERM, N, DividedBy{(float)N * N}, loss, stream); }
MISTAKE(root) { return split(TERM, N, Rooted{(float)N}, loss, stream); }
MISTAKE(absolute) { return split(Absolute{X, Y}, N, FINISH, loss, stream); }
MISTAKE(squares_in_bf16) { return split(Expanded{X, Y}, N, FINISH, loss, stream); }
