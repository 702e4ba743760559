// Work on each index by itself, in several orders. A task defines before it includes this
//   WORK    a function object that does the work of one index, given as long long
//   COUNT   how many indices there are
// and has more formulas and mistakes of its own by `each(work, count, stream)`.

WORKSPACE_BYTES() { return 0; }

template <class F>
__global__ void index_per_thread(F work, long long count) {
    const long long i = thread_index();
    if (i < count) work(i);
}
template <class F>
static cudaError_t each(F work, long long count, cudaStream_t stream) {
    if (count > 0) index_per_thread<<<blocks_for(count, 256), 256, 0, stream>>>(work, count);
    return cudaGetLastError();
}

template <class F>
__global__ void indices_in_strides(F work, long long count, bool backwards) {
    for (long long i = thread_index(); i < count; i += thread_count()) work(backwards ? count - 1 - i : i);
}
template <class F>
__global__ void four_indices_per_thread(F work, long long count) {
    const long long first = 4 * thread_index();
    for (int k = 0; k < 4; ++k) {
        if (first + k < count) work(first + k);
    }
}

HONEST(index_per_thread) { return each(WORK, COUNT, stream); }
HONEST(grid_stride) {
    indices_in_strides<<<3, 64, 0, stream>>>(WORK, COUNT, false);
    return cudaGetLastError();
}
HONEST(backwards) {
    indices_in_strides<<<7, 96, 0, stream>>>(WORK, COUNT, true);
    return cudaGetLastError();
}
HONEST(four_per_thread) {
    const long long count = COUNT;
    four_indices_per_thread<<<blocks_for((count + 3) / 4, 128), 128, 0, stream>>>(WORK, count);
    return cudaGetLastError();
}

MISTAKE(tail_of_four_dropped) { return each(WORK, (long long)(COUNT) / 4 * 4, stream); }
MISTAKE(last_dropped) { return each(WORK, (long long)(COUNT)-1, stream); }
MISTAKE(first_thousand_only) { return each(WORK, (COUNT) < 1024 ? (COUNT) : 1024, stream); }
MISTAKE(only_whole_blocks) { return each(WORK, (long long)(COUNT) / 256 * 256, stream); }
MISTAKE(only_at_the_first_call) {
    static bool called = false;
    if (called) return cudaSuccess;
    called = true;
    return each(WORK, COUNT, stream);
}
