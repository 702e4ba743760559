// Discrete Fourier transform, naive: decimation in time, radix 2. One launch for the roots of unity, one that copies
// in bit-reversed order, and one per stage, all through global memory and rounded to bf16 after every stage.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void roots_kernel(float* cosine, float* sine, int N) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= N / 2) return;
    cosine[k] = cospif(2.0f * (float)k / (float)N);
    sine[k] = -sinpif(2.0f * (float)k / (float)N);
}

__global__ void bit_reversal_kernel(const __nv_bfloat16* in_re, const __nv_bfloat16* in_im, __nv_bfloat16* out_re,
                                    __nv_bfloat16* out_im, long long elements, int N, int stages) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= elements) return;
    const int place = (int)(i % N);
    int reversed = 0;
    for (int bit = 0; bit < stages; ++bit) {
        if (place >> bit & 1) reversed |= 1 << (stages - 1 - bit);
    }
    out_re[i] = in_re[i - place + reversed];
    out_im[i] = in_im[i - place + reversed];
}

__global__ void stage_kernel(__nv_bfloat16* re, __nv_bfloat16* im, const float* cosine, const float* sine,
                             long long pairs, int N, int half) {
    const long long pair = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const int within = (int)(pair % half);
    const long long upper = (pair / half) * 2 * half + within, lower = upper + half;
    const long long root = (long long)within * (N / 2 / half);
    const float lower_re = __bfloat162float(re[lower]), lower_im = __bfloat162float(im[lower]);
    const float turned_re = lower_re * cosine[root] - lower_im * sine[root];
    const float turned_im = lower_re * sine[root] + lower_im * cosine[root];
    const float upper_re = __bfloat162float(re[upper]), upper_im = __bfloat162float(im[upper]);
    re[upper] = __float2bfloat16(upper_re + turned_re);
    im[upper] = __float2bfloat16(upper_im + turned_im);
    re[lower] = __float2bfloat16(upper_re - turned_re);
    im[lower] = __float2bfloat16(upper_im - turned_im);
}

extern "C" size_t fft_workspace_bytes(int batch, int N) {
    return (size_t)N * sizeof(float);
}

extern "C" cudaError_t fft(const __nv_bfloat16* in_re, const __nv_bfloat16* in_im, __nv_bfloat16* out_re,
                           __nv_bfloat16* out_im, int batch, int N,
                           void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    float* cosine = (float*)workspace;
    float* sine = cosine + N / 2;
    roots_kernel<<<(N / 2 - 1) / 256 + 1, 256, 0, stream>>>(cosine, sine, N);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    int stages = 0;
    while (N >> stages > 1) ++stages;
    const long long elements = (long long)batch * N, pairs = elements / 2;
    const unsigned all = (unsigned)((elements - 1) / 256 + 1), half_of_them = (unsigned)((pairs - 1) / 256 + 1);
    bit_reversal_kernel<<<all, 256, 0, stream>>>(in_re, in_im, out_re, out_im, elements, N, stages);
    error = cudaGetLastError();
    for (int half = 1; half < N && error == cudaSuccess; half *= 2) {
        stage_kernel<<<half_of_them, 256, 0, stream>>>(out_re, out_im, cosine, sine, pairs, N, half);
        error = cudaGetLastError();
    }
    return error;
}
