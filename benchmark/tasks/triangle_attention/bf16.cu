// Triangle attention, naive: a thread per output, which goes over the keys three times.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void triangle_attention_kernel(const __nv_bfloat16* query, const __nv_bfloat16* key,
                                          const __nv_bfloat16* value, const float* attention_mask,
                                          __nv_bfloat16* output, long long count, int heads, int seq, int head_dim) {
    const long long index = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (index >= count) return;
    const int d = (int)(index % head_dim);
    const int i = (int)(index / head_dim % seq);
    const long long slice = index / head_dim / seq;
    const __nv_bfloat16* k = key + slice * seq * head_dim + d;
    const __nv_bfloat16* v = value + slice * seq * head_dim + d;
    const float* mask = attention_mask + (slice / heads * seq + i) * seq;
    const float q = __bfloat162float(query[index]) / sqrtf((float)head_dim);
    float largest = -INFINITY;
    for (int j = 0; j <= i; ++j) {
        if (mask[j] <= 0.5f) largest = fmaxf(largest, q * __bfloat162float(k[(long long)j * head_dim]));
    }
    float sum = 0.0f;
    for (int j = 0; j <= i; ++j) {
        if (mask[j] <= 0.5f) sum += expf(q * __bfloat162float(k[(long long)j * head_dim]) - largest);
    }
    float result = 0.0f;
    for (int j = 0; j <= i; ++j) {
        if (mask[j] <= 0.5f) {
            const float weight = expf(q * __bfloat162float(k[(long long)j * head_dim]) - largest) / sum;
            result += weight * __bfloat162float(v[(long long)j * head_dim]);
        }
    }
    output[index] = __float2bfloat16(result);
}

extern "C" size_t triangle_attention_workspace_bytes(int batch, int heads, int seq, int head_dim) {
    return 0;
}

extern "C" cudaError_t triangle_attention(const __nv_bfloat16* query, const __nv_bfloat16* key,
                                          const __nv_bfloat16* value, const float* attention_mask,
                                          __nv_bfloat16* output, int batch, int heads, int seq, int head_dim,
                                          void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    const long long count = (long long)batch * heads * seq * head_dim;
    const unsigned blocks = (unsigned)((count + threads - 1) / threads);
    triangle_attention_kernel<<<blocks, threads, 0, stream>>>(query, key, value, attention_mask, output, count,
                                                              heads, seq, head_dim);
    return cudaGetLastError();
}
