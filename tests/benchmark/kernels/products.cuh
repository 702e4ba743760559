// Sums of products, one for each output, in several orders. A task defines before it includes this
//   PRODUCT   an object with terms(o), left(o, k), right(o, k) and put_sum(o, sum) of an output o and a term k
//   OUTPUTS   how many outputs there are
// and has more objects, which make mistakes, by `thread_per_output(product, outputs, stream)`.

WORKSPACE_BYTES() { return (size_t)(OUTPUTS) * sizeof(float); }

// Thread per output. `skipped` terms at the end are left out, and with `WHOLE` those beyond a multiple of that.
template <int WHOLE, class P>
__global__ void one_thread_each(P p, long long outputs, int skipped) {
    const long long o = thread_index();
    if (o >= outputs) return;
    const int terms = max(0, (int)(p.terms(o) / WHOLE * WHOLE) - skipped);
    float sum = 0.0f;
    for (int k = 0; k < terms; ++k) sum = fmaf(get(p.left(o, k)), get(p.right(o, k)), sum);
    p.put_sum(o, sum);
}
template <int WHOLE = 1, class P>
static cudaError_t thread_per_output(P p, long long outputs, cudaStream_t stream, int skipped = 0) {
    if (outputs > 0) one_thread_each<WHOLE><<<blocks_for(outputs, 128), 128, 0, stream>>>(p, outputs, skipped);
    return cudaGetLastError();
}

template <class P>
__global__ void two_sums_each(P p, long long outputs) {
    const long long o = thread_index();
    if (o >= outputs) return;
    float even = 0.0f, odd = 0.0f;
    for (int k = (int)p.terms(o) - 1; k >= 0; --k) {
        (k % 2 ? odd : even) += __fmul_rn(get(p.left(o, k)), get(p.right(o, k)));
    }
    p.put_sum(o, even + odd);
}
template <class P>
__global__ void groups_of_sixteen(P p, long long outputs) {
    const long long o = thread_index();
    if (o >= outputs) return;
    const int terms = (int)p.terms(o);
    float sum = 0.0f;
    for (int start = 0; start < terms; start += 16) {
        float group = 0.0f;
        for (int k = start; k < min(start + 16, terms); ++k) group = fmaf(get(p.left(o, k)), get(p.right(o, k)), group);
        sum += group;
    }
    p.put_sum(o, sum);
}
template <class P>
__global__ void warp_each(P p, long long outputs, int widest) {
    const long long o = blockIdx.x;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < p.terms(o); k += 32) sum += get(p.left(o, k)) * get(p.right(o, k));
    for (int d = widest; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) p.put_sum(o, sum);
}
template <class P>
__global__ void slices(P p, long long outputs, float* sums) {
    const long long o = thread_index();
    if (o >= outputs) return;
    float sum = 0.0f;
    for (int k = blockIdx.y; k < p.terms(o); k += gridDim.y) sum += get(p.left(o, k)) * get(p.right(o, k));
    atomicAdd(sums + o, sum);
}
template <class P>
__global__ void round_sums(P p, long long outputs, const float* sums) {
    const long long o = thread_index();
    if (o < outputs) p.put_sum(o, sums[o]);
}
template <class P>
static cudaError_t in_slices(P p, long long outputs, float* sums, cudaStream_t stream) {
    slices<<<dim3(blocks_for(outputs, 128), 7), 128, 0, stream>>>(p, outputs, sums);
    round_sums<<<blocks_for(outputs, 128), 128, 0, stream>>>(p, outputs, sums);
    return cudaGetLastError();
}

HONEST(sequential) { return thread_per_output(PRODUCT, OUTPUTS, stream); }
HONEST(two_sums_backwards) {
    two_sums_each<<<blocks_for(OUTPUTS, 128), 128, 0, stream>>>(PRODUCT, OUTPUTS);
    return cudaGetLastError();
}
HONEST(groups_of_sixteen) {
    groups_of_sixteen<<<blocks_for(OUTPUTS, 128), 128, 0, stream>>>(PRODUCT, OUTPUTS);
    return cudaGetLastError();
}
HONEST(split_over_lanes) {
    warp_each<<<OUTPUTS, 32, 0, stream>>>(PRODUCT, OUTPUTS, 16);
    return cudaGetLastError();
}
HONEST(atomics_of_slices) {
    cudaMemsetAsync(workspace, 0, (size_t)(OUTPUTS) * sizeof(float), stream);
    return in_slices(PRODUCT, OUTPUTS, (float*)workspace, stream);
}

template <bool COARSE, bool BF16_SUM, class P>
__global__ void faulty(P p, long long outputs) {
    const long long o = thread_index();
    if (o >= outputs) return;
    float sum = 0.0f;
    for (int k = 0; k < p.terms(o); ++k) {
        const T a = p.left(o, k), b = p.right(o, k);
        sum += COARSE ? coarse(a) * coarse(b) : get(a) * get(b);
        if (BF16_SUM) sum = in_bf16(sum);
    }
    p.put_sum(o, sum);
}
MISTAKE(last_term_dropped) { return thread_per_output(PRODUCT, OUTPUTS, stream, 1); }
MISTAKE(terms_beyond_fours_dropped) { return thread_per_output<4>(PRODUCT, OUTPUTS, stream); }
MISTAKE(terms_beyond_sixteens_dropped) { return thread_per_output<16>(PRODUCT, OUTPUTS, stream); }
MISTAKE(outputs_beyond_fours_dropped) { return thread_per_output(PRODUCT, (long long)(OUTPUTS) / 4 * 4, stream); }
MISTAKE(one_shuffle_missing) {
    warp_each<<<OUTPUTS, 32, 0, stream>>>(PRODUCT, OUTPUTS, 8);
    return cudaGetLastError();
}
MISTAKE(sums_not_cleared) { return in_slices(PRODUCT, OUTPUTS, (float*)workspace, stream); }
MISTAKE(factors_cut_short) {
    faulty<true, false><<<blocks_for(OUTPUTS, 128), 128, 0, stream>>>(PRODUCT, OUTPUTS);
    return cudaGetLastError();
}
MISTAKE(accumulated_in_bf16) {
    faulty<false, true><<<blocks_for(OUTPUTS, 128), 128, 0, stream>>>(PRODUCT, OUTPUTS);
    return cudaGetLastError();
}
