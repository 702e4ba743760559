// A function of each element of `in`. A task defines FORMULA, a function object from float to float, before it includes
// this, and more of them are run by `apply`.

template <class F>
struct Applied {
    T* out;
    const T* in;
    long long N;
    F formula;
    int shift;  // reads that much further on: a mistake
    __device__ void operator()(long long i) const {
        put(out + i, formula(get(in[i + shift < N ? i + shift : i])));
    }
};
#define WORK applied(FORMULA, out, in, N)
#define COUNT N
template <class F>
static Applied<F> applied(F formula, T* out, const T* in, long long N, int shift = 0) {
    return {out, in, N, formula, shift};
}
#include "pointwise.cuh"

template <class F>
static cudaError_t apply(F formula, T* out, const T* in, int N, cudaStream_t stream) {
    return each(applied(formula, out, in, N), N, stream);
}

MISTAKE(one_further) { return each(applied(FORMULA, out, in, N, 1), N, stream); }
