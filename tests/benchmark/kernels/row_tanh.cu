// Hyperbolic tangents: the library's, and by exponentials.

struct Library { __device__ float operator()(float x) const { return tanhf(x); } };
#define FORMULA Library{}
#include "activation.cuh"

struct ByExp { __device__ float operator()(float x) const { return 1.0f - 2.0f / (expf(2.0f * x) + 1.0f); } };
struct ByFastExp {
    __device__ float operator()(float x) const { return 1.0f - 2.0f * __frcp_rn(__expf(2.0f * x) + 1.0f); }
};
struct ByExpm1 {
    __device__ float operator()(float x) const {
        const float e = expm1f(-2.0f * fabsf(x));
        return copysignf(-e / (e + 2.0f), x);
    }
};
struct Double { __device__ float operator()(float x) const { return (float)tanh((double)x); } };
HONEST(by_exp) { return apply(ByExp{}, out, in, N, stream); }
HONEST(by_fast_exp) { return apply(ByFastExp{}, out, in, N, stream); }
HONEST(by_expm1) { return apply(ByExpm1{}, out, in, N, stream); }
HONEST(in_double) { return apply(Double{}, out, in, N, stream); }

struct Overflow {
    __device__ float operator()(float x) const {
        const float e = expf(2.0f * x);
        return (e - 1.0f) / (e + 1.0f);
    }
};
struct TwoForgotten { __device__ float operator()(float x) const { return 1.0f - 2.0f / (expf(x) + 1.0f); } };
struct Rational {
    __device__ float operator()(float x) const {
        return fminf(fmaxf(x * (27.0f + x * x) / (27.0f + 9.0f * x * x), -1.0f), 1.0f);
    }
};
struct Clamped { __device__ float operator()(float x) const { return tanhf(fminf(fmaxf(x, -9.0f), 9.0f)); } };
struct ClampedTooSoon {
    __device__ float operator()(float x) const { return fabsf(x) > 2.0f ? copysignf(1.0f, x) : tanhf(x); }
};
struct Coarse { __device__ float operator()(float x) const { return tanhf(x) * (1.0f + 1.0f / 4096.0f); } };
MISTAKE(overflow) { return apply(Overflow{}, out, in, N, stream); }
MISTAKE(two_forgotten) { return apply(TwoForgotten{}, out, in, N, stream); }
MISTAKE(rational_approximation) { return apply(Rational{}, out, in, N, stream); }
MISTAKE(nan_clamped) { return apply(Clamped{}, out, in, N, stream); }
MISTAKE(one_from_two_on) { return apply(ClampedTooSoon{}, out, in, N, stream); }
FP32_MISTAKE(as_coarse_as_the_instruction) { return apply(Coarse{}, out, in, N, stream); }
