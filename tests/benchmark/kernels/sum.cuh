// A sum of many terms into one float, in several orders. A task defines before it includes this
//   TERM     a function object from an index to a term
//   COUNT    how many terms there are
//   FINISH   a function object from the sum to the result
//   RESULT   where it goes
// and has more terms and mistakes of its own by `split(term, count, finish, RESULT, stream)`.

enum { BLOCKS = 64 };  // of 128 threads, each with a partial sum in the workspace
WORKSPACE_BYTES() { return BLOCKS * sizeof(float); }

struct Itself { __device__ float operator()(float sum) const { return sum; } };
struct Times {
    float factor;
    __device__ float operator()(float sum) const { return factor * sum; }
};
struct DividedBy {
    float divisor;
    __device__ float operator()(float sum) const { return sum / divisor; }
};

template <bool BACKWARDS, class F, class G>
__global__ void one_thread(F term, long long count, G finish, float* result) {
    float sum = 0.0f;
    for (long long i = 0; i < count; ++i) sum = __fadd_rn(term(BACKWARDS ? count - 1 - i : i), sum);
    *result = finish(sum);
}
// A warp, whose lanes are joined by shuffles over at most `widest` lanes.
template <bool BF16_SUM, class F, class G>
__global__ void one_warp(F term, long long count, G finish, float* result, int widest) {
    float sum = 0.0f;
    for (long long i = threadIdx.x; i < count; i += 32) {
        sum += term(i);
        if (BF16_SUM) sum = in_bf16(sum);
    }
    for (int d = widest; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *result = finish(sum);
}
template <class F, class G>
static cudaError_t split(F term, long long count, G finish, float* result, cudaStream_t stream, int widest = 16) {
    one_warp<false><<<1, 32, 0, stream>>>(term, count, finish, result, widest);
    return cudaGetLastError();
}

template <class F>
__global__ void block_partials(F term, long long count, float* partials) {
    float sum = 0.0f;
    for (long long i = thread_index(); i < count; i += thread_count()) sum += term(i);
    sum = block_sum(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
template <class G>
__global__ void join_partials(const float* partials, int count, G finish, float* result) {
    const float sum = block_sum(threadIdx.x < count ? partials[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *result = finish(sum);
}

template <class F>
__global__ void atomic_per_term(F term, long long count, float* sum) {
    const long long i = thread_index();
    if (i < count) atomicAdd(sum, term(i));
}
template <class F, class G>
static cudaError_t by_atomics(F term, long long count, G finish, float* result, float* sum, cudaStream_t stream) {
    atomic_per_term<<<blocks_for(count, 256), 256, 0, stream>>>(term, count, sum);
    join_partials<<<1, 128, 0, stream>>>(sum, 1, finish, result);
    return cudaGetLastError();
}

HONEST(sequential) {
    one_thread<false><<<1, 1, 0, stream>>>(TERM, COUNT, FINISH, RESULT);
    return cudaGetLastError();
}
HONEST(backwards) {
    one_thread<true><<<1, 1, 0, stream>>>(TERM, COUNT, FINISH, RESULT);
    return cudaGetLastError();
}
HONEST(split_over_lanes) { return split(TERM, COUNT, FINISH, RESULT, stream); }
HONEST(tree) {
    block_partials<<<BLOCKS, 128, 0, stream>>>(TERM, COUNT, (float*)workspace);
    join_partials<<<1, 128, 0, stream>>>((float*)workspace, BLOCKS, FINISH, RESULT);
    return cudaGetLastError();
}
HONEST(atomics) {
    cudaMemsetAsync(workspace, 0, sizeof(float), stream);
    return by_atomics(TERM, COUNT, FINISH, RESULT, (float*)workspace, stream);
}

MISTAKE(tail_of_four_dropped) { return split(TERM, (COUNT) / 4 * 4, FINISH, RESULT, stream); }
MISTAKE(last_dropped) { return split(TERM, (COUNT)-1, FINISH, RESULT, stream); }
MISTAKE(shuffles_start_at_eight) { return split(TERM, COUNT, FINISH, RESULT, stream, 8); }
MISTAKE(one_partial_not_joined) {
    block_partials<<<BLOCKS, 128, 0, stream>>>(TERM, COUNT, (float*)workspace);
    join_partials<<<1, 128, 0, stream>>>((float*)workspace, BLOCKS - 1, FINISH, RESULT);
    return cudaGetLastError();
}
MISTAKE(sum_not_cleared) { return by_atomics(TERM, COUNT, FINISH, RESULT, (float*)workspace, stream); }
__device__ float kept;
template <class F, class G>
__global__ void add_to_kept(F term, long long count, G finish, float* result) {
    float sum = 0.0f;
    for (long long i = threadIdx.x; i < count; i += 32) sum += term(i);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *result = finish(kept += sum);
}
MISTAKE(sum_kept_between_calls) {
    add_to_kept<<<1, 32, 0, stream>>>(TERM, COUNT, FINISH, RESULT);
    return cudaGetLastError();
}
MISTAKE(accumulated_in_bf16) {
    one_warp<true><<<1, 32, 0, stream>>>(TERM, COUNT, FINISH, RESULT, 16);
    return cudaGetLastError();
}
