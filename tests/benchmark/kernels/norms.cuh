// Normalizations of groups of elements: rows, or columns. A task defines before it includes this
//   GROUPS       an object of struct Groups
//   GROUP_COUNT  how many of them there are, from the sizes alone
//   CENTRED      true if the mean is subtracted
// In every formula: (x − mean)/√(mean square of that + eps)·weight + bias.

struct Groups {
    T* out;
    const T *in, *weight, *bias;
    float eps;
    int count, length;
    long long first, step;  // from a group to the next, and from an element to the next
    bool by_group;          // one weight and bias per group, not per element
    __device__ float x(int g, int i) const { return get(in[g * first + i * step]); }
    __device__ void put_normalized(int g, int i, float mean, float scale) const {
        const int w = by_group ? g : i;
        put(out + g * first + i * step, (x(g, i) - mean) * scale * get(weight[w]) + get(bias[w]));
    }
};
WORKSPACE_BYTES() { return (size_t)(GROUP_COUNT) * 2 * sizeof(float); }

// What of a group a mistake sums or subtracts, or how it makes the scale of the sum of squares.
struct Right {
    static __device__ int summed(int length) { return length; }
    static __device__ float scale(float squares, int length, float eps) { return 1.0f / sqrtf(squares / length + eps); }
};

template <class How, bool CENTRE>
__global__ void thread_per_group(Groups g) {
    const int group = (int)thread_index();
    if (group >= g.count) return;
    const int length = How::summed(g.length);
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; CENTRE && i < length; ++i) sum += g.x(group, i);
    const float mean = sum / g.length;
    for (int i = 0; i < length; ++i) {
        const float d = g.x(group, i) - mean;
        squares += d * d;
    }
    const float scale = How::scale(squares, g.length, g.eps);
    for (int i = 0; i < g.length; ++i) g.put_normalized(group, i, mean, scale);
}
template <class How, bool CENTRE>
static cudaError_t by_threads(Groups g, cudaStream_t stream) {
    thread_per_group<How, CENTRE><<<blocks_for(g.count, 64), 64, 0, stream>>>(g);
    return cudaGetLastError();
}

template <bool CENTRE>
__global__ void warp_per_group(Groups g, int widest) {
    const int group = blockIdx.x;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; CENTRE && i < g.length; i += 32) sum += g.x(group, i);
    for (int d = widest; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    const float mean = sum / g.length;
    for (int i = threadIdx.x; i < g.length; i += 32) {
        const float d = g.x(group, i) - mean;
        squares = fmaf(d, d, squares);
    }
    for (int d = widest; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, d);
    const float scale = rsqrtf(squares / g.length + g.eps);
    for (int i = threadIdx.x; i < g.length; i += 32) g.put_normalized(group, i, mean, scale);
}
template <bool CENTRE>
__global__ void block_per_group(Groups g) {
    const int group = blockIdx.x;
    const float part = 1.0f / g.length;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; CENTRE && i < g.length; i += 128) sum += g.x(group, i);
    const float mean = CENTRE ? block_sum(sum) * part : 0.0f;
    for (int i = threadIdx.x; i < g.length; i += 128) {
        const float d = g.x(group, i) - mean;
        squares += d * d;
    }
    const float scale = rsqrtf(block_sum(squares) * part + g.eps);
    for (int i = threadIdx.x; i < g.length; i += 128) g.put_normalized(group, i, mean, scale);
}
// One pass: mean and squares of deviations together (Welford); without centre, plain squares backwards.
template <bool CENTRE>
__global__ void one_pass(Groups g) {
    const int group = (int)thread_index();
    if (group >= g.count) return;
    float mean = 0.0f, squares = 0.0f;
    for (int i = g.length - 1; i >= 0; --i) {
        const float x = g.x(group, i), d = x - mean;
        if (CENTRE) mean += d / (g.length - i);
        squares += d * (x - mean);
    }
    const float scale = 1.0f / sqrtf(squares / g.length + g.eps);
    for (int i = 0; i < g.length; ++i) g.put_normalized(group, i, mean, scale);
}
// Sums and squares by atomics in the workspace, a launch each.
__global__ void add_terms(Groups g, float* sums) {
    const long long i = thread_index();
    if (i >= (long long)g.count * g.length) return;
    atomicAdd(sums + i / g.length, g.x((int)(i / g.length), (int)(i % g.length)));
}
__global__ void add_squares(Groups g, float* squares, const float* sums, bool centre) {
    const long long i = thread_index();
    if (i >= (long long)g.count * g.length) return;
    const int group = (int)(i / g.length);
    const float d = g.x(group, (int)(i % g.length)) - (centre ? sums[group] / g.length : 0.0f);
    atomicAdd(squares + group, d * d);
}
__global__ void normalize(Groups g, const float* sums, const float* squares, bool centre) {
    const long long i = thread_index();
    if (i >= (long long)g.count * g.length) return;
    const int group = (int)(i / g.length);
    const float mean = centre ? sums[group] / g.length : 0.0f;
    g.put_normalized(group, (int)(i % g.length), mean, rsqrtf(squares[group] / g.length + g.eps));
}
static cudaError_t by_atomics(Groups g, float* sums, bool centre, cudaStream_t stream) {
    const int blocks = blocks_for((long long)g.count * g.length, 128);
    add_terms<<<blocks, 128, 0, stream>>>(g, sums);
    add_squares<<<blocks, 128, 0, stream>>>(g, sums + g.count, sums, centre);
    normalize<<<blocks, 128, 0, stream>>>(g, sums, sums + g.count, centre);
    return cudaGetLastError();
}

