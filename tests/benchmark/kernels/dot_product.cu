// Dot products: honest orders of summation, and what goes wrong in them.

static size_t wanted_workspace(int N) { return 64 * sizeof(float); }

// --- honest ----------------------------------------------------------------------------------------------------------

__global__ void one_thread(float* result, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (int i = 0; i < N; ++i) sum = fmaf(get(x[i]), get(y[i]), sum);
    *result = sum;
}
HONEST(sequential) {
    one_thread<<<1, 1, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

__global__ void one_thread_backwards(float* result, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (int i = N - 1; i >= 0; --i) sum = __fadd_rn(__fmul_rn(get(x[i]), get(y[i])), sum);
    *result = sum;
}
HONEST(backwards) {
    one_thread_backwards<<<1, 1, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

__global__ void block_partials(float* partials, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (long long i = thread_index(); i < N; i += thread_count()) sum += get(x[i]) * get(y[i]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
__global__ void join_partials(float* result, const float* partials, int count) {
    const float sum = block_sum(threadIdx.x < count ? partials[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *result = sum;
}
HONEST(tree) {
    block_partials<<<64, 128, 0, stream>>>((float*)workspace, x, y, N);
    join_partials<<<1, 128, 0, stream>>>(result, (const float*)workspace, 64);
    return cudaGetLastError();
}

__global__ void one_warp(float* result, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) sum += get(x[i]) * get(y[i]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *result = sum;
}
HONEST(split_over_lanes) {
    one_warp<<<1, 32, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

__global__ void an_atomic_per_term(float* result, const T* x, const T* y, int N) {
    const long long i = thread_index();
    if (i < N) atomicAdd(result, get(x[i]) * get(y[i]));
}
HONEST(atomics) {
    cudaMemsetAsync(result, 0, sizeof(float), stream);
    an_atomic_per_term<<<blocks_for(N, 256), 256, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

// --- mistakes --------------------------------------------------------------------------------------------------------

MISTAKE(tail_of_four_dropped) {
    one_warp<<<1, 32, 0, stream>>>(result, x, y, N / 4 * 4);
    return cudaGetLastError();
}

MISTAKE(last_element_dropped) {
    one_warp<<<1, 32, 0, stream>>>(result, x, y, N - 1);
    return cudaGetLastError();
}

MISTAKE(one_partial_not_joined) {
    block_partials<<<64, 128, 0, stream>>>((float*)workspace, x, y, N);
    join_partials<<<1, 128, 0, stream>>>(result, (const float*)workspace, 63);
    return cudaGetLastError();
}

MISTAKE(result_not_cleared) {
    an_atomic_per_term<<<blocks_for(N, 256), 256, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

__device__ float kept;
__global__ void add_to_kept(float* result, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) sum += get(x[i]) * get(y[i]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *result = kept += sum;
}
MISTAKE(sum_kept_between_calls) {
    add_to_kept<<<1, 32, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

__global__ void half_a_warp(float* result, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) sum += get(x[i]) * get(y[i]);
    for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *result = sum;
}
MISTAKE(shuffles_start_at_eight) {
    half_a_warp<<<1, 32, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

__global__ void next_of_y(float* result, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) sum += get(x[i]) * get(y[i + 1 < N ? i + 1 : 0]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *result = sum;
}
MISTAKE(y_read_one_further) {
    next_of_y<<<1, 32, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}

__global__ void one_warp_in_bf16(float* result, const T* x, const T* y, int N) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += 32) sum = in_bf16(sum + get(x[i]) * get(y[i]));
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *result = sum;
}
MISTAKE(accumulated_in_bf16) {
    one_warp_in_bf16<<<1, 32, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}
