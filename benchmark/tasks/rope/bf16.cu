// Rotary position embedding, naive: a thread per pair, each with a power, a cosine and a sine.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void rope_kernel(__nv_bfloat16* out, const __nv_bfloat16* in, long long pairs, int M, int D, float base) {
    const long long pair = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const int p = (int)(pair % (D / 2));
    const int m = (int)(pair / (D / 2) % M);
    const float angle = (float)m * powf(base, -2.0f * (float)p / (float)D);
    const float x = __bfloat162float(in[2 * pair]);
    const float y = __bfloat162float(in[2 * pair + 1]);
    out[2 * pair] = __float2bfloat16(x * cosf(angle) - y * sinf(angle));
    out[2 * pair + 1] = __float2bfloat16(x * sinf(angle) + y * cosf(angle));
}

extern "C" size_t rope_workspace_bytes(int batch, int M, int D) {
    return 0;
}

extern "C" cudaError_t rope(__nv_bfloat16* out, const __nv_bfloat16* in, int batch, int M, int D, float base,
                            void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    const long long pairs = (long long)batch * M * (D / 2);
    rope_kernel<<<(unsigned)((pairs + threads - 1) / threads), threads, 0, stream>>>(out, in, pairs, M, D, base);
    return cudaGetLastError();
}
