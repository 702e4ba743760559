// Logistic functions: one exponential and one division, in several forms.

struct Plain { __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); } };
#define FORMULA Plain{}
#include "activation.cuh"

struct Fast { __device__ float operator()(float x) const { return __frcp_rn(1.0f + __expf(-x)); } };
struct TwoSided {
    __device__ float operator()(float x) const {
        const float e = expf(-fabsf(x));
        return (x < 0.0f ? e : 1.0f) / (1.0f + e);
    }
};
struct BaseTwo { __device__ float operator()(float x) const { return 1.0f / (1.0f + exp2f(x * -1.44269504f)); } };
struct Double { __device__ float operator()(float x) const { return (float)(1.0 / (1.0 + exp(-(double)x))); } };
HONEST(fast_functions) { return apply(Fast{}, out, in, N, stream); }
HONEST(two_sided) { return apply(TwoSided{}, out, in, N, stream); }
HONEST(base_two) { return apply(BaseTwo{}, out, in, N, stream); }
HONEST(in_double) { return apply(Double{}, out, in, N, stream); }

struct ByTanh { __device__ float operator()(float x) const { return 0.5f + 0.5f * tanhf(0.5f * x); } };
struct Overflow {
    __device__ float operator()(float x) const {
        const float e = expf(x);
        return e / (1.0f + e);
    }
};
struct Hard { __device__ float operator()(float x) const { return fminf(fmaxf(x / 6.0f + 0.5f, 0.0f), 1.0f); } };
struct WrongBase { __device__ float operator()(float x) const { return 1.0f / (1.0f + exp2f(-x)); } };
struct WrongSign { __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(x)); } };
struct Clamped { __device__ float operator()(float x) const { return Plain{}(fminf(fmaxf(x, -30.0f), 30.0f)); } };
struct ExpInBf16 { __device__ float operator()(float x) const { return 1.0f / (1.0f + in_bf16(expf(-x))); } };
MISTAKE(by_tanh) { return apply(ByTanh{}, out, in, N, stream); }
MISTAKE(overflow) { return apply(Overflow{}, out, in, N, stream); }
MISTAKE(hard) { return apply(Hard{}, out, in, N, stream); }
MISTAKE(wrong_base) { return apply(WrongBase{}, out, in, N, stream); }
MISTAKE(wrong_sign) { return apply(WrongSign{}, out, in, N, stream); }
MISTAKE(nan_clamped) { return apply(Clamped{}, out, in, N, stream); }
FP32_MISTAKE(exponential_in_bf16) { return apply(ExpInBf16{}, out, in, N, stream); }