HONEST(sequential) { return by_threads<Right, CENTRED>(GROUPS, stream); }
HONEST(split_over_lanes) {
    warp_per_group<CENTRED><<<GROUP_COUNT, 32, 0, stream>>>(GROUPS, 16);
    return cudaGetLastError();
}
HONEST(tree) {
    block_per_group<CENTRED><<<GROUP_COUNT, 128, 0, stream>>>(GROUPS);
    return cudaGetLastError();
}
HONEST(one_pass) {
    one_pass<CENTRED><<<blocks_for(GROUP_COUNT, 64), 64, 0, stream>>>(GROUPS);
    return cudaGetLastError();
}
HONEST(atomics) {
    cudaMemsetAsync(workspace, 0, (size_t)(GROUP_COUNT) * 2 * sizeof(float), stream);
    return by_atomics(GROUPS, (float*)workspace, CENTRED, stream);
}

struct OneLess : Right {
    static __device__ float scale(float squares, int n, float eps) { return 1.0f / sqrtf(squares / (n - 1) + eps); }
};
struct NotDivided : Right {
    static __device__ float scale(float squares, int n, float eps) { return 1.0f / sqrtf(squares + eps); }
};
struct EpsOutside : Right {
    static __device__ float scale(float squares, int n, float eps) { return 1.0f / (sqrtf(squares / n) + eps); }
};
struct RootForgotten : Right {
    static __device__ float scale(float squares, int n, float eps) { return 1.0f / (squares / n + eps); }
};
struct ScaleInBf16 : Right {
    static __device__ float scale(float squares, int n, float eps) { return in_bf16(1.0f / sqrtf(squares / n + eps)); }
};
struct WholeWarps : Right { static __device__ int summed(int n) { return n / 32 * 32; } };
struct WholeFours : Right { static __device__ int summed(int n) { return n / 4 * 4; } };
struct LastLost : Right { static __device__ int summed(int n) { return n - 1; } };
MISTAKE(divided_by_one_less) { return by_threads<OneLess, CENTRED>(GROUPS, stream); }
MISTAKE(not_divided) { return by_threads<NotDivided, CENTRED>(GROUPS, stream); }
MISTAKE(eps_outside_the_root) { return by_threads<EpsOutside, CENTRED>(GROUPS, stream); }
MISTAKE(root_forgotten) { return by_threads<RootForgotten, CENTRED>(GROUPS, stream); }
MISTAKE(mean_or_not) { return by_threads<Right, !(CENTRED)>(GROUPS, stream); }
MISTAKE(only_whole_warps_summed) { return by_threads<WholeWarps, CENTRED>(GROUPS, stream); }
MISTAKE(only_whole_fours_summed) { return by_threads<WholeFours, CENTRED>(GROUPS, stream); }
MISTAKE(last_not_summed) { return by_threads<LastLost, CENTRED>(GROUPS, stream); }
FP32_MISTAKE(scale_in_bf16) { return by_threads<ScaleInBf16, CENTRED>(GROUPS, stream); }
MISTAKE(one_shuffle_missing) {
    warp_per_group<CENTRED><<<GROUP_COUNT, 32, 0, stream>>>(GROUPS, 8);
    return cudaGetLastError();
}
MISTAKE(sums_not_cleared) { return by_atomics(GROUPS, (float*)workspace, CENTRED, stream); }
MISTAKE(last_group_not_written) {
    Groups groups = GROUPS;
    --groups.count;
    return groups.count ? by_threads<Right, CENTRED>(groups, stream) : cudaSuccess;
}
MISTAKE(weight_and_bias_exchanged) {
    Groups groups = GROUPS;
    const T* scale = groups.weight;
    groups.weight = groups.bias;
    groups.bias = scale;
    return by_threads<Right, CENTRED>(groups, stream);
}
