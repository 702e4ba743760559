// GELUs: honest ways to write the function, and what goes wrong in them.

static size_t wanted_workspace(int N) { return 0; }

struct Erf { static __device__ float of(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); } };
struct ErfFirst { static __device__ float of(float x) { return x * (0.5f * (erff(x * 0.70710678f) + 1.0f)); } };
struct Erfc { static __device__ float of(float x) { return 0.5f * x * erfcf(x * -0.70710678f); } };
struct Divided { static __device__ float of(float x) { return x / 2.0f * (1.0f + erff(x / 1.41421356f)); } };
struct Double {
    static __device__ float of(float x) { return (float)(0.5 * x * (1.0 + erf(x * 0.70710678118654752))); }
};

template <class F>
__global__ void one_element_per_thread(T* out, const T* in, int N) {
    const long long i = thread_index();
    if (i < N) put(out + i, F::of(get(in[i])));
}
template <class F>
static cudaError_t run(T* out, const T* in, int N, cudaStream_t stream) {
    one_element_per_thread<F><<<blocks_for(N, 256), 256, 0, stream>>>(out, in, N);
    return cudaGetLastError();
}

// --- honest ----------------------------------------------------------------------------------------------------------

HONEST(by_erf) { return run<Erf>(out, in, N, stream); }
HONEST(by_erf_first) { return run<ErfFirst>(out, in, N, stream); }
HONEST(by_erfc) { return run<Erfc>(out, in, N, stream); }
HONEST(by_division) { return run<Divided>(out, in, N, stream); }
HONEST(in_double) { return run<Double>(out, in, N, stream); }

__global__ void four_elements_per_thread(T* out, const T* in, int N) {
    for (long long start = 4 * thread_index(); start < N; start += 4 * thread_count()) {
        for (int k = 0; k < 4 && start + k < N; ++k) put(out + start + k, Erf::of(get(in[start + k])));
    }
}
HONEST(four_per_thread) {
    four_elements_per_thread<<<16, 128, 0, stream>>>(out, in, N);
    return cudaGetLastError();
}

// --- mistakes --------------------------------------------------------------------------------------------------------

struct Tanh {
    static __device__ float of(float x) {
        return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    }
};
struct Sigmoid { static __device__ float of(float x) { return x / (1.0f + expf(-1.702f * x)); } };
struct Relu { static __device__ float of(float x) { return fmaxf(x, 0.0f); } };
struct NoRoot { static __device__ float of(float x) { return 0.5f * x * (1.0f + erff(x)); } };
struct NoHalf { static __device__ float of(float x) { return x * (1.0f + erff(x * 0.70710678f)); } };
struct ErfInBf16 {
    static __device__ float of(float x) { return 0.5f * x * (1.0f + in_bf16(erff(x * 0.70710678f))); }
};
struct Clamped { static __device__ float of(float x) { return Erf::of(fminf(fmaxf(x, -10.0f), 10.0f)); } };

MISTAKE(tanh_approximation) { return run<Tanh>(out, in, N, stream); }
MISTAKE(sigmoid_approximation) { return run<Sigmoid>(out, in, N, stream); }
MISTAKE(relu_instead) { return run<Relu>(out, in, N, stream); }
MISTAKE(root_of_two_forgotten) { return run<NoRoot>(out, in, N, stream); }
MISTAKE(half_forgotten) { return run<NoHalf>(out, in, N, stream); }
MISTAKE(erf_in_bf16) { return run<ErfInBf16>(out, in, N, stream); }
MISTAKE(clamped_to_ten) { return run<Clamped>(out, in, N, stream); }

MISTAKE(tail_of_four_dropped) {
    return N < 4 ? cudaSuccess : run<Erf>(out, in, N / 4 * 4, stream);
}

MISTAKE(first_thousand_only) { return run<Erf>(out, in, N < 1024 ? N : 1024, stream); }

__global__ void neighbour(T* out, const T* in, int N) {
    const long long i = thread_index();
    if (i < N) put(out + i, Erf::of(get(in[i + 1 < N ? i + 1 : i])));
}
MISTAKE(one_further) {
    neighbour<<<blocks_for(N, 256), 256, 0, stream>>>(out, in, N);
    return cudaGetLastError();
}
