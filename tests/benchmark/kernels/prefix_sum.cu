// Inclusive prefix sums of rows.

WORKSPACE_BYTES() { return (size_t)rows * N * sizeof(float); }

// Thread per element adds up its whole prefix, from one end or the other.
template <bool BACKWARDS>
__global__ void prefix_per_thread(T* out, const T* in, int rows, int N) {
    const long long o = thread_index();
    if (o >= (long long)rows * N) return;
    const T* row = in + o / N * N;
    const int last = (int)(o % N);
    float sum = 0.0f;
    for (int j = 0; j <= last; ++j) sum += get(row[BACKWARDS ? last - j : j]);
    put(out + o, sum);
}
template <bool BF16_SUM, bool EXCLUSIVE>
__global__ void row_per_thread(T* out, const T* in, int rows, int N, int shift) {
    const long long r = thread_index();
    if (r >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < N; ++j) {
        if (EXCLUSIVE) put(out + r * N + j, sum);
        sum += get(in[r * N + min(j + shift, N - 1)]);
        if (BF16_SUM) sum = in_bf16(sum);
        if (!EXCLUSIVE) put(out + r * N + j, sum);
    }
}

// A block per row: tiles of 128 scanned in shared memory by doubling, and the carry from tile to tile. What is wrong:
// no carry, the carry of the tile before, a scan that ends too soon.
template <bool CARRY, bool LATE>
__global__ void tile_after_tile(T* out, const T* in, int N, int furthest) {
    __shared__ float s[128];
    const int t = threadIdx.x;
    float carry = 0.0f, next = 0.0f;
    for (int start = 0; start < N; start += 128) {
        s[t] = start + t < N ? get(in[blockIdx.x * (long long)N + start + t]) : 0.0f;
        __syncthreads();
        for (int d = 1; d <= furthest; d *= 2) {
            const float before = t >= d ? s[t - d] : 0.0f;
            __syncthreads();
            s[t] += before;
            __syncthreads();
        }
        if (start + t < N) put(out + blockIdx.x * (long long)N + start + t, CARRY ? carry + s[t] : s[t]);
        if (LATE) carry = next;
        next = carry + s[127];
        if (!LATE) carry = next;
        __syncthreads();
    }
}
// A warp per row: lanes scan by shuffles.
__global__ void warp_per_row(T* out, const T* in, int N) {
    float carry = 0.0f;
    for (int start = 0; start < N; start += 32) {
        const int j = start + threadIdx.x;
        float sum = j < N ? get(in[blockIdx.x * (long long)N + j]) : 0.0f;
        for (int d = 1; d < 32; d *= 2) {
            const float before = __shfl_up_sync(0xffffffffu, sum, d);
            if (threadIdx.x >= d) sum += before;
        }
        if (j < N) put(out + blockIdx.x * (long long)N + j, carry + sum);
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
}
// Three launches: stretches of 50 scanned by a thread each into the workspace, their sums, both added.
__global__ void scan_stretches(float* partial, const T* in, int rows, int N) {
    const int stretches = (N + 49) / 50;
    const long long s = thread_index(), r = s / stretches, start = s % stretches * 50;
    if (r >= rows) return;
    float sum = 0.0f;
    for (long long j = start; j < min(start + 50, (long long)N); ++j) partial[r * N + j] = sum += get(in[r * N + j]);
}
__global__ void add_stretches(T* out, const float* partial, int rows, int N) {
    const long long o = thread_index();
    if (o >= (long long)rows * N) return;
    const float* row = partial + o / N * N;
    float before = 0.0f;
    for (int end = 49; end < o % N / 50 * 50; end += 50) before += row[end];
    put(out + o, before + partial[o]);
}

HONEST(row_per_thread) {
    row_per_thread<false, false><<<blocks_for(rows, 32), 32, 0, stream>>>(out, in, rows, N, 0);
    return cudaGetLastError();
}
HONEST(prefix_per_thread_backwards) {
    prefix_per_thread<true><<<blocks_for((long long)rows * N, 128), 128, 0, stream>>>(out, in, rows, N);
    return cudaGetLastError();
}
HONEST(tile_after_tile) {
    tile_after_tile<true, false><<<rows, 128, 0, stream>>>(out, in, N, 64);
    return cudaGetLastError();
}
HONEST(warp_per_row) {
    warp_per_row<<<rows, 32, 0, stream>>>(out, in, N);
    return cudaGetLastError();
}
HONEST(stretches) {
    const long long stretches = (long long)rows * ((N + 49) / 50);
    scan_stretches<<<blocks_for(stretches, 64), 64, 0, stream>>>((float*)workspace, in, rows, N);
    add_stretches<<<blocks_for((long long)rows * N, 128), 128, 0, stream>>>(out, (float*)workspace, rows, N);
    return cudaGetLastError();
}

MISTAKE(exclusive) {
    row_per_thread<false, true><<<blocks_for(rows, 32), 32, 0, stream>>>(out, in, rows, N, 0);
    return cudaGetLastError();
}
MISTAKE(sums_in_bf16) {
    row_per_thread<true, false><<<blocks_for(rows, 32), 32, 0, stream>>>(out, in, rows, N, 0);
    return cudaGetLastError();
}
MISTAKE(one_further) {
    row_per_thread<false, false><<<blocks_for(rows, 32), 32, 0, stream>>>(out, in, rows, N, 1);
    return cudaGetLastError();
}
MISTAKE(rows_joined) {
    row_per_thread<false, false><<<1, 1, 0, stream>>>(out, in, 1, rows * N, 0);
    return cudaGetLastError();
}
MISTAKE(first_row_only) {
    row_per_thread<false, false><<<1, 1, 0, stream>>>(out, in, 1, N, 0);
    return cudaGetLastError();
}
MISTAKE(tiles_not_joined) {
    tile_after_tile<false, false><<<rows, 128, 0, stream>>>(out, in, N, 64);
    return cudaGetLastError();
}
MISTAKE(carry_one_tile_late) {
    tile_after_tile<true, true><<<rows, 128, 0, stream>>>(out, in, N, 64);
    return cudaGetLastError();
}
MISTAKE(one_doubling_missing) {
    tile_after_tile<true, false><<<rows, 128, 0, stream>>>(out, in, N, 32);
    return cudaGetLastError();
}
MISTAKE(rows_beyond_fours_dropped) {
    if (rows < 4) return cudaSuccess;
    row_per_thread<false, false><<<1, 32, 0, stream>>>(out, in, rows / 4 * 4, N, 0);
    return cudaGetLastError();
}
