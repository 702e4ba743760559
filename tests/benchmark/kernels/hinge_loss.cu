// Hinge losses: one rounding each, so bit for bit.

template <class F>
struct Losses {
    T* loss;
    const T* predictions;
    const int* targets;
    F formula;
    __device__ void operator()(long long i) const { formula(loss + i, get(predictions[i]), targets[i]); }
};
template <class F>
static Losses<F> losses(T* loss, const T* predictions, const int* targets, F formula) {
    return {loss, predictions, targets, formula};
}
struct Chosen {
    __device__ void operator()(T* to, float p, int t) const { put(to, fmaxf(0.0f, t == 1 ? 1.0f - p : 1.0f + p)); }
};
#define WORK losses(loss, predictions, targets, Chosen{})
#define COUNT N
#include "pointwise.cuh"

struct Multiplied {
    __device__ void operator()(T* to, float p, int t) const {
        put(to, fmaxf(1.0f - (t == 1 ? 1.0f : -1.0f) * p, 0.0f));
    }
};
struct Fused {
    __device__ void operator()(T* to, float p, int t) const {
        put(to, fmaxf(fmaf(t == 1 ? -1.0f : 1.0f, p, 1.0f), 0.0f));
    }
};
struct Branched {
    __device__ void operator()(T* to, float p, int t) const {
        const float y = 2.0f * (t == 1) - 1.0f;
        put(to, y * p >= 1.0f ? 0.0f : 1.0f - y * p);
    }
};
HONEST(multiplied) { return each(losses(loss, predictions, targets, Multiplied{}), N, stream); }
HONEST(fused) { return each(losses(loss, predictions, targets, Fused{}), N, stream); }
HONEST(branched) { return each(losses(loss, predictions, targets, Branched{}), N, stream); }

struct ZeroAndOneAssumed {
    __device__ void operator()(T* to, float p, int t) const { put(to, fmaxf(1.0f - (2.0f * t - 1.0f) * p, 0.0f)); }
};
struct TakenAsSigns { __device__ void operator()(T* to, float p, int t) const { put(to, fmaxf(1.0f - t * p, 0.0f)); } };
struct AnyPositive {
    __device__ void operator()(T* to, float p, int t) const { put(to, fmaxf(t > 0 ? 1.0f - p : 1.0f + p, 0.0f)); }
};
struct NotClamped {
    __device__ void operator()(T* to, float p, int t) const { put(to, t == 1 ? 1.0f - p : 1.0f + p); }
};
struct Squared {
    __device__ void operator()(T* to, float p, int t) const {
        const float h = fmaxf(t == 1 ? 1.0f - p : 1.0f + p, 0.0f);
        put(to, h * h);
    }
};
struct BitsCutOff {
    __device__ void operator()(T* to, float p, int t) const { put_cut(to, fmax(t == 1 ? 1.0 - p : 1.0 + p, 0.0)); }
};
MISTAKE(zero_and_one_assumed) { return each(losses(loss, predictions, targets, ZeroAndOneAssumed{}), N, stream); }
MISTAKE(targets_taken_as_signs) { return each(losses(loss, predictions, targets, TakenAsSigns{}), N, stream); }
MISTAKE(any_positive_target) { return each(losses(loss, predictions, targets, AnyPositive{}), N, stream); }
MISTAKE(not_clamped) { return each(losses(loss, predictions, targets, NotClamped{}), N, stream); }
MISTAKE(squared) { return each(losses(loss, predictions, targets, Squared{}), N, stream); }
MISTAKE(rounded_towards_zero) { return each(losses(loss, predictions, targets, BitsCutOff{}), N, stream); }
MISTAKE(only_the_first_element) { return each(WORK, 1, stream); }
