// Sorts of rows, in place.

static size_t padded(int N) {
    size_t power = 1;
    while (power < (size_t)N) power *= 2;
    return power;
}
WORKSPACE_BYTES() { return rows * padded(N) * sizeof(float); }

__global__ void to_workspace(float* copy, const T* data, int rows, int N, long long stride, float filling) {
    const long long i = thread_index(), r = i / stride, j = i % stride;
    if (r < rows) copy[i] = j < N ? get(data[r * N + j]) : filling;
}
__global__ void from_workspace(T* data, const float* copy, int rows, int N, long long stride, int from) {
    const long long i = thread_index(), r = i / N, j = i % N;
    if (r < rows && j >= from) put(data + i, copy[r * stride + j]);
}

// What is before what: of equal elements the first, so that each has a place of its own.
struct Ascending {
    static __device__ bool before(float a, float b, int i, int j) { return a < b || (a == b && i < j); }
};
struct Descending {
    static __device__ bool before(float a, float b, int i, int j) { return a > b || (a == b && i < j); }
};
struct EqualsInOnePlace {
    static __device__ bool before(float a, float b, int, int) { return a < b; }
};
struct BitsAsNumbers {
    static __device__ bool before(float a, float b, int i, int j) {
        const int x = __float_as_int(a), y = __float_as_int(b);
        return x < y || (x == y && i < j);
    }
};
// Each element counts those before it. The first `N` of each row of `stride` elements are sorted.
template <class Order>
__global__ void rank_per_thread(T* data, const float* copy, int rows, int N, int stride) {
    const long long i = thread_index(), r = i / N;
    const int j = (int)(i % N);
    if (r >= rows) return;
    const float* row = copy + r * stride;
    int place = 0;
    for (int k = 0; k < N; ++k) place += Order::before(row[k], row[j], k, j);
    put(data + r * stride + place, row[j]);
}
template <class Order>
static cudaError_t by_ranks(T* data, int rows, int N, int stride, float* copy, cudaStream_t stream) {
    to_workspace<<<blocks_for((long long)rows * stride, 128), 128, 0, stream>>>(copy, data, rows, stride, stride, 0.0f);
    rank_per_thread<Order><<<blocks_for((long long)rows * N, 128), 128, 0, stream>>>(data, copy, rows, N, stride);
    return cudaGetLastError();
}
HONEST(by_ranks) { return by_ranks<Ascending>(data, rows, N, N, (float*)workspace, stream); }

// Compare and exchange in a bitonic network over a power of two, padded with `filling`.
__global__ void exchange(float* copy, long long total, int distance, int run) {
    const long long i = thread_index(), other = i ^ distance;
    if (i >= total || other < i) return;
    const bool ascending = (i & run) == 0;
    if ((copy[i] > copy[other]) == ascending) {
        const float x = copy[i];
        copy[i] = copy[other];
        copy[other] = x;
    }
}
static cudaError_t bitonic(T* data, int rows, int N, float* copy, float filling, cudaStream_t stream,
                           int first_run = 2) {
    const int stride = (int)padded(N);
    const long long total = (long long)rows * stride;
    to_workspace<<<blocks_for(total, 128), 128, 0, stream>>>(copy, data, rows, N, stride, filling);
    for (int run = first_run; run <= stride; run *= 2) {
        for (int distance = run / 2; distance > 0; distance /= 2) {
            // The last runs of all rows ascend, whatever the number of rows.
            exchange<<<blocks_for(total, 128), 128, 0, stream>>>(copy, total, distance, run == stride ? 0 : run);
        }
    }
    from_workspace<<<blocks_for((long long)rows * N, 128), 128, 0, stream>>>(data, copy, rows, N, stride, 0);
    return cudaGetLastError();
}
HONEST(bitonic_network) { return bitonic(data, rows, N, (float*)workspace, INFINITY, stream); }

