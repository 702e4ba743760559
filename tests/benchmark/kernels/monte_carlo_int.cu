// Integrals from values at random points.

struct Sample {
    const T* y;
    __device__ float operator()(long long i) const { return get(y[i]); }
};
struct Mean {
    float length, count;
    __device__ float operator()(float sum) const { return length * sum / count; }
};
#define TERM Sample{y_samples}
#define COUNT N
#define FINISH Mean{b - a, (float)N}
#define RESULT result
#include "sum.cuh"

struct Weighted {
    const T* y;
    float weight;
    __device__ float operator()(long long i) const { return weight * get(y[i]); }
};
HONEST(every_sample_weighted) { return split(Weighted{y_samples, (b - a) / N}, N, Itself{}, result, stream); }
HONEST(one_factor) { return split(TERM, N, Times{(b - a) / N}, result, stream); }

struct InBf16 {
    float length, count;
    __device__ float operator()(float sum) const { return in_bf16(length * sum / count); }
};
MISTAKE(divided_by_one_less) { return split(TERM, N, Mean{b - a, N - 1.0f}, result, stream); }
MISTAKE(not_divided) { return split(TERM, N, Times{b - a}, result, stream); }
MISTAKE(length_forgotten) { return split(TERM, N, DividedBy{(float)N}, result, stream); }
MISTAKE(ends_exchanged) { return split(TERM, N, Mean{a - b, (float)N}, result, stream); }
MISTAKE(ends_added) { return split(TERM, N, Mean{a + b, (float)N}, result, stream); }
MISTAKE(result_in_bf16) { return split(TERM, N, InBf16{b - a, (float)N}, result, stream); }
