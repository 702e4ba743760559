// Fourier transforms: several algorithms, and several ways to get the roots of unity.

WORKSPACE_BYTES() { return (size_t)batch * N * 4 * sizeof(float); }

struct Complex { float re, im; };
__device__ inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// e^(−2πi·j/n)
struct HalfTurns {
    static __device__ Complex root(int j, int n) {
        Complex w;
        sincospif(-2.0f * j / n, &w.im, &w.re);
        return w;
    }
};
struct Radians {
    static __device__ Complex root(int j, int n) {
        Complex w;
        sincosf(-6.2831853f * j / n, &w.im, &w.re);
        return w;
    }
};
struct Fast {
    static __device__ Complex root(int j, int n) {
        const float turn = (float)(2 * j > n ? j - n : j) / n;  // in ±½, where the fast functions are good
        Complex w;
        __sincosf(-6.2831853f * turn, &w.im, &w.re);
        return w;
    }
};

// Two arrays, as the contract has them.
template <class S>
struct Arrays {
    S *re, *im;
    __device__ Complex at(long long i) const { return {get(re[i]), get(im[i])}; }
    __device__ void set(long long i, Complex z) const { put(re + i, z.re), put(im + i, z.im); }
};
template <class S>
static Arrays<S> arrays(void* workspace, long long count, int which) {
    S* base = (S*)workspace + 2 * which * count;
    return {base, base + count};
}

__device__ inline int bits_turned(int i, int N) {
    int turned = 0;
    for (int bit = 1; bit < N; bit *= 2) turned = 2 * turned + (i & bit ? 1 : 0);
    return turned;
}
template <class S>
__global__ void load(Arrays<S> to, const T* re, const T* im, long long count, int N, bool reordered) {
    const long long i = thread_index();
    if (i >= count) return;
    const long long from = reordered ? i / N * N + bits_turned((int)(i % N), N) : i;
    to.set(i, {get(re[from]), im ? get(im[from]) : 0.0f});
}
template <class S>
__global__ void unload(T* re, T* im, Arrays<S> from, long long count, float scale) {
    const long long i = thread_index();
    if (i >= count) return;
    put(re + i, scale * from.at(i).re);
    put(im + i, scale * from.at(i).im);
}
// A butterfly per thread, in place: decimation in time.
template <class Roots, class S>
__global__ void in_time(Arrays<S> x, long long count, int half, bool with_roots) {
    const long long b = thread_index();
    if (2 * b >= count) return;
    const int j = (int)(b % half);
    const long long i = b / half * 2 * half + j;
    const Complex u = x.at(i), t = with_roots ? x.at(i + half) * Roots::root(j, 2 * half) : x.at(i + half);
    x.set(i, u + t);
    x.set(i + half, u - t);
}
// A butterfly per thread, from one pair of arrays to another, in order at the end (Stockham): decimation in frequency.
template <class Roots>
__global__ void in_frequency(Arrays<float> y, Arrays<float> x, long long count, int N, int stride) {
    const long long b = thread_index();
    if (2 * b >= count) return;
    const long long row = b / (N / 2) * N;
    const int q = (int)(b % (N / 2) % stride), p = (int)(b % (N / 2) / stride), half = N / stride / 2;
    const Complex u = x.at(row + q + stride * p), v = x.at(row + q + stride * (p + half));
    y.set(row + q + stride * 2 * p, u + v);
    y.set(row + q + stride * (2 * p + 1), (u - v) * Roots::root(p, 2 * half));
}
// N = rows · columns by plain sums: over the rows, a twist, over the columns.
__global__ void over_rows(Arrays<float> y, Arrays<float> x, long long count, int rows, int columns) {
    const long long i = thread_index();
    if (i >= count) return;
    const int N = rows * columns, column = (int)(i % N / rows), k = (int)(i % rows);
    Complex sum = {0.0f, 0.0f};
    for (int n = 0; n < rows; ++n) {
        sum = sum + x.at(i / N * N + n * columns + column) * HalfTurns::root(n * k % rows, rows);
    }
    y.set(i, sum * HalfTurns::root(column * k, N));
}
__global__ void over_columns(Arrays<float> y, Arrays<float> x, long long count, int rows, int columns) {
    const long long i = thread_index();
    if (i >= count) return;
    const int N = rows * columns, row = (int)(i % N % rows), k = (int)(i % N / rows);
    Complex sum = {0.0f, 0.0f};
    for (int n = 0; n < columns; ++n) {
        sum = sum + x.at(i / N * N + n * rows + row) * HalfTurns::root(n * k % columns, columns);
    }
    y.set(i, sum);
}

struct Transform {
    const T *in_re, *in_im;
    T *out_re, *out_im;
    int batch, N;
    void* workspace;
    cudaStream_t stream;
    long long count() const { return (long long)batch * N; }
    int blocks() const { return blocks_for(count(), 128); }
};
#define TRANSFORM Transform{in_re, in_im, out_re, out_im, batch, N, workspace, stream}

