// ELUs: ways to take 1 from an exponential.

template <class Below>
struct Elu {
    float alpha;
    __device__ float operator()(float x) const { return x < 0.0f ? Below::of(x, alpha) : x; }
};
struct ByExpm1 { static __device__ float of(float x, float alpha) { return alpha * expm1f(x); } };
#define FORMULA Elu<ByExpm1>{alpha}
#include "activation.cuh"

struct ByExp { static __device__ float of(float x, float alpha) { return alpha * (expf(x) - 1.0f); } };
struct ByFastExp { static __device__ float of(float x, float alpha) { return alpha * (__expf(x) - 1.0f); } };
struct BaseTwo { static __device__ float of(float x, float alpha) { return alpha * (exp2f(x * 1.44269504f) - 1.0f); } };
struct Fused { static __device__ float of(float x, float alpha) { return fmaf(alpha, expf(x), -alpha); } };
HONEST(by_exp) { return apply(Elu<ByExp>{alpha}, out, in, N, stream); }
HONEST(by_fast_exp) { return apply(Elu<ByFastExp>{alpha}, out, in, N, stream); }
HONEST(base_two) { return apply(Elu<BaseTwo>{alpha}, out, in, N, stream); }
HONEST(fused) { return apply(Elu<Fused>{alpha}, out, in, N, stream); }

struct OneForgotten { static __device__ float of(float x, float alpha) { return alpha * expf(x); } };
struct Cubic {
    static __device__ float of(float x, float alpha) { return alpha * (x + x * x / 2.0f + x * x * x / 6.0f); }
};
struct ExpInBf16 { static __device__ float of(float x, float alpha) { return alpha * (in_bf16(expf(x)) - 1.0f); } };
struct BothParts {
    float alpha;
    __device__ float operator()(float x) const { return fmaxf(x, 0.0f) + alpha * expm1f(fminf(x, 0.0f)); }
};
MISTAKE(alpha_forgotten) { return apply(Elu<ByExpm1>{1.0f}, out, in, N, stream); }
MISTAKE(plain_relu) { return apply(Elu<ByExpm1>{0.0f}, out, in, N, stream); }
MISTAKE(one_forgotten) { return apply(Elu<OneForgotten>{alpha}, out, in, N, stream); }
MISTAKE(cubic_series) { return apply(Elu<Cubic>{alpha}, out, in, N, stream); }
MISTAKE(exponential_in_bf16) { return apply(Elu<ExpInBf16>{alpha}, out, in, N, stream); }
MISTAKE(nan_becomes_zero) { return apply(BothParts{alpha}, out, in, N, stream); }
