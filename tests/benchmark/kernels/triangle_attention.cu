// Causal attention with weights for each channel, in several orders. A thread per output, unless it says otherwise.

WORKSPACE_BYTES() { return 0; }

struct Heads {
    T* output;
    const T *query, *key, *value;
    const float* mask;
    int batch, heads, seq, dim;
};
#define HEADS Heads{output, query, key, value, attention_mask, batch, heads, seq, head_dim}

// Which keys a query sees, and the scale of the scores; `Right` but for mistakes.
struct Right {
    static __device__ bool seen(float mask, int i, int j) { return mask <= 0.5f && j <= i; }
    static __device__ int keys(int i, int) { return i + 1; }
    static __device__ float scale(int dim) { return 1.0f / sqrtf((float)dim); }
    static __device__ float when_nothing_is_seen() { return 0.0f; }
    static __device__ long long head_of(long long head) { return head; }
    static __device__ long long batch_of(long long batch) { return batch; }
};
template <class How>
struct Output {
    Heads h;
    long long o, head, row;
    int i, d;
    const float* mask;
    float q;
    __device__ Output(Heads h, long long o) : h(h), o(o) {
        d = (int)(o % h.dim), i = (int)(o / h.dim % h.seq), head = o / h.dim / h.seq;
        mask = h.mask + (How::batch_of(head / h.heads) * h.seq + i) * h.seq;
        q = get(h.query[o]) * How::scale(h.dim);
    }
    __device__ int keys() const { return min(How::keys(i, h.seq), h.seq); }
    __device__ bool seen(int j) const { return How::seen(mask[j], i, j); }
    __device__ long long at(int j) const { return (How::head_of(head) * h.seq + j) * h.dim + d; }
    __device__ float score(int j) const { return q * get(h.key[at(j)]); }
    __device__ float value(int j) const { return get(h.value[at(j)]); }
    __device__ void put_mean(float sum, float weights) const {
        put(h.output + o, weights > 0.0f ? sum / weights : How::when_nothing_is_seen());
    }
};
template <class How, bool MAXIMUM, bool BF16_SUM>
__global__ void three_passes(Heads h, long long outputs) {
    if (thread_index() >= outputs) return;
    const Output<How> out(h, thread_index());
    float largest = -INFINITY, weights = 0.0f, sum = 0.0f;
    for (int j = 0; j < out.keys(); ++j) if (out.seen(j)) largest = fmaxf(largest, out.score(j));
    if (!MAXIMUM) largest = 0.0f;
    for (int j = 0; j < out.keys(); ++j) if (out.seen(j)) weights += expf(out.score(j) - largest);
    for (int j = 0; j < out.keys(); ++j) {
        if (!out.seen(j)) continue;
        sum += expf(out.score(j) - largest) * out.value(j);
        if (BF16_SUM) sum = in_bf16(sum);
    }
    out.put_mean(sum, weights);
}
template <bool BACKWARDS, bool RESCALED>
__global__ void online(Heads h, long long outputs) {
    if (thread_index() >= outputs) return;
    const Output<Right> out(h, thread_index());
    float largest = -INFINITY, weights = 0.0f, sum = 0.0f;
    for (int n = 0; n < out.keys(); ++n) {
        const int j = BACKWARDS ? out.keys() - 1 - n : n;
        if (!out.seen(j)) continue;
        const float score = out.score(j), most = fmaxf(largest, score);
        const float old = __expf(largest - most), weight = __expf(score - most);
        weights = weights * old + weight;
        sum = sum * (RESCALED ? old : 1.0f) + weight * out.value(j);
        largest = most;
    }
    out.put_mean(sum, weights);
}
// A warp per output, in base two.
__global__ void split(Heads h, int widest) {
    const Output<Right> out(h, blockIdx.x);
    float largest = -INFINITY, weights = 0.0f, sum = 0.0f;
    for (int j = threadIdx.x; j < out.keys(); j += 32) if (out.seen(j)) largest = fmaxf(largest, out.score(j));
    largest = warp_max(largest);
    for (int j = threadIdx.x; j < out.keys(); j += 32) {
        if (!out.seen(j)) continue;
        const float weight = exp2f((out.score(j) - largest) * 1.44269504f);
        weights += weight;
        sum = fmaf(weight, out.value(j), sum);
    }
    for (int d = widest; d > 0; d /= 2) {
        weights += __shfl_xor_sync(0xffffffffu, weights, d);
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    }
    if (threadIdx.x == 0) out.put_mean(sum, weights);
}
static long long outputs_of(Heads h) { return (long long)h.batch * h.heads * h.seq * h.dim; }
template <class How, bool MAXIMUM = true, bool BF16_SUM = false>
static cudaError_t in_three(Heads h, cudaStream_t stream) {
    three_passes<How, MAXIMUM, BF16_SUM><<<blocks_for(outputs_of(h), 128), 128, 0, stream>>>(h, outputs_of(h));
    return cudaGetLastError();
}
template <bool BACKWARDS, bool RESCALED>
static cudaError_t in_one(Heads h, cudaStream_t stream) {
    online<BACKWARDS, RESCALED><<<blocks_for(outputs_of(h), 128), 128, 0, stream>>>(h, outputs_of(h));
    return cudaGetLastError();
}
HONEST(three_passes) { return in_three<Right>(HEADS, stream); }
HONEST(online) { return in_one<false, true>(HEADS, stream); }
HONEST(online_backwards) { return in_one<true, true>(HEADS, stream); }
HONEST(split_over_lanes) {
    split<<<outputs_of(HEADS), 32, 0, stream>>>(HEADS, 16);
    return cudaGetLastError();
}

