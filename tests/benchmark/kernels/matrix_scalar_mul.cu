// A matrix times a number.

template <class F>
struct Scaled {
    T* B;
    const T* A;
    float s;
    F formula;
    __device__ void operator()(long long i) const { put(B + i, formula(get(A[i]), s)); }
};
template <class F>
static Scaled<F> scaled(T* B, const T* A, float s, F formula) { return {B, A, s, formula}; }
struct Plain { __device__ float operator()(float a, float s) const { return s * a; } };
#define WORK scaled(B, A, scalar, Plain{})
#define COUNT (long long)M * N
#include "pointwise.cuh"

struct Fused { __device__ float operator()(float a, float s) const { return fmaf(s, a, -0.0f); } };
struct InDouble { __device__ float operator()(float a, float s) const { return (float)((double)s * a); } };
struct Halves { __device__ float operator()(float a, float s) const { return 2.0f * (0.5f * s * a); } };
HONEST(fused) { return each(scaled(B, A, scalar, Fused{}), COUNT, stream); }
HONEST(in_double) { return each(scaled(B, A, scalar, InDouble{}), COUNT, stream); }
HONEST(by_halves) { return each(scaled(B, A, scalar, Halves{}), COUNT, stream); }

struct NotScaled { __device__ float operator()(float a, float s) const { return a; } };
struct Divided { __device__ float operator()(float a, float s) const { return a / s; } };
struct Added { __device__ float operator()(float a, float s) const { return a + s; } };
struct ScaledTwice { __device__ float operator()(float a, float s) const { return s * (s * a); } };
struct NanCleaned { __device__ float operator()(float a, float s) const { return fmaxf(s * a, -INFINITY); } };
MISTAKE(not_scaled) { return each(scaled(B, A, scalar, NotScaled{}), COUNT, stream); }
MISTAKE(divided) { return each(scaled(B, A, scalar, Divided{}), COUNT, stream); }
MISTAKE(added) { return each(scaled(B, A, scalar, Added{}), COUNT, stream); }
MISTAKE(scaled_twice) { return each(scaled(B, A, scalar, ScaledTwice{}), COUNT, stream); }
MISTAKE(nan_cleaned) { return each(scaled(B, A, scalar, NanCleaned{}), COUNT, stream); }
MISTAKE(scalar_in_bf16) { return each(scaled(B, A, host_in_bf16(scalar), Plain{}), COUNT, stream); }
