// Values gated by a sigmoid. Before it includes this a task defines `WORK_WITH(formula)`, a function object that puts
// formula(gate, value) for an index, COUNT, and BETA, which scales the argument of the sigmoid.

struct ByExp {
    float beta;
    __device__ float operator()(float g, float v) const { return g / (1.0f + expf(-beta * g)) * v; }
};
#define WORK WORK_WITH(ByExp{BETA})
#include "pointwise.cuh"

struct FastFunctions {
    float beta;
    __device__ float operator()(float g, float v) const { return g * __frcp_rn(1.0f + __expf(-beta * g)) * v; }
};
struct ValueFirst {
    float beta;
    __device__ float operator()(float g, float v) const { return v * (1.0f / (1.0f + expf(-beta * g))) * g; }
};
struct TwoSided {
    float beta;
    __device__ float operator()(float g, float v) const {
        const float x = beta * g, e = exp2f(-1.44269504f * fabsf(x));
        return g * ((x < 0.0f ? e : 1.0f) / (1.0f + e)) * v;
    }
};
struct Double {
    float beta;
    __device__ float operator()(float g, float v) const { return (float)(g / (1.0 + exp(-(double)beta * g)) * v); }
};
HONEST(fast_functions) { return each(WORK_WITH(FastFunctions{BETA}), COUNT, stream); }
HONEST(value_first) { return each(WORK_WITH(ValueFirst{BETA}), COUNT, stream); }
HONEST(two_sided) { return each(WORK_WITH(TwoSided{BETA}), COUNT, stream); }
HONEST(in_double) { return each(WORK_WITH(Double{BETA}), COUNT, stream); }

struct SigmoidOnly {
    float beta;
    __device__ float operator()(float g, float v) const { return v / (1.0f + expf(-beta * g)); }
};
struct Overflow {
    float beta;
    __device__ float operator()(float g, float v) const {
        const float e = expf(beta * g);
        return g * (e / (1.0f + e)) * v;
    }
};
struct Exchanged {
    float beta;
    __device__ float operator()(float g, float v) const { return ByExp{beta}(v, g); }
};
struct GateInBf16 {
    float beta;
    __device__ float operator()(float g, float v) const { return in_bf16(g / (1.0f + expf(-beta * g))) * v; }
};
struct TanhGate {
    float beta;
    __device__ float operator()(float g, float v) const { return g * v * (0.5f + 0.5f * tanhf(0.5f * beta * g)); }
};
MISTAKE(gate_not_multiplied) { return each(WORK_WITH(SigmoidOnly{BETA}), COUNT, stream); }
MISTAKE(overflow) { return each(WORK_WITH(Overflow{BETA}), COUNT, stream); }
MISTAKE(exchanged) { return each(WORK_WITH(Exchanged{BETA}), COUNT, stream); }
MISTAKE(gate_by_tanh) { return each(WORK_WITH(TanhGate{BETA}), COUNT, stream); }
MISTAKE(wrong_sign) { return each(WORK_WITH(ByExp{-BETA}), COUNT, stream); }
MISTAKE(gelu_by_sigmoid) { return each(WORK_WITH(ByExp{1.702f * BETA}), COUNT, stream); }
MISTAKE(gate_in_bf16) { return each(WORK_WITH(GateInBf16{BETA}), COUNT, stream); }
