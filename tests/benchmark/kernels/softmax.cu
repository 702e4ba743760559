// Softmaxes: honest ways to sum and to scale, and what goes wrong in them.

WORKSPACE_BYTES() { return (size_t)N * C * sizeof(float); }

__device__ inline float largest_of(const T* x, int C) {
    float largest = -INFINITY;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, get(x[c]));
    return largest;
}

// --- honest ----------------------------------------------------------------------------------------------------------

__global__ void thread_per_row(T* out, const T* in, int N, int C) {
    const long long row = thread_index();
    if (row >= N) return;
    const T* x = in + row * C;
    const float largest = largest_of(x, C);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += expf(get(x[c]) - largest);
    for (int c = 0; c < C; ++c) put(out + row * C + c, expf(get(x[c]) - largest) / sum);
}
HONEST(sequential) {
    thread_per_row<<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}

__global__ void thread_per_row_kept(T* out, const T* in, int N, int C) {
    const long long row = thread_index();
    if (row >= N) return;
    const T* x = in + row * C;
    T* y = out + row * C;
    const float largest = largest_of(x, C);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) {
        put(y + c, expf(get(x[c]) - largest));
        sum += get(y[c]);
    }
    for (int c = 0; c < C; ++c) put(y + c, get(y[c]) * (1.0f / sum));
}
HONEST(exponentials_kept_in_the_output) {
    thread_per_row_kept<<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}

template <int SUMMED_TO>
__global__ void warp_per_row(T* out, const T* in, int N, int C) {
    const T* x = in + (long long)blockIdx.x * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += 32) largest = fmaxf(largest, get(x[c]));
    largest = warp_max(largest);
    for (int c = threadIdx.x; c < C / SUMMED_TO * SUMMED_TO; c += 32) sum += exp2f((get(x[c]) - largest) * 1.44269504f);
    sum = warp_sum(sum);
    for (int c = threadIdx.x; c < C; c += 32) {
        put(out + (long long)blockIdx.x * C + c, exp2f((get(x[c]) - largest) * 1.44269504f) / sum);
    }
}
HONEST(split_over_lanes_base_two) {
    warp_per_row<1><<<N, 32, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}

__global__ void block_per_row(T* out, const T* in, int N, int C) {
    __shared__ float maxima[4];
    const T* x = in + (long long)blockIdx.x * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += 128) largest = fmaxf(largest, get(x[c]));
    largest = warp_max(largest);
    if (threadIdx.x % 32 == 0) maxima[threadIdx.x / 32] = largest;
    __syncthreads();
    largest = fmaxf(fmaxf(maxima[0], maxima[1]), fmaxf(maxima[2], maxima[3]));
    for (int c = threadIdx.x; c < C; c += 128) sum += __expf(get(x[c]) - largest);
    sum = block_sum(sum);
    for (int c = threadIdx.x; c < C; c += 128) {
        put(out + (long long)blockIdx.x * C + c, __fdividef(__expf(get(x[c]) - largest), sum));
    }
}
HONEST(tree_with_fast_functions) {
    block_per_row<<<N, 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}

__global__ void online_per_row(T* out, const T* in, int N, int C) {
    const long long row = thread_index();
    if (row >= N) return;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = 0; c < C; ++c) {
        const float x = get(in[row * C + c]);
        if (x > largest) {
            sum = sum * expf(largest - x) + 1.0f;
            largest = x;
        } else if (x > -INFINITY) {
            sum += expf(x - largest);
        }
    }
    for (int c = 0; c < C; ++c) put(out + row * C + c, expf(get(in[row * C + c]) - largest) / sum);
}
HONEST(online) {
    online_per_row<<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}

__global__ void atomic_sums(T* out, const T* in, int N, int C) {
    __shared__ float sum, largest;
    const T* x = in + (long long)blockIdx.x * C;
    if (threadIdx.x == 0) sum = 0.0f, largest = largest_of(x, C);
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += 128) atomicAdd(&sum, expf(get(x[c]) - largest));
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += 128) {
        put(out + (long long)blockIdx.x * C + c, expf(get(x[c]) - largest) / sum);
    }
}
HONEST(atomics) {
    atomic_sums<<<N, 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}

// --- mistakes --------------------------------------------------------------------------------------------------------

template <bool MAXIMUM, bool DIVIDED, bool BF16_SUM, int SKIPPED>
__global__ void faulty_row(T* out, const T* in, int N, int C) {
    const long long row = thread_index();
    if (row >= N) return;
    const T* x = in + row * C;
    const float largest = MAXIMUM ? largest_of(x, C) : 0.0f;
    float sum = 0.0f;
    for (int c = 0; c < C - SKIPPED; ++c) {
        sum += expf(get(x[c]) - largest);
        if (BF16_SUM) sum = in_bf16(sum);
    }
    for (int c = 0; c < C; ++c) put(out + row * C + c, expf(get(x[c]) - largest) / (DIVIDED ? sum : 1.0f));
}
MISTAKE(without_the_maximum) {
    faulty_row<false, true, false, 0><<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}
MISTAKE(not_divided) {
    faulty_row<true, false, false, 0><<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}
MISTAKE(accumulated_in_bf16) {
    faulty_row<true, true, true, 0><<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}
MISTAKE(last_column_not_summed) {
    faulty_row<true, true, false, 1><<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}
MISTAKE(only_whole_warps_summed) {
    warp_per_row<32><<<N, 32, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}
MISTAKE(one_block_of_rows) {
    thread_per_row<<<1, 1024, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}
MISTAKE(whole_matrix_as_one_row) {
    thread_per_row<<<1, 32, 0, stream>>>(out, in, 1, N * C);
    return cudaGetLastError();
}

__global__ void next_column(T* out, const T* in, int N, int C) {
    const long long row = thread_index();
    if (row >= N) return;
    const T* x = in + row * C;
    const float largest = largest_of(x, C);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += expf(get(x[c]) - largest);
    for (int c = 0; c < C; ++c) put(out + row * C + c, expf(get(x[c + 1 < C ? c + 1 : c]) - largest) / sum);
}
MISTAKE(off_by_one_column) {
    next_column<<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, C);
    return cudaGetLastError();
}
