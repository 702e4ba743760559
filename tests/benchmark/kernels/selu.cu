// SELUs: ways to take 1 from an exponential, and where the two constants go.

template <class Below>
struct Selu {
    float alpha, lambda;
    __device__ float operator()(float x) const { return x < 0.0f ? Below::of(x, alpha, lambda) : lambda * x; }
};
struct ByExpm1 { static __device__ float of(float x, float a, float l) { return l * (a * expm1f(x)); } };
#define FORMULA Selu<ByExpm1>{alpha, lambda}
#include "activation.cuh"

struct ByExp { static __device__ float of(float x, float a, float l) { return l * a * (expf(x) - 1.0f); } };
struct ByFastExp { static __device__ float of(float x, float a, float l) { return l * a * (__expf(x) - 1.0f); } };
struct BaseTwo {
    static __device__ float of(float x, float a, float l) { return l * (a * (exp2f(x * 1.44269504f) - 1.0f)); }
};
struct Fused { static __device__ float of(float x, float a, float l) { return fmaf(l * a, expf(x), -l * a); } };
HONEST(by_exp) { return apply(Selu<ByExp>{alpha, lambda}, out, in, N, stream); }
HONEST(by_fast_exp) { return apply(Selu<ByFastExp>{alpha, lambda}, out, in, N, stream); }
HONEST(base_two) { return apply(Selu<BaseTwo>{alpha, lambda}, out, in, N, stream); }
HONEST(fused) { return apply(Selu<Fused>{alpha, lambda}, out, in, N, stream); }

struct LambdaAboveOnly { static __device__ float of(float x, float a, float l) { return a * expm1f(x); } };
struct OneForgotten { static __device__ float of(float x, float a, float l) { return l * a * expf(x); } };
struct ExpInBf16 {
    static __device__ float of(float x, float a, float l) { return l * a * (in_bf16(expf(x)) - 1.0f); }
};
struct LambdaBelowOnly {
    float alpha, lambda;
    __device__ float operator()(float x) const { return x < 0.0f ? lambda * alpha * expm1f(x) : x; }
};
struct BothParts {
    float alpha, lambda;
    __device__ float operator()(float x) const { return lambda * (fmaxf(x, 0.0f) + alpha * expm1f(fminf(x, 0.0f))); }
};
MISTAKE(usual_constants) { return apply(Selu<ByExpm1>{1.6732632f, 1.0507010f}, out, in, N, stream); }
MISTAKE(paper_constants) { return apply(Selu<ByExpm1>{1.67f, 1.0f}, out, in, N, stream); }
MISTAKE(constants_swapped) { return apply(Selu<ByExpm1>{lambda, alpha}, out, in, N, stream); }
MISTAKE(lambda_above_zero_only) { return apply(Selu<LambdaAboveOnly>{alpha, lambda}, out, in, N, stream); }
MISTAKE(lambda_below_zero_only) { return apply(LambdaBelowOnly{alpha, lambda}, out, in, N, stream); }
MISTAKE(one_forgotten) { return apply(Selu<OneForgotten>{alpha, lambda}, out, in, N, stream); }
MISTAKE(exponential_in_bf16) { return apply(Selu<ExpInBf16>{alpha, lambda}, out, in, N, stream); }
MISTAKE(nan_becomes_zero) { return apply(BothParts{alpha, lambda}, out, in, N, stream); }
