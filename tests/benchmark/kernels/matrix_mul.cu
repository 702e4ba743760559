// Matrix products: honest orders of summation, and what goes wrong in them.

static size_t wanted_workspace(int M, int N, int K) { return (size_t)M * N * sizeof(float); }

// --- honest ----------------------------------------------------------------------------------------------------------

// Element per thread. `last` ends the sum, `wide` and `tall` the outputs; the honest kernels leave nothing out.
__global__ void element_per_thread(const T* A, const T* B, T* C, int M, int N, int K, int last, int tall, int wide) {
    const long long i = thread_index(), row = i / N, col = i % N;
    if (row >= tall || row >= M || col >= wide) return;
    float sum = 0.0f;
    for (int k = 0; k < last; ++k) sum = fmaf(get(A[row * K + k]), get(B[(long long)k * N + col]), sum);
    put(C + row * N + col, sum);
}
HONEST(sequential) {
    element_per_thread<<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K, K, M, N);
    return cudaGetLastError();
}

__global__ void two_sums(const T* A, const T* B, T* C, int M, int N, int K) {
    const long long i = thread_index(), row = i / N, col = i % N;
    if (row >= M) return;
    float even = 0.0f, odd = 0.0f;
    for (int k = K - 1; k >= 0; --k) {
        const float product = __fmul_rn(get(A[row * K + k]), get(B[(long long)k * N + col]));
        (k % 2 ? odd : even) += product;
    }
    put(C + row * N + col, even + odd);
}
HONEST(two_sums_backwards) {
    two_sums<<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}

// Tiles of 16 in shared memory. A `k_end` short of K, or a `stale` last tile, is a mistake.
__global__ void tiles(const T* A, const T* B, T* C, int M, int N, int K, int k_end, bool padded) {
    __shared__ float a[16][17], b[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < k_end; start += 16) {
        const int ka = start + threadIdx.x, kb = start + threadIdx.y;
        if (padded || ka < K) a[threadIdx.y][threadIdx.x] = row < M && ka < K ? get(A[(long long)row * K + ka]) : 0.0f;
        if (padded || kb < K) b[threadIdx.y][threadIdx.x] = kb < K && col < N ? get(B[(long long)kb * N + col]) : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) put(C + (long long)row * N + col, sum);
}
HONEST(tiled) {
    tiles<<<dim3(blocks_for(N, 16), blocks_for(M, 16)), dim3(16, 16), 0, stream>>>(A, B, C, M, N, K, K, true);
    return cudaGetLastError();
}

__global__ void element_per_warp(const T* A, const T* B, T* C, int M, int N, int K) {
    const long long row = blockIdx.x / N, col = blockIdx.x % N;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < K; k += 32) sum += get(A[row * K + k]) * get(B[(long long)k * N + col]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) put(C + row * N + col, sum);
}
HONEST(split_over_lanes) {
    element_per_warp<<<M * N, 32, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}

__global__ void slices_of_k(const T* A, const T* B, float* sums, int M, int N, int K) {
    const long long i = thread_index(), row = i / N, col = i % N;
    if (row >= M) return;
    float sum = 0.0f;
    for (int k = blockIdx.y; k < K; k += gridDim.y) sum += get(A[row * K + k]) * get(B[(long long)k * N + col]);
    atomicAdd(sums + i, sum);
}
__global__ void round_sums(const float* sums, T* C, int count) {
    const long long i = thread_index();
    if (i < count) put(C + i, sums[i]);
}
HONEST(atomics_of_slices) {
    const int blocks = blocks_for((long long)M * N, 128);
    cudaMemsetAsync(workspace, 0, (size_t)M * N * sizeof(float), stream);
    slices_of_k<<<dim3(blocks, 7), 128, 0, stream>>>(A, B, (float*)workspace, M, N, K);
    round_sums<<<blocks, 128, 0, stream>>>((const float*)workspace, C, M * N);
    return cudaGetLastError();
}

// --- mistakes --------------------------------------------------------------------------------------------------------

MISTAKE(last_k_dropped) {
    element_per_thread<<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K, K - 1, M, N);
    return cudaGetLastError();
}
MISTAKE(rows_beyond_sixteens_dropped) {
    element_per_thread<<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K, K, M / 16 * 16, N);
    return cudaGetLastError();
}
MISTAKE(columns_beyond_fours_dropped) {
    element_per_thread<<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K, K, M, N / 4 * 4);
    return cudaGetLastError();
}
MISTAKE(last_tile_of_k_dropped) {
    const dim3 blocks(blocks_for(N, 16), blocks_for(M, 16));
    tiles<<<blocks, dim3(16, 16), 0, stream>>>(A, B, C, M, N, K, K / 16 * 16, true);
    return cudaGetLastError();
}
MISTAKE(last_tile_not_cleared) {
    const dim3 blocks(blocks_for(N, 16), blocks_for(M, 16));
    tiles<<<blocks, dim3(16, 16), 0, stream>>>(A, B, C, M, N, K, K, false);
    return cudaGetLastError();
}
MISTAKE(sums_not_cleared) {
    const int blocks = blocks_for((long long)M * N, 128);
    slices_of_k<<<dim3(blocks, 7), 128, 0, stream>>>(A, B, (float*)workspace, M, N, K);
    round_sums<<<blocks, 128, 0, stream>>>((const float*)workspace, C, M * N);
    return cudaGetLastError();
}

// Fewer significant bits than the storage type has: 11 of float (as TF32), 5 of bf16.
__device__ inline float coarse(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); }
__device__ inline float coarse(__nv_bfloat16 x) { return __uint_as_float(__float_as_uint(get(x)) & 0xfff80000u); }

template <bool COARSE, bool BF16_SUM, bool TRANSPOSED>
__global__ void faulty_element(const T* A, const T* B, T* C, int M, int N, int K) {
    const long long i = thread_index(), row = i / N, col = i % N;
    if (row >= M) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const T a = A[row * K + k], b = B[TRANSPOSED ? col * K + k : (long long)k * N + col];
        sum += COARSE ? coarse(a) * coarse(b) : get(a) * get(b);
        if (BF16_SUM) sum = in_bf16(sum);
    }
    put(C + i, sum);
}
MISTAKE(factors_cut_short) {
    faulty_element<true, false, false><<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
MISTAKE(accumulated_in_bf16) {
    faulty_element<false, true, false><<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
MISTAKE(b_read_as_transposed) {
    faulty_element<false, false, true><<<blocks_for((long long)M * N, 128), 128, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
