// Leaky ReLUs.

struct Compared {
    float alpha;
    __device__ float operator()(float x) const { return x < 0.0f ? alpha * x : x; }
};
#define FORMULA Compared{alpha}
#include "activation.cuh"

struct OtherWay {
    float alpha;
    __device__ float operator()(float x) const { return x > 0.0f ? x : alpha * x; }
};
struct SlopeChosen {
    float alpha;
    __device__ float operator()(float x) const { return x * (x < 0.0f ? alpha : 1.0f); }
};
struct Double {
    float alpha;
    __device__ float operator()(float x) const { return (float)(x < 0.0f ? (double)alpha * x : x); }
};
HONEST(compared_the_other_way) { return apply(OtherWay{alpha}, out, in, N, stream); }
HONEST(slope_chosen) { return apply(SlopeChosen{alpha}, out, in, N, stream); }
HONEST(in_double) { return apply(Double{alpha}, out, in, N, stream); }

struct Everywhere {
    float alpha;
    __device__ float operator()(float x) const { return alpha * x; }
};
struct BothParts {
    float alpha;
    __device__ float operator()(float x) const { return fmaxf(x, 0.0f) + alpha * fminf(x, 0.0f); }
};
struct Added {
    float alpha;
    __device__ float operator()(float x) const { return x < 0.0f ? x + alpha : x; }
};
MISTAKE(plain_relu) { return apply(Compared{0.0f}, out, in, N, stream); }
MISTAKE(alpha_fixed) { return apply(Compared{0.01f}, out, in, N, stream); }
MISTAKE(alpha_everywhere) { return apply(Everywhere{alpha}, out, in, N, stream); }
MISTAKE(alpha_added) { return apply(Added{alpha}, out, in, N, stream); }
MISTAKE(nan_becomes_zero) { return apply(BothParts{alpha}, out, in, N, stream); }
FP32_MISTAKE(alpha_in_bf16) { return apply(Compared{host_in_bf16(alpha)}, out, in, N, stream); }
