// Cross entropies.

#define FLOOR 1e-8f

template <class Log>
struct Entropy {
    const T *X, *Y;
    float floor;
    __device__ float operator()(long long i) const {
        const float y = get(Y[i]);
        return y == 0.0f ? 0.0f : -y * Log::of(fmaxf(get(X[i]), floor));
    }
};
struct Natural { static __device__ float of(float x) { return logf(x); } };
#define TERM Entropy<Natural>{X, Y, FLOOR}
#define COUNT C
#define FINISH Itself{}
#define RESULT loss
#include "sum.cuh"

struct Fast { static __device__ float of(float x) { return __logf(x); } };
struct ByBaseTwo { static __device__ float of(float x) { return log2f(x) * 0.69314718f; } };
struct Double { static __device__ float of(float x) { return (float)log((double)x); } };
HONEST(fast_logarithm) { return split(Entropy<Fast>{X, Y, FLOOR}, C, FINISH, loss, stream); }
HONEST(logarithm_to_base_two) { return split(Entropy<ByBaseTwo>{X, Y, FLOOR}, C, FINISH, loss, stream); }
HONEST(logarithm_in_double) { return split(Entropy<Double>{X, Y, FLOOR}, C, FINISH, loss, stream); }

struct BaseTwo { static __device__ float of(float x) { return log2f(x); } };
struct FloorAdded { static __device__ float of(float x) { return logf(x + FLOOR); } };
MISTAKE(floor_forgotten) { return split(Entropy<Natural>{X, Y, 0.0f}, C, FINISH, loss, stream); }
MISTAKE(another_floor) { return split(Entropy<Natural>{X, Y, 1e-7f}, C, FINISH, loss, stream); }
MISTAKE(floor_added) { return split(Entropy<FloorAdded>{X, Y, 0.0f}, C, FINISH, loss, stream); }
MISTAKE(base_two) { return split(Entropy<BaseTwo>{X, Y, FLOOR}, C, FINISH, loss, stream); }
MISTAKE(exchanged) { return split(Entropy<Natural>{Y, X, FLOOR}, C, FINISH, loss, stream); }
MISTAKE(sign_turned) { return split(TERM, C, Times{-1.0f}, loss, stream); }
MISTAKE(mean) { return split(TERM, C, DividedBy{(float)C}, loss, stream); }
