// Powers of a matrix by products in several orders. Intermediate powers lie in the workspace, in float or stored as T.

enum { FLOAT_MATRICES = 3 };
WORKSPACE_BYTES() { return (size_t)FLOAT_MATRICES * N * N * sizeof(float); }

// out = left · right, N x N; an element per thread. `dropped` terms at the end are left out.
template <bool BF16_SUM, bool CUT, class O, class L, class R>
__global__ void element_per_thread(O* out, const L* left, const R* right, int N, int dropped) {
    const long long o = thread_index(), row = o / N, col = o % N;
    if (row >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < N - dropped; ++k) {
        const float a = get(left[row * N + k]), b = get(right[k * (long long)N + col]);
        sum = CUT ? fmaf(coarse(a), coarse(b), sum) : fmaf(a, b, sum);
        if (BF16_SUM) sum = in_bf16(sum);
    }
    put(out + o, sum);
}
template <class O, class L, class R>
__global__ void element_per_warp(O* out, const L* left, const R* right, int N) {
    const long long row = blockIdx.x / N, col = blockIdx.x % N;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < N; k += 32) sum += get(left[row * N + k]) * get(right[k * (long long)N + col]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) put(out + blockIdx.x, sum);
}

struct Threads {
    int dropped = 0;
    template <class O, class L, class R>
    void operator()(O* out, const L* left, const R* right, int N, cudaStream_t stream) const {
        const int blocks = blocks_for((long long)N * N, 128);
        element_per_thread<false, false><<<blocks, 128, 0, stream>>>(out, left, right, N, dropped);
    }
};
struct Warps {
    template <class O, class L, class R>
    void operator()(O* out, const L* left, const R* right, int N, cudaStream_t stream) const {
        element_per_warp<<<N * N, 32, 0, stream>>>(out, left, right, N);
    }
};
template <bool BF16_SUM, bool CUT>
struct Faulty {
    template <class O, class L, class R>
    void operator()(O* out, const L* left, const R* right, int N, cudaStream_t stream) const {
        const int blocks = blocks_for((long long)N * N, 128);
        element_per_thread<BF16_SUM, CUT><<<blocks, 128, 0, stream>>>(out, left, right, N, 0);
    }
};

static cudaError_t copied(const T* A, T* B, int N, cudaStream_t stream) {
    return cudaMemcpyAsync(B, A, sizeof(T) * N * N, cudaMemcpyDeviceToDevice, stream);
}
// One factor after the other, from the left; the running product kept as S.
template <class S, class Multiply>
static cudaError_t chain(const T* A, T* B, int N, int P, S* workspace, Multiply multiply, cudaStream_t stream) {
    if (P == 1) return copied(A, B, N, stream);
    if (P == 2) return multiply(B, A, A, N, stream), cudaGetLastError();
    S *from = workspace, *to = workspace + (size_t)N * N;
    multiply(from, A, A, N, stream);
    for (int p = 3; p < P; ++p) {
        multiply(to, from, A, N, stream);
        S* product = to;
        to = from;
        from = product;
    }
    multiply(B, from, A, N, stream);
    return cudaGetLastError();
}
__global__ void to_float(float* out, const T* in, long long count) {
    const long long i = thread_index();
    if (i < count) out[i] = get(in[i]);
}
__global__ void to_storage(T* out, const float* in, long long count) {
    const long long i = thread_index();
    if (i < count) put(out + i, in[i]);
}
// By squares: the bits of P after the highest, one after the other.
template <class Multiply>
static cudaError_t by_squares(const T* A, T* B, int N, int P, float* workspace, Multiply multiply,
                              cudaStream_t stream) {
    const long long size = (long long)N * N;
    float *power = workspace, *other = workspace + size;
    to_float<<<blocks_for(size, 128), 128, 0, stream>>>(power, A, size);
    int bit = 1;
    while (2 * bit <= P) bit *= 2;
    for (bit /= 2; bit > 0; bit /= 2) {
        multiply(other, power, power, N, stream);
        if (P & bit) multiply(power, other, A, N, stream);
        else {
            float* square = other;
            other = power;
            power = square;
        }
    }
    to_storage<<<blocks_for(size, 128), 128, 0, stream>>>(B, power, size);
    return cudaGetLastError();
}

HONEST(chain_in_float) { return chain(A, B, N, P, (float*)workspace, Threads{}, stream); }
HONEST(chain_as_stored) { return chain(A, B, N, P, (T*)workspace, Threads{}, stream); }
HONEST(chain_split_over_lanes) { return chain(A, B, N, P, (float*)workspace, Warps{}, stream); }
HONEST(by_squares) { return by_squares(A, B, N, P, (float*)workspace, Threads{}, stream); }
HONEST(by_squares_split_over_lanes) { return by_squares(A, B, N, P, (float*)workspace, Warps{}, stream); }

__global__ void elements_to_the_power(const T* A, T* B, int N, int P) {
    const long long i = thread_index();
    if (i >= (long long)N * N) return;
    float power = 1.0f;
    for (int p = 0; p < P; ++p) power *= get(A[i]);
    put(B + i, power);
}
static int rounded_up(int P) {
    int power = 1;
    while (power < P) power *= 2;
    return power;
}
MISTAKE(a_factor_too_many) { return chain(A, B, N, P + 1, (float*)workspace, Threads{}, stream); }
MISTAKE(a_factor_too_few) { return chain(A, B, N, P > 1 ? P - 1 : 1, (float*)workspace, Threads{}, stream); }
MISTAKE(always_squared) { return chain(A, B, N, P > 2 ? P : 2, (float*)workspace, Threads{}, stream); }
MISTAKE(only_powers_of_two) { return by_squares(A, B, N, rounded_up(P), (float*)workspace, Threads{}, stream); }
MISTAKE(last_term_dropped) { return chain(A, B, N, P, (float*)workspace, Threads{1}, stream); }
MISTAKE(last_tile_dropped) { return chain(A, B, N, P, (float*)workspace, Threads{N % 16}, stream); }
MISTAKE(accumulated_in_bf16) { return chain(A, B, N, P, (float*)workspace, Faulty<true, false>{}, stream); }
FP32_MISTAKE(factors_cut_short) { return chain(A, B, N, P, (float*)workspace, Faulty<false, true>{}, stream); }
MISTAKE(elements_to_the_power) {
    elements_to_the_power<<<blocks_for((long long)N * N, 128), 128, 0, stream>>>(A, B, N, P);
    return cudaGetLastError();
}
