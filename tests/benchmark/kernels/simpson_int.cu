// Integrals by Simpson's rule, the last three intervals by the 3/8 rule if the number of points is even. Weights are in
// units of a 24th of an interval, so that all are whole.

// Which rule has the points before `simpson`, and what the last three intervals weigh.
struct Rule {
    int simpson;         // points of Simpson's rule; an odd number, or 1 for none
    float ends, middle;  // weights of the four points of the last rule; 0 for none
    __host__ __device__ float weight(long long i, int N) const {
        float w = 0.0f;
        if (simpson > 1 && i < simpson) w = i == 0 || i == simpson - 1 ? 8.0f : i % 2 ? 32.0f : 16.0f;
        if (i >= N - 4) w += i == N - 4 || i == N - 1 ? ends : middle;
        return w;
    }
};
static Rule rule_for(int N) { return N % 2 ? Rule{N, 0.0f, 0.0f} : Rule{N - 3, 9.0f, 27.0f}; }
struct Weighted {
    const T* y;
    int N;
    Rule rule;
    __device__ float operator()(long long i) const { return rule.weight(i, N) * get(y[i]); }
};
#define TERM Weighted{y_samples, N, rule_for(N)}
#define COUNT N
#define FINISH Times{(b - a) / (24.0f * (N - 1))}
#define RESULT result
#include "sum.cuh"

// A term per pair of intervals, and one more for the last three if N is even.
struct PerPair {
    const T* y;
    int N, pairs;
    __device__ float operator()(long long p) const {
        const T* f = y + 2 * p;
        if (p < pairs) return 8.0f * (get(f[0]) + 4.0f * get(f[1]) + get(f[2]));
        return 9.0f * (get(y[N - 4]) + 3.0f * get(y[N - 3]) + 3.0f * get(y[N - 2]) + get(y[N - 1]));
    }
};
static PerPair per_pair(const T* y, int N) { return {y, N, N % 2 ? (N - 1) / 2 : (N - 4) / 2}; }
HONEST(per_pair_of_intervals) { return split(per_pair(y_samples, N), (N - 1) / 2, FINISH, result, stream); }
struct Thirds {
    const T* y;
    int N, simpson;
    __device__ float operator()(long long i) const {
        float w = 0.0f;
        if (simpson > 1 && i < simpson) w = i == 0 || i == simpson - 1 ? 1.0f / 3 : i % 2 ? 4.0f / 3 : 2.0f / 3;
        if (simpson < N && i >= N - 4) w += i == N - 4 || i == N - 1 ? 0.375f : 1.125f;
        return w * get(y[i]);
    }
};
HONEST(weights_in_thirds) {
    return split(Thirds{y_samples, N, N % 2 ? N : N - 3}, N, Times{(b - a) / (N - 1)}, result, stream);
}
HONEST(factor_last) { return split(TERM, N, Times{(b - a) / (N - 1) / 24.0f}, result, stream); }

// The last interval of an even number of points left out, or by a trapezoid; all by trapezoids.
struct Trapezoids {
    const T* y;
    int N;
    __device__ float operator()(long long i) const { return (i == 0 || i == N - 1 ? 12.0f : 24.0f) * get(y[i]); }
};
struct LastByTrapezoid {
    const T* y;
    int N;
    __device__ float operator()(long long i) const {
        const Rule rule = {N % 2 ? N : N - 1, 0.0f, 0.0f};
        return (rule.weight(i, N) + (N % 2 == 0 && i >= N - 2 ? 12.0f : 0.0f)) * get(y[i]);
    }
};
struct Exchanged {
    const T* y;
    int N;
    Rule rule;
    __device__ float operator()(long long i) const {
        const float w = rule.weight(i, N);
        return (w == 32.0f ? 16.0f : w == 16.0f ? 32.0f : w) * get(y[i]);
    }
};
MISTAKE(last_interval_dropped) {
    return split(Weighted{y_samples, N, {N % 2 ? N : N - 1, 0.0f, 0.0f}}, N, FINISH, result, stream);
}
MISTAKE(last_rule_dropped) { return split(per_pair(y_samples, N), N % 2 ? N / 2 : N / 2 - 2, FINISH, result, stream); }
MISTAKE(last_interval_by_a_trapezoid) { return split(LastByTrapezoid{y_samples, N}, N, FINISH, result, stream); }
MISTAKE(trapezoids) { return split(Trapezoids{y_samples, N}, N, FINISH, result, stream); }
MISTAKE(weights_exchanged) { return split(Exchanged{y_samples, N, rule_for(N)}, N, FINISH, result, stream); }
MISTAKE(as_many_intervals_as_points) { return split(TERM, N, Times{(b - a) / (24.0f * N)}, result, stream); }
