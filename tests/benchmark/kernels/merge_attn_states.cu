// Merged attention states: ways to get the two weights, and what infinities do to them.

struct Weights { float a, b, lse; };

// An infinite log-sum-exp of either sign means weight 0.
__device__ inline float unseen(float lse) { return isinf(lse) ? -INFINITY : lse; }

struct ByExp {
    static __device__ Weights of(float a, float b) {
        a = unseen(a), b = unseen(b);
        const float m = fmaxf(a, b);
        if (m == -INFINITY) return {0.0f, 0.0f, m};
        const float p = expf(a - m), q = expf(b - m);
        return {p / (p + q), q / (p + q), m + logf(p + q)};
    }
};
struct Fast {
    static __device__ Weights of(float a, float b) {
        a = unseen(a), b = unseen(b);
        const float m = fmaxf(a, b);
        if (m == -INFINITY) return {0.0f, 0.0f, m};
        const float p = __expf(a - m), q = __expf(b - m), scale = __frcp_rn(p + q);
        return {p * scale, q * scale, m + __logf(p + q)};
    }
};
struct ByDifference {
    static __device__ Weights of(float a, float b) {
        a = unseen(a), b = unseen(b);
        const float m = fmaxf(a, b), d = fminf(a, b) - m;
        if (m == -INFINITY) return {0.0f, 0.0f, m};
        const float e = expf(d), more = 1.0f / (1.0f + e), less = e / (1.0f + e);
        return {a >= b ? more : less, a >= b ? less : more, m + log1pf(e)};
    }
};
struct BaseTwo {
    static __device__ Weights of(float a, float b) {
        a = unseen(a), b = unseen(b);
        const float m = fmaxf(a, b), log2e = 1.44269504f;
        if (m == -INFINITY) return {0.0f, 0.0f, m};
        const float p = exp2f((a - m) * log2e), q = exp2f((b - m) * log2e);
        return {p / (p + q), q / (p + q), m + log2f(p + q) * 0.69314718f};
    }
};
struct Double {
    static __device__ Weights of(float a, float b) {
        a = unseen(a), b = unseen(b);
        const float m = fmaxf(a, b);
        if (m == -INFINITY) return {0.0f, 0.0f, m};
        const double p = exp((double)a - m), q = exp((double)b - m);
        return {(float)(p / (p + q)), (float)(q / (p + q)), (float)(m + log(p + q))};
    }
};

// An element of V each; the first of a head also puts the log-sum-exp.
template <class How>
struct Merged {
    T *V_out, *LSE_out;
    const T *V_a, *lse_a, *V_b, *lse_b;
    int tokens, heads, size;
    bool transposed;  // log-sum-exps read as [token, head]
    __device__ void operator()(long long i) const {
        const long long token = i / ((long long)heads * size), head = i / size % heads;
        const long long at = transposed ? token * heads + head : head * tokens + token;
        const Weights w = How::of(get(lse_a[at]), get(lse_b[at]));
        put(V_out + i, w.a * get(V_a[i]) + w.b * get(V_b[i]));
        if (LSE_out && i % size == 0) put(LSE_out + head * tokens + token, w.lse);
    }
};
#define MERGED(how) Merged<how>{V_out, LSE_out, V_a, lse_a, V_b, lse_b, num_tokens, num_heads, head_size, false}
#define WORK MERGED(ByExp)
#define COUNT (long long)num_tokens * num_heads * head_size
#include "pointwise.cuh"

HONEST(fast_functions) { return each(MERGED(Fast), COUNT, stream); }
HONEST(by_the_difference) { return each(MERGED(ByDifference), COUNT, stream); }
HONEST(base_two) { return each(MERGED(BaseTwo), COUNT, stream); }
HONEST(in_double) { return each(MERGED(Double), COUNT, stream); }

struct Swapped {
    static __device__ Weights of(float a, float b) {
        const Weights w = ByExp::of(a, b);
        return {w.b, w.a, w.lse};
    }
};
struct PlainMean {
    static __device__ Weights of(float a, float b) { return {0.5f, 0.5f, ByExp::of(a, b).lse}; }
};
struct NotDivided {
    static __device__ Weights of(float a, float b) {
        const float m = fmaxf(unseen(a), unseen(b));
        if (m == -INFINITY) return {0.0f, 0.0f, m};
        return {expf(unseen(a) - m), expf(unseen(b) - m), ByExp::of(a, b).lse};
    }
};
struct NanWhereNothingIsSeen {
    static __device__ Weights of(float a, float b) {
        a = unseen(a), b = unseen(b);
        const float m = fmaxf(a, b), p = expf(a - m), q = expf(b - m);
        return {p / (p + q), q / (p + q), m + logf(p + q)};
    }
};
struct LargestFloat {
    static __device__ Weights of(float a, float b) {
        a = isinf(a) ? -3.4028235e38f : a, b = isinf(b) ? -3.4028235e38f : b;
        const float m = fmaxf(a, b), p = expf(a - m), q = expf(b - m);
        return {p / (p + q), q / (p + q), m + logf(p + q)};
    }
};
struct NoMaximum {
    static __device__ Weights of(float a, float b) {
        const float p = expf(unseen(a)), q = expf(unseen(b));
        return {p / (p + q), q / (p + q), logf(p + q)};
    }
};
struct MaximumForgotten {
    static __device__ Weights of(float a, float b) {
        Weights w = ByExp::of(a, b);
        if (w.lse != -INFINITY) w.lse -= fmaxf(unseen(a), unseen(b));
        return w;
    }
};
struct HeavierAlone {
    static __device__ Weights of(float a, float b) {
        a = unseen(a), b = unseen(b);
        return {a >= b && a > -INFINITY ? 1.0f : 0.0f, a < b ? 1.0f : 0.0f, fmaxf(a, b)};
    }
};
struct WeightsInBf16 {
    static __device__ Weights of(float a, float b) {
        const Weights w = ByExp::of(a, b);
        return {in_bf16(w.a), in_bf16(w.b), w.lse};
    }
};
MISTAKE(parts_swapped) { return each(MERGED(Swapped), COUNT, stream); }
MISTAKE(plain_mean) { return each(MERGED(PlainMean), COUNT, stream); }
MISTAKE(not_divided) { return each(MERGED(NotDivided), COUNT, stream); }
MISTAKE(nan_where_nothing_is_seen) { return each(MERGED(NanWhereNothingIsSeen), COUNT, stream); }
MISTAKE(infinities_replaced_by_the_largest_float) { return each(MERGED(LargestFloat), COUNT, stream); }
MISTAKE(no_maximum) { return each(MERGED(NoMaximum), COUNT, stream); }
MISTAKE(maximum_forgotten_in_the_logarithm) { return each(MERGED(MaximumForgotten), COUNT, stream); }
MISTAKE(heavier_part_alone) { return each(MERGED(HeavierAlone), COUNT, stream); }
FP32_MISTAKE(weights_in_bf16) { return each(MERGED(WeightsInBf16), COUNT, stream); }
MISTAKE(heads_and_tokens_exchanged) {
    Merged<ByExp> merged = MERGED(ByExp);
    merged.transposed = true;
    return each(merged, COUNT, stream);
}
