// Rotary embeddings: ways to get the angle, its sine and its cosine.

struct ByPow {
    static __device__ float of(int m, float p, float D, float base) { return m * powf(base, -2.0f * p / D); }
};
struct ByExp {
    static __device__ float of(int m, float p, float D, float base) { return m * expf(-2.0f * p / D * logf(base)); }
};
struct BaseTwo {
    static __device__ float of(int m, float p, float D, float base) { return m * exp2f(-2.0f * p / D * log2f(base)); }
};
struct Divided {
    static __device__ float of(int m, float p, float D, float base) { return m / powf(base, 2.0f * p / D); }
};
struct Double {
    static __device__ float of(int m, float p, float D, float base) {
        return (float)(m * pow((double)base, -2.0 * p / D));
    }
};

// A pair of elements. `positions` of a sequence; `apart` elements lie between the two; `sign` turns.
template <class Angle>
struct Rotation {
    T* out;
    const T* in;
    int positions, D;
    float base, sign;
    int first;  // position of the first row
    bool halves;
    __device__ void operator()(long long i) const {
        const int pair = (int)(i % (D / 2)), m = (int)(i / (D / 2) % positions) + first;
        const long long row = i / (D / 2) * D;
        const long long x = row + (halves ? pair : 2 * pair), y = halves ? x + D / 2 : x + 1;
        float sine, cosine;
        sincosf(sign * Angle::of(m, (float)pair, (float)D, base), &sine, &cosine);
        const float a = get(in[x]), b = get(in[y]);
        put(out + x, a * cosine - b * sine);
        put(out + y, a * sine + b * cosine);
    }
};
template <class Angle>
static Rotation<Angle> rotation(T* out, const T* in, int positions, int D, float base, float sign = 1.0f, int first = 0,
                                bool halves = false) {
    return {out, in, positions, D, base, sign, first, halves};
}
#define WORK rotation<ByPow>(out, in, M, D, base)
#define COUNT (long long)batch * M * (D / 2)
#include "pointwise.cuh"

HONEST(power_by_exp) { return each(rotation<ByExp>(out, in, M, D, base), COUNT, stream); }
HONEST(power_by_exp2) { return each(rotation<BaseTwo>(out, in, M, D, base), COUNT, stream); }
HONEST(divided) { return each(rotation<Divided>(out, in, M, D, base), COUNT, stream); }
HONEST(angle_in_double) { return each(rotation<Double>(out, in, M, D, base), COUNT, stream); }

struct TwoForgotten {
    static __device__ float of(int m, float p, float D, float base) { return m * powf(base, -p / D); }
};
struct InBf16 {
    static __device__ float of(int m, float p, float D, float base) { return in_bf16(ByPow::of(m, p, D, base)); }
};
struct PowerInBf16 {
    static __device__ float of(int m, float p, float D, float base) { return m * in_bf16(powf(base, -2.0f * p / D)); }
};
struct OneAngle { static __device__ float of(int m, float p, float D, float base) { return (float)m; } };
MISTAKE(halves_paired) { return each(rotation<ByPow>(out, in, M, D, base, 1.0f, 0, true), COUNT, stream); }
MISTAKE(turned_the_other_way) { return each(rotation<ByPow>(out, in, M, D, base, -1.0f), COUNT, stream); }
MISTAKE(positions_from_one) { return each(rotation<ByPow>(out, in, M, D, base, 1.0f, 1), COUNT, stream); }
MISTAKE(another_base) { return each(rotation<ByPow>(out, in, M, D, 1.01f * base), COUNT, stream); }
MISTAKE(base_fixed) { return each(rotation<ByPow>(out, in, M, D, 500000.0f), COUNT, stream); }
MISTAKE(position_over_the_batch) { return each(rotation<ByPow>(out, in, batch * M, D, base), COUNT, stream); }
MISTAKE(two_forgotten) { return each(rotation<TwoForgotten>(out, in, M, D, base), COUNT, stream); }
MISTAKE(angle_in_bf16) { return each(rotation<InBf16>(out, in, M, D, base), COUNT, stream); }
MISTAKE(power_in_bf16) { return each(rotation<PowerInBf16>(out, in, M, D, base), COUNT, stream); }
MISTAKE(one_angle_for_all) { return each(rotation<OneAngle>(out, in, M, D, base), COUNT, stream); }
