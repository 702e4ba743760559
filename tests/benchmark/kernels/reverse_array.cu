// A vector from back to front.

struct Turned {
    T* out;
    const T* in;
    long long N, shift;  // of what is read, round and round: a mistake
    __device__ void operator()(long long i) const { out[i] = in[(N - 1 - i + shift) % N]; }
};
#define WORK Turned{out, in, N, 0}
#define COUNT N
#include "pointwise.cuh"

struct PairsExchanged {
    T* out;
    const T* in;
    long long N;
    __device__ void operator()(long long i) const {
        const T first = in[i], last = in[N - 1 - i];
        out[i] = last;
        out[N - 1 - i] = first;
    }
};
__global__ void tiles_turned(T* out, const T* in, int N, bool waiting) {
    __shared__ T tile[128];
    const long long i = thread_index();
    if (i < N) tile[127 - threadIdx.x] = in[i];
    if (waiting) __syncthreads();
    const long long j = N - 128 - blockIdx.x * 128LL + threadIdx.x;
    if (j >= 0) out[j] = tile[threadIdx.x];
}
HONEST(pairs_exchanged) { return each(PairsExchanged{out, in, N}, (N + 1) / 2, stream); }
HONEST(tiles_turned) {
    tiles_turned<<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, true);
    return cudaGetLastError();
}

struct OrderInFoursKept {
    T* out;
    const T* in;
    long long N;
    __device__ void operator()(long long i) const {
        out[i] = in[i / 4 * 4 + 4 > N ? N - 1 - i : (N - 4 - i / 4 * 4 + i % 4)];
    }
};
struct Copied {
    T* out;
    const T* in;
    __device__ void operator()(long long i) const { out[i] = in[i]; }
};
MISTAKE(not_turned) { return each(Copied{out, in}, N, stream); }
MISTAKE(one_off) { return each(Turned{out, in, N, 1}, N, stream); }
MISTAKE(order_in_fours_kept) { return each(OrderInFoursKept{out, in, N}, N, stream); }
MISTAKE(middle_forgotten) { return each(PairsExchanged{out, in, N}, N / 2, stream); }
MISTAKE(second_half_only) { return each(WORK, N / 2, stream); }
MISTAKE(no_barrier) {
    tiles_turned<<<blocks_for(N, 128), 128, 0, stream>>>(out, in, N, false);
    return cudaGetLastError();
}
