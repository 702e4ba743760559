// Triangle attention, naive: a thread per output, which goes over the keys three times.
#include <cuda_runtime.h>
#include <math.h>

__global__ void triangle_attention_kernel(const float* query, const float* key, const float* value,
                                          const float* attention_mask, float* output, long long count, int heads,
                                          int seq, int head_dim) {
    const long long index = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (index >= count) return;
    const int d = (int)(index % head_dim);
    const int i = (int)(index / head_dim % seq);
    const long long slice = index / head_dim / seq;
    const float* k = key + slice * seq * head_dim + d;
    const float* v = value + slice * seq * head_dim + d;
    const float* mask = attention_mask + (slice / heads * seq + i) * seq;
    const float q = query[index] / sqrtf((float)head_dim);
    float largest = -INFINITY;
    for (int j = 0; j <= i; ++j) {
        if (mask[j] <= 0.5f) largest = fmaxf(largest, q * k[(long long)j * head_dim]);
    }
    float sum = 0.0f;
    for (int j = 0; j <= i; ++j) {
        if (mask[j] <= 0.5f) sum += expf(q * k[(long long)j * head_dim] - largest);
    }
    float result = 0.0f;
    for (int j = 0; j <= i; ++j) {
        if (mask[j] <= 0.5f) {
            const float weight = expf(q * k[(long long)j * head_dim] - largest) / sum;
            result += weight * v[(long long)j * head_dim];
        }
    }
    output[index] = result;
}

extern "C" size_t triangle_attention_workspace_bytes(int batch, int heads, int seq, int head_dim) {
    return 0;
}

extern "C" cudaError_t triangle_attention(const float* query, const float* key, const float* value,
                                          const float* attention_mask, float* output, int batch, int heads, int seq,
                                          int head_dim,
                                          void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    const long long count = (long long)batch * heads * seq * head_dim;
    const unsigned blocks = (unsigned)((count + threads - 1) / threads);
    triangle_attention_kernel<<<blocks, threads, 0, stream>>>(query, key, value, attention_mask, output, count,
                                                              heads, seq, head_dim);
    return cudaGetLastError();
}