// Runs merged bottom up, a pair of them per thread; and odd-even exchange sort of a row by a block.
__global__ void merge_pairs(T* to, const float* from, int rows, int N, int run) {
    const int pairs = (N + 2 * run - 1) / (2 * run);
    const long long p = thread_index(), r = p / pairs;
    if (r >= rows) return;
    const int start = (int)(p % pairs) * 2 * run, middle = min(start + run, N), end = min(start + 2 * run, N);
    const float* row = from + r * N;
    for (int i = start, j = middle, k = start; k < end; ++k) {
        const bool left = j >= end || (i < middle && row[i] <= row[j]);
        put(to + r * N + k, left ? row[i++] : row[j++]);
    }
}
static cudaError_t merged(T* data, int rows, int N, int longest, float* copy, cudaStream_t stream) {
    const long long total = (long long)rows * N;
    for (int run = 1; run < longest; run *= 2) {
        to_workspace<<<blocks_for(total, 128), 128, 0, stream>>>(copy, data, rows, N, N, 0.0f);
        const long long pairs = rows * ((N + 2LL * run - 1) / (2 * run));
        merge_pairs<<<blocks_for(pairs, 64), 64, 0, stream>>>(data, copy, rows, N, run);
    }
    return cudaGetLastError();
}
HONEST(runs_merged) { return merged(data, rows, N, N, (float*)workspace, stream); }

// Bits in the order of the numbers: four passes over 8 of them each, stable, a thread per row.
__device__ inline unsigned ordered(float x) {
    const unsigned bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__global__ void radix_pass(T* data, const float* copy, int N, int shift) {
    __shared__ int counts[256];
    for (int d = threadIdx.x; d < 256; d += blockDim.x) counts[d] = 0;
    __syncthreads();
    const float* row = copy + blockIdx.x * (long long)N;
    for (int j = threadIdx.x; j < N; j += blockDim.x) atomicAdd(counts + (ordered(row[j]) >> shift & 255), 1);
    __syncthreads();
    if (threadIdx.x != 0) return;
    int before = 0;
    for (int d = 0; d < 256; ++d) {
        const int count = counts[d];
        counts[d] = before;
        before += count;
    }
    T* sorted = data + blockIdx.x * (long long)N;
    for (int j = 0; j < N; ++j) put(sorted + counts[ordered(row[j]) >> shift & 255]++, row[j]);
}
static cudaError_t radix(T* data, int rows, int N, int passes, float* copy, cudaStream_t stream) {
    for (int pass = 4 - passes; pass < 4; ++pass) {
        to_workspace<<<blocks_for((long long)rows * N, 128), 128, 0, stream>>>(copy, data, rows, N, N, 0.0f);
        radix_pass<<<rows, 64, 0, stream>>>(data, copy, N, 8 * pass);
    }
    return cudaGetLastError();
}
HONEST(by_digits) { return radix(data, rows, N, 4, (float*)workspace, stream); }

MISTAKE(descending) { return by_ranks<Descending>(data, rows, N, N, (float*)workspace, stream); }
MISTAKE(equals_in_one_place) { return by_ranks<EqualsInOnePlace>(data, rows, N, N, (float*)workspace, stream); }
MISTAKE(bits_as_numbers) { return by_ranks<BitsAsNumbers>(data, rows, N, N, (float*)workspace, stream); }
MISTAKE(rows_joined) { return by_ranks<Ascending>(data, 1, rows * N, rows * N, (float*)workspace, stream); }
MISTAKE(first_row_only) { return by_ranks<Ascending>(data, 1, N, N, (float*)workspace, stream); }
MISTAKE(last_element_left) { return by_ranks<Ascending>(data, rows, N > 1 ? N - 1 : 1, N, (float*)workspace, stream); }
MISTAKE(only_a_power_of_two) {
    const int most = (int)padded(N) == N ? N : (int)padded(N) / 2;
    return by_ranks<Ascending>(data, rows, most, N, (float*)workspace, stream);
}
MISTAKE(last_merge_missing) { return merged(data, rows, N, N / 2, (float*)workspace, stream); }
MISTAKE(runs_not_made) { return bitonic(data, rows, N, (float*)workspace, INFINITY, stream, 4); }
MISTAKE(padded_with_zero) { return bitonic(data, rows, N, (float*)workspace, 0.0f, stream); }
MISTAKE(highest_digit_only) { return radix(data, rows, N, 1, (float*)workspace, stream); }
FP32_MISTAKE(padded_with_the_largest_float) { return bitonic(data, rows, N, (float*)workspace, 3.4028235e38f, stream); }