struct MaskIgnored : Right { static __device__ bool seen(float, int i, int j) { return j <= i; } };
struct AnyMask : Right { static __device__ bool seen(float mask, int i, int j) { return mask <= 0.0f && j <= i; } };
struct HalfMasked : Right { static __device__ bool seen(float mask, int i, int j) { return mask < 0.5f && j <= i; } };
struct MaskTurned : Right { static __device__ bool seen(float mask, int i, int j) { return mask > 0.5f && j <= i; } };
struct NotCausal : Right {
    static __device__ bool seen(float mask, int, int) { return mask <= 0.5f; }
    static __device__ int keys(int, int seq) { return seq; }
};
struct ItselfLeftOut : Right {
    static __device__ bool seen(float mask, int i, int j) { return mask <= 0.5f && j < i; }
};
struct WholeFours : Right { static __device__ int keys(int i, int) { return (i + 1) / 4 * 4; } };
struct NotScaled : Right { static __device__ float scale(int) { return 1.0f; } };
struct ScaledByTheDimension : Right { static __device__ float scale(int dim) { return 1.0f / dim; } };
struct NanForNothing : Right { static __device__ float when_nothing_is_seen() { return NAN; } };
struct FirstHead : Right { static __device__ long long head_of(long long) { return 0; } };
struct FirstMask : Right { static __device__ long long batch_of(long long) { return 0; } };
MISTAKE(mask_ignored) { return in_three<MaskIgnored>(HEADS, stream); }
MISTAKE(any_mask_but_zero_counts) { return in_three<AnyMask>(HEADS, stream); }
MISTAKE(mask_of_half_counts) { return in_three<HalfMasked>(HEADS, stream); }
MISTAKE(mask_turned) { return in_three<MaskTurned>(HEADS, stream); }
MISTAKE(not_causal) { return in_three<NotCausal>(HEADS, stream); }
MISTAKE(position_itself_left_out) { return in_three<ItselfLeftOut>(HEADS, stream); }
MISTAKE(keys_beyond_fours_dropped) { return in_three<WholeFours>(HEADS, stream); }
MISTAKE(not_scaled) { return in_three<NotScaled>(HEADS, stream); }
MISTAKE(scaled_by_the_dimension) { return in_three<ScaledByTheDimension>(HEADS, stream); }
MISTAKE(nan_where_nothing_is_seen) { return in_three<NanForNothing>(HEADS, stream); }
MISTAKE(keys_of_the_first_head) { return in_three<FirstHead>(HEADS, stream); }
MISTAKE(mask_of_the_first_batch) { return in_three<FirstMask>(HEADS, stream); }
MISTAKE(accumulated_in_bf16) { return in_three<Right, true, true>(HEADS, stream); }
MISTAKE(not_rescaled) { return in_one<false, false>(HEADS, stream); }
MISTAKE(one_shuffle_missing) {
    split<<<outputs_of(HEADS), 32, 0, stream>>>(HEADS, 8);
    return cudaGetLastError();
}
