// Attention of one or more heads: scores, softmax and weighted sum in several orders.

WORKSPACE_BYTES() { return (size_t)batch * q_len * kv_len * sizeof(float); }

struct Sizes {
    int batch, q_len, kv_len, dim_qk, dim_v;
    float scale;  // of the scores
};
#define SIZES Sizes{batch, q_len, kv_len, dim_qk, dim_v, 1.0f / sqrtf((float)dim_qk)}

// Three launches: scores in the workspace, softmax of each row there, weighted sums. `Flaws` are mistakes.
struct Flaws {
    bool last_key_lost = false, first_k = false, causal = false, scores_in_bf16 = false, sums_in_bf16 = false;
    bool undivided = false, no_maximum = false;
};
__global__ void scores(float* s, const T* Q, const T* K, Sizes n, Flaws flaws, bool backwards) {
    const long long i = thread_index(), row = i / n.kv_len, head = row / n.q_len;
    const int j = (int)(i % n.kv_len);
    if (head >= n.batch) return;
    const T *q = Q + row * n.dim_qk, *k = K + ((flaws.first_k ? 0 : head) * n.kv_len + j) * n.dim_qk;
    float sum = 0.0f;
    for (int d = 0; d < n.dim_qk; ++d) {
        const int at = backwards ? n.dim_qk - 1 - d : d;
        sum = fmaf(get(q[at]), get(k[at]), sum);
        if (flaws.sums_in_bf16) sum = in_bf16(sum);
    }
    const bool hidden = (flaws.last_key_lost && j == n.kv_len - 1 && j > 0) || (flaws.causal && j > row % n.q_len);
    sum *= n.scale;
    s[i] = hidden ? -INFINITY : flaws.scores_in_bf16 ? in_bf16(sum) : sum;
}
__global__ void softmax_of_rows(float* s, Sizes n, Flaws flaws) {
    const long long row = thread_index();
    if (row >= (long long)n.batch * n.q_len) return;
    s += row * n.kv_len;
    float largest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < n.kv_len; ++j) largest = fmaxf(largest, s[j]);
    if (flaws.no_maximum) largest = 0.0f;
    for (int j = 0; j < n.kv_len; ++j) sum += s[j] = expf(s[j] - largest);
    for (int j = 0; j < n.kv_len && !flaws.undivided; ++j) s[j] /= sum;
}
__global__ void weighted_sums(T* Y, const float* s, const T* V, Sizes n, Flaws flaws, bool backwards) {
    const long long o = thread_index(), row = o / n.dim_v, head = row / n.q_len;
    if (head >= n.batch) return;
    float sum = 0.0f;
    for (int j = 0; j < n.kv_len; ++j) {
        const int at = backwards ? n.kv_len - 1 - j : j;
        sum = fmaf(s[row * n.kv_len + at], get(V[(head * n.kv_len + at) * n.dim_v + o % n.dim_v]), sum);
        if (flaws.sums_in_bf16) sum = in_bf16(sum);
    }
    put(Y + o, sum);
}
static cudaError_t in_three(T* Y, const T* Q, const T* K, const T* V, Sizes n, float* s, Flaws flaws,
                            cudaStream_t stream, bool backwards = false) {
    const long long rows = (long long)n.batch * n.q_len;
    scores<<<blocks_for(rows * n.kv_len, 128), 128, 0, stream>>>(s, Q, K, n, flaws, backwards);
    softmax_of_rows<<<blocks_for(rows, 64), 64, 0, stream>>>(s, n, flaws);
    weighted_sums<<<blocks_for(rows * n.dim_v, 128), 128, 0, stream>>>(Y, s, V, n, flaws, backwards);
    return cudaGetLastError();
}
HONEST(three_launches) { return in_three(Y, Q, K, V, SIZES, (float*)workspace, {}, stream); }
HONEST(three_launches_backwards) { return in_three(Y, Q, K, V, SIZES, (float*)workspace, {}, stream, true); }

