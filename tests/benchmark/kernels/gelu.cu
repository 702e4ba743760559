// GELUs: honest ways to write the function, and what goes wrong in them.

struct Erf { __device__ float operator()(float x) const { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); } };
#define FORMULA Erf{}
#include "activation.cuh"

struct ErfFirst { __device__ float operator()(float x) const { return x * (0.5f * (erff(x * 0.70710678f) + 1.0f)); } };
struct Erfc { __device__ float operator()(float x) const { return 0.5f * x * erfcf(x * -0.70710678f); } };
struct Divided { __device__ float operator()(float x) const { return x / 2.0f * (1.0f + erff(x / 1.41421356f)); } };
struct Double {
    __device__ float operator()(float x) const { return (float)(0.5 * x * (1.0 + erf(x * 0.70710678118654752))); }
};
HONEST(by_erf_first) { return apply(ErfFirst{}, out, in, N, stream); }
HONEST(by_erfc) { return apply(Erfc{}, out, in, N, stream); }
HONEST(by_division) { return apply(Divided{}, out, in, N, stream); }
HONEST(in_double) { return apply(Double{}, out, in, N, stream); }

struct Tanh {
    __device__ float operator()(float x) const {
        return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    }
};
struct Sigmoid { __device__ float operator()(float x) const { return x / (1.0f + expf(-1.702f * x)); } };
struct Relu { __device__ float operator()(float x) const { return fmaxf(x, 0.0f); } };
struct NoRoot { __device__ float operator()(float x) const { return 0.5f * x * (1.0f + erff(x)); } };
struct NoHalf { __device__ float operator()(float x) const { return x * (1.0f + erff(x * 0.70710678f)); } };
struct ErfInBf16 {
    __device__ float operator()(float x) const { return 0.5f * x * (1.0f + in_bf16(erff(x * 0.70710678f))); }
};
struct Clamped { __device__ float operator()(float x) const { return Erf{}(fminf(fmaxf(x, -10.0f), 10.0f)); } };
MISTAKE(tanh_approximation) { return apply(Tanh{}, out, in, N, stream); }
MISTAKE(sigmoid_approximation) { return apply(Sigmoid{}, out, in, N, stream); }
MISTAKE(relu_instead) { return apply(Relu{}, out, in, N, stream); }
MISTAKE(root_of_two_forgotten) { return apply(NoRoot{}, out, in, N, stream); }
MISTAKE(half_forgotten) { return apply(NoHalf{}, out, in, N, stream); }
MISTAKE(erf_in_bf16) { return apply(ErfInBf16{}, out, in, N, stream); }
MISTAKE(clamped_to_ten) { return apply(Clamped{}, out, in, N, stream); }
