// The k largest of each row, with their indices.

WORKSPACE_BYTES() { return 0; }

struct Largest {
    static __device__ bool before(float a, float b, int i, int j) { return a > b || (a == b && i < j); }
};
struct LaterOfEqualsFirst {
    static __device__ bool before(float a, float b, int i, int j) { return a > b || (a == b && i > j); }
};
struct Smallest {
    static __device__ bool before(float a, float b, int i, int j) { return a < b || (a == b && i < j); }
};
struct ByMagnitude {
    static __device__ bool before(float a, float b, int i, int j) { return Largest::before(fabsf(a), fabsf(b), i, j); }
};
struct MinusZeroBelowZero {
    static __device__ bool before(float a, float b, int i, int j) {
        return a > b || (a == b && (signbit(a) != signbit(b) ? signbit(b) : i < j));
    }
};

// Each element counts those before it. Of each row `seen` elements are looked at.
template <class Order, bool ASCENDING = false>
__global__ void rank_per_thread(T* values, int* indices, const T* input, int rows, int N, int k, int seen) {
    const long long i = thread_index(), r = i / seen;
    const int j = (int)(i % seen);
    if (r >= rows) return;
    const T* row = input + r * N;
    const float x = get(row[j]);
    int place = 0;
    for (int l = 0; l < seen && place < k; ++l) place += Order::before(get(row[l]), x, l, j);
    if (place >= k) return;
    const long long at = r * k + (ASCENDING ? k - 1 - place : place);
    put(values + at, x);
    indices[at] = j;
}
template <class Order, bool ASCENDING = false>
static cudaError_t by_ranks(T* values, int* indices, const T* input, int rows, int N, int k, int seen,
                            cudaStream_t stream) {
    const int blocks = blocks_for((long long)rows * seen, 128);
    rank_per_thread<Order, ASCENDING><<<blocks, 128, 0, stream>>>(values, indices, input, rows, N, k, seen);
    return cudaGetLastError();
}
HONEST(by_ranks) { return by_ranks<Largest>(values, indices, input, rows, N, k, N, stream); }

// The best of what comes after the last one found, k times; a warp per row.
__global__ void best_after_best(T* values, int* indices, const T* input, int N, int k, int widest) {
    const T* row = input + blockIdx.x * (long long)N;
    float last = INFINITY;
    int last_at = -1;
    for (int n = 0; n < k; ++n) {
        float best = -INFINITY;
        int at = N;
        for (int j = threadIdx.x; j < N; j += 32) {
            const float x = get(row[j]);
            if (Largest::before(last, x, last_at, j) && Largest::before(x, best, j, at)) best = x, at = j;
        }
        for (int d = widest; d > 0; d /= 2) {
            const float x = __shfl_xor_sync(0xffffffffu, best, d);
            const int j = __shfl_xor_sync(0xffffffffu, at, d);
            if (Largest::before(x, best, j, at)) best = x, at = j;
        }
        if (threadIdx.x == 0) {
            put(values + blockIdx.x * (long long)k + n, best);
            indices[blockIdx.x * (long long)k + n] = at;
        }
        last = __shfl_sync(0xffffffffu, best, 0);
        last_at = __shfl_sync(0xffffffffu, at, 0);
    }
}
HONEST(best_after_best) {
    best_after_best<<<rows, 32, 0, stream>>>(values, indices, input, N, k, 16);
    return cudaGetLastError();
}

// Insertion into a sorted list, a thread per row, from the front or from the back.
template <bool BACKWARDS, bool OF_EQUALS_LAST>
__global__ void insertion(T* values, int* indices, const T* input, int rows, int N, int k) {
    const long long r = thread_index();
    if (r >= rows) return;
    T* list = values + r * k;
    int *at = indices + r * k, length = 0;
    for (int n = 0; n < N; ++n) {
        const int j = BACKWARDS ? N - 1 - n : n;
        const T x = input[r * N + j];
        int place = length;
        while (place > 0) {
            const float y = get(list[place - 1]);
            if (!(get(x) > y || ((BACKWARDS || OF_EQUALS_LAST) && get(x) == y))) break;
            --place;
        }
        if (place == k) continue;
        length = min(length + 1, k);
        for (int l = length - 1; l > place; --l) list[l] = list[l - 1], at[l] = at[l - 1];
        list[place] = x;
        at[place] = j;
    }
}
HONEST(insertion) {
    insertion<false, false><<<blocks_for(rows, 32), 32, 0, stream>>>(values, indices, input, rows, N, k);
    return cudaGetLastError();
}
HONEST(insertion_backwards) {
    insertion<true, false><<<blocks_for(rows, 32), 32, 0, stream>>>(values, indices, input, rows, N, k);
    return cudaGetLastError();
}

MISTAKE(insertion_before_equals) {
    insertion<false, true><<<blocks_for(rows, 32), 32, 0, stream>>>(values, indices, input, rows, N, k);
    return cudaGetLastError();
}
MISTAKE(one_shuffle_missing) {
    best_after_best<<<rows, 32, 0, stream>>>(values, indices, input, N, k, 8);
    return cudaGetLastError();
}
MISTAKE(smallest) { return by_ranks<Smallest>(values, indices, input, rows, N, k, N, stream); }
MISTAKE(ascending) { return by_ranks<Largest, true>(values, indices, input, rows, N, k, N, stream); }
MISTAKE(later_of_equals_first) { return by_ranks<LaterOfEqualsFirst>(values, indices, input, rows, N, k, N, stream); }
MISTAKE(by_magnitude) { return by_ranks<ByMagnitude>(values, indices, input, rows, N, k, N, stream); }
MISTAKE(minus_zero_below_zero) { return by_ranks<MinusZeroBelowZero>(values, indices, input, rows, N, k, N, stream); }
MISTAKE(last_element_not_seen) {
    return by_ranks<Largest>(values, indices, input, rows, N, k, N > 1 ? N - 1 : 1, stream);
}
MISTAKE(elements_beyond_fours_not_seen) {
    return by_ranks<Largest>(values, indices, input, rows, N, k, N < 4 ? N : N / 4 * 4, stream);
}
MISTAKE(first_row_only) { return by_ranks<Largest>(values, indices, input, 1, N, k, N, stream); }
MISTAKE(at_most_32) { return by_ranks<Largest>(values, indices, input, rows, N, k < 32 ? k : 32, N, stream); }