// Mistakes: the input in its own order, some of the log2 N stages left out, no roots in the last.
template <class Roots, class S>
static cudaError_t by_time(Transform t, float scale = 1.0f, bool reordered = true, int left_out = 0,
                           bool last_roots = true) {
    const Arrays<S> x = arrays<S>(t.workspace, t.count(), 0);
    load<<<t.blocks(), 128, 0, t.stream>>>(x, t.in_re, t.in_im, t.count(), t.N, reordered);
    for (int half = 1; half < t.N >> left_out; half *= 2) {
        in_time<Roots><<<t.blocks(), 128, 0, t.stream>>>(x, t.count(), half, last_roots || 2 * half < t.N);
    }
    unload<<<t.blocks(), 128, 0, t.stream>>>(t.out_re, t.out_im, x, t.count(), scale);
    return cudaGetLastError();
}
template <class Roots>
static cudaError_t by_frequency(Transform t) {
    Arrays<float> x = arrays<float>(t.workspace, t.count(), 0), y = arrays<float>(t.workspace, t.count(), 1);
    load<<<t.blocks(), 128, 0, t.stream>>>(x, t.in_re, t.in_im, t.count(), t.N, false);
    for (int stride = 1; stride < t.N; stride *= 2) {
        in_frequency<Roots><<<t.blocks(), 128, 0, t.stream>>>(y, x, t.count(), t.N, stride);
        const Arrays<float> done = y;
        y = x;
        x = done;
    }
    unload<<<t.blocks(), 128, 0, t.stream>>>(t.out_re, t.out_im, x, t.count(), 1.0f);
    return cudaGetLastError();
}
static cudaError_t by_plain_sums(Transform t) {
    const Arrays<float> x = arrays<float>(t.workspace, t.count(), 0), y = arrays<float>(t.workspace, t.count(), 1);
    int rows = 1;
    while (rows * rows < t.N) rows *= 2;
    load<<<t.blocks(), 128, 0, t.stream>>>(x, t.in_re, t.in_im, t.count(), t.N, false);
    over_rows<<<t.blocks(), 128, 0, t.stream>>>(y, x, t.count(), rows, t.N / rows);
    over_columns<<<t.blocks(), 128, 0, t.stream>>>(x, y, t.count(), rows, t.N / rows);
    unload<<<t.blocks(), 128, 0, t.stream>>>(t.out_re, t.out_im, x, t.count(), 1.0f);
    return cudaGetLastError();
}
HONEST(decimation_in_time) { return by_time<HalfTurns, float>(TRANSFORM); }
HONEST(decimation_in_time_fast_roots) { return by_time<Fast, float>(TRANSFORM); }
HONEST(decimation_in_frequency) { return by_frequency<Radians>(TRANSFORM); }
HONEST(decimation_in_frequency_fast_roots) { return by_frequency<Fast>(TRANSFORM); }
HONEST(plain_sums_over_rows_and_columns) { return by_plain_sums(TRANSFORM); }
BF16_HONEST(stages_as_stored) { return by_time<HalfTurns, T>(TRANSFORM); }

struct Backward {
    static __device__ Complex root(int j, int n) { return HalfTurns::root(-j, n); }
};
struct RootsInBf16 {
    static __device__ Complex root(int j, int n) {
        const Complex w = HalfTurns::root(j, n);
        return {in_bf16(w.re), in_bf16(w.im)};
    }
};
struct TwoForgotten {
    static __device__ Complex root(int j, int n) { return HalfTurns::root(j, 2 * n); }
};
static Transform real_only(Transform t) {
    t.in_im = nullptr;
    return t;
}
static Transform exchanged(Transform t) {
    const T* re = t.in_re;
    t.in_re = t.in_im;
    t.in_im = re;
    return t;
}
MISTAKE(backward) { return by_time<Backward, float>(TRANSFORM); }
MISTAKE(two_forgotten) { return by_time<TwoForgotten, float>(TRANSFORM); }
FP32_MISTAKE(roots_in_bf16) { return by_time<RootsInBf16, float>(TRANSFORM); }
MISTAKE(divided_by_n) { return by_time<HalfTurns, float>(TRANSFORM, 1.0f / N); }
MISTAKE(input_not_reordered) { return by_time<HalfTurns, float>(TRANSFORM, 1.0f, false); }
MISTAKE(last_stage_missing) { return by_time<HalfTurns, float>(TRANSFORM, 1.0f, true, 1); }
MISTAKE(last_stage_without_roots) { return by_time<HalfTurns, float>(TRANSFORM, 1.0f, true, 0, false); }
MISTAKE(imaginary_part_lost) { return by_time<HalfTurns, float>(real_only(TRANSFORM)); }
MISTAKE(parts_exchanged) { return by_time<HalfTurns, float>(exchanged(TRANSFORM)); }
MISTAKE(first_of_the_batch_only) {
    return by_time<HalfTurns, float>(Transform{in_re, in_im, out_re, out_im, 1, N, workspace, stream});
}
