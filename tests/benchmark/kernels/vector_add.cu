// Sums of two vectors: one rounding each, so bit for bit.

template <class F>
struct Pairs {
    T* C;
    const T *A, *B;
    F formula;
    __device__ void operator()(long long i) const { formula(C + i, A[i], B[i]); }
};
template <class F>
static Pairs<F> pairs(T* C, const T* A, const T* B, F formula) { return {C, A, B, formula}; }
struct InFloat { __device__ void operator()(T* c, T a, T b) const { put(c, get(a) + get(b)); } };
#define WORK pairs(C, A, B, InFloat{})
#define COUNT N
#include "pointwise.cuh"

struct Fused { __device__ void operator()(T* c, T a, T b) const { put(c, fmaf(get(a), 1.0f, get(b))); } };
struct InDouble { __device__ void operator()(T* c, T a, T b) const { put(c, (float)((double)get(a) + get(b))); } };
struct MinusMinus { __device__ void operator()(T* c, T a, T b) const { put(c, get(b) - -get(a)); } };
HONEST(fused) { return each(pairs(C, A, B, Fused{}), N, stream); }
HONEST(in_double) { return each(pairs(C, A, B, InDouble{}), N, stream); }
HONEST(minus_minus) { return each(pairs(C, A, B, MinusMinus{}), N, stream); }

struct Difference { __device__ void operator()(T* c, T a, T b) const { put(c, get(a) - get(b)); } };
struct BitsCutOff { __device__ void operator()(T* c, T a, T b) const { put_cut(c, (double)get(a) + get(b)); } };
struct RoundedFirst { __device__ void operator()(T* c, T a, T b) const { put(c, in_bf16(get(a)) + in_bf16(get(b))); } };
struct NanCleaned {
    __device__ void operator()(T* c, T a, T b) const { put(c, fmaxf(get(a) + get(b), -INFINITY)); }
};
MISTAKE(difference) { return each(pairs(C, A, B, Difference{}), N, stream); }
MISTAKE(first_vector_twice) { return each(pairs(C, A, A, InFloat{}), N, stream); }
MISTAKE(rounded_towards_zero) { return each(pairs(C, A, B, BitsCutOff{}), N, stream); }
MISTAKE(nan_cleaned) { return each(pairs(C, A, B, NanCleaned{}), N, stream); }
FP32_MISTAKE(inputs_in_bf16) { return each(pairs(C, A, B, RoundedFirst{}), N, stream); }
MISTAKE(one_further) { return each(pairs(C + 1, A, B, InFloat{}), N - 1, stream); }
