// ReLUs that keep NaN, and those that don't.

struct Compared { __device__ float operator()(float x) const { return x < 0.0f ? 0.0f : x; } };
#define FORMULA Compared{}
#include "activation.cuh"

struct Kept { __device__ float operator()(float x) const { return x >= 0.0f || x != x ? x : 0.0f; } };
struct Maximum { __device__ float operator()(float x) const { return isnan(x) ? x : fmaxf(x, 0.0f); } };
struct BySign {
    __device__ float operator()(float x) const {
        const unsigned bits = __float_as_uint(x);
        return bits >> 31 && bits <= 0xff800000u ? 0.0f : x;
    }
};
HONEST(kept_if_not_below) { return apply(Kept{}, out, in, N, stream); }
HONEST(maximum_but_for_nan) { return apply(Maximum{}, out, in, N, stream); }
HONEST(by_the_sign_bit) { return apply(BySign{}, out, in, N, stream); }

struct BareMaximum { __device__ float operator()(float x) const { return fmaxf(x, 0.0f); } };
struct Six { __device__ float operator()(float x) const { return x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x; } };
struct Leaky { __device__ float operator()(float x) const { return x < 0.0f ? 0.01f * x : x; } };
struct Absolute { __device__ float operator()(float x) const { return fabsf(x); } };
MISTAKE(nan_becomes_zero) { return apply(BareMaximum{}, out, in, N, stream); }
MISTAKE(clamped_to_six) { return apply(Six{}, out, in, N, stream); }
MISTAKE(leaky) { return apply(Leaky{}, out, in, N, stream); }
MISTAKE(absolute) { return apply(Absolute{}, out, in, N, stream); }