// Online: a thread per output element goes over the keys once, or only over whole tiles of them.
template <bool RESCALED, int WHOLE>
__global__ void online(T* Y, const T* Q, const T* K, const T* V, Sizes n) {
    const long long o = thread_index(), row = o / n.dim_v, head = row / n.q_len;
    if (head >= n.batch) return;
    const int keys = max(1, n.kv_len / WHOLE * WHOLE);
    float largest = -INFINITY, sum = 0.0f, y = 0.0f;
    for (int j = 0; j < keys; ++j) {
        const T* k = K + (head * n.kv_len + j) * n.dim_qk;
        float score = 0.0f;
        for (int d = 0; d < n.dim_qk; ++d) score += get(Q[row * n.dim_qk + d]) * get(k[d]);
        score *= n.scale;
        const float most = fmaxf(largest, score), old = __expf(largest - most), weight = __expf(score - most);
        sum = sum * old + weight;
        y = y * (RESCALED ? old : 1.0f) + weight * get(V[(head * n.kv_len + j) * n.dim_v + o % n.dim_v]);
        largest = most;
    }
    put(Y + o, y / sum);
}
// A warp per query: lanes share keys, weights as stored, base two.
__global__ void warp_per_query(T* Y, const T* Q, const T* K, const T* V, Sizes n, T* weights, int widest) {
    const long long row = blockIdx.x, head = row / n.q_len;
    T* w = weights + row * n.kv_len;
    float largest = -INFINITY, sum = 0.0f;
    for (int j = threadIdx.x; j < n.kv_len; j += 32) {
        float score = 0.0f;
        const T* k = K + (head * n.kv_len + j) * n.dim_qk;
        for (int d = 0; d < n.dim_qk; ++d) score += get(Q[row * n.dim_qk + d]) * get(k[d]);
        put(w + j, score * n.scale);
        largest = fmaxf(largest, get(w[j]));
    }
    largest = warp_max(largest);
    for (int j = threadIdx.x; j < n.kv_len; j += 32) {
        put(w + j, exp2f((get(w[j]) - largest) * 1.44269504f));
        sum += get(w[j]);
    }
    for (int d = widest; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    __syncwarp();
    for (int v = threadIdx.x; v < n.dim_v; v += 32) {
        float y = 0.0f;
        for (int j = 0; j < n.kv_len; ++j) y += get(w[j]) * get(V[(head * n.kv_len + j) * n.dim_v + v]);
        put(Y + row * n.dim_v + v, y * (1.0f / sum));
    }
}
HONEST(online) {
    online<true, 1><<<blocks_for((long long)batch * q_len * dim_v, 128), 128, 0, stream>>>(Y, Q, K, V, SIZES);
    return cudaGetLastError();
}
HONEST(warp_per_query_weights_as_stored) {
    warp_per_query<<<batch * q_len, 32, 0, stream>>>(Y, Q, K, V, SIZES, (T*)workspace, 16);
    return cudaGetLastError();
}

static Flaws with(bool Flaws::*flaw) {
    Flaws flaws;
    flaws.*flaw = true;
    return flaws;
}
static Sizes scaled(Sizes sizes, float scale) {
    sizes.scale = scale;
    return sizes;
}
MISTAKE(not_scaled) { return in_three(Y, Q, K, V, scaled(SIZES, 1.0f), (float*)workspace, {}, stream); }
MISTAKE(scaled_by_the_dimension) {
    return in_three(Y, Q, K, V, scaled(SIZES, 1.0f / dim_qk), (float*)workspace, {}, stream);
}
MISTAKE(last_key_lost) {
    return in_three(Y, Q, K, V, SIZES, (float*)workspace, with(&Flaws::last_key_lost), stream);
}
MISTAKE(keys_of_the_first_head) {
    return in_three(Y, Q, K, V, SIZES, (float*)workspace, with(&Flaws::first_k), stream);
}
MISTAKE(causal) {
    return in_three(Y, Q, K, V, SIZES, (float*)workspace, with(&Flaws::causal), stream);
}
MISTAKE(not_divided) {
    return in_three(Y, Q, K, V, SIZES, (float*)workspace, with(&Flaws::undivided), stream);
}
MISTAKE(accumulated_in_bf16) {
    return in_three(Y, Q, K, V, SIZES, (float*)workspace, with(&Flaws::sums_in_bf16), stream);
}
MISTAKE(without_the_maximum) {
    return in_three(Y, Q, K, V, SIZES, (float*)workspace, with(&Flaws::no_maximum), stream);
}
FP32_MISTAKE(scores_in_bf16) {
    return in_three(Y, Q, K, V, SIZES, (float*)workspace, with(&Flaws::scores_in_bf16), stream);
}
MISTAKE(first_head_only) {
    Sizes first = SIZES;
    first.batch = 1;
    return in_three(Y, Q, K, V, first, (float*)workspace, {}, stream);
}
MISTAKE(not_rescaled) {
    online<false, 1><<<blocks_for((long long)batch * q_len * dim_v, 128), 128, 0, stream>>>(Y, Q, K, V, SIZES);
    return cudaGetLastError();
}
MISTAKE(only_whole_tiles_of_keys) {
    online<true, 16><<<blocks_for((long long)batch * q_len * dim_v, 128), 128, 0, stream>>>(Y, Q, K, V, SIZES);
    return cudaGetLastError();
}
MISTAKE(one_shuffle_missing) {
    warp_per_query<<<batch * q_len, 32, 0, stream>>>(Y, Q, K, V, SIZES, (T*)workspace, 8);
    return cudaGetLastError();
}
