// Merging of two partial attentions, naive: a block per token and head, whose first thread
// computes the weights.
#include <cuda_runtime.h>
#include <math.h>

__global__ void merge_attn_states_kernel(float* V_out, float* LSE_out, const float* V_a, const float* lse_a,
                                         const float* V_b, const float* lse_b, int num_tokens, int num_heads,
                                         int head_size) {
    __shared__ float weight_a, weight_b;
    const int token = blockIdx.x / num_heads;
    const int head = blockIdx.x % num_heads;
    if (threadIdx.x == 0) {
        const size_t i = (size_t)head * num_tokens + token;
        const float a = lse_a[i];
        const float b = lse_b[i];
        const float largest = fmaxf(isinf(a) ? -INFINITY : a, isinf(b) ? -INFINITY : b);
        const float p_a = isinf(a) ? 0.0f : expf(a - largest);
        const float p_b = isinf(b) ? 0.0f : expf(b - largest);
        const float sum = p_a + p_b;
        weight_a = sum > 0.0f ? p_a / sum : 0.0f;
        weight_b = sum > 0.0f ? p_b / sum : 0.0f;
        if (LSE_out != nullptr) {
            LSE_out[i] = sum > 0.0f ? logf(sum) + largest : -INFINITY;
        }
    }
    __syncthreads();
    const size_t first = (size_t)blockIdx.x * head_size;
    for (long long d = threadIdx.x; d < head_size; d += blockDim.x) {
        const float a = V_a[first + d];
        const float b = V_b[first + d];
        V_out[first + d] = weight_a * a + weight_b * b;
    }
}

extern "C" size_t merge_attn_states_workspace_bytes(int num_tokens, int num_heads, int head_size) {
    return 0;
}

extern "C" cudaError_t merge_attn_states(float* V_out, float* LSE_out, const float* V_a, const float* lse_a,
                                         const float* V_b, const float* lse_b, int num_tokens, int num_heads,
                                         int head_size,
                                         void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = head_size < 1024 ? head_size : 1024;
    merge_attn_states_kernel<<<(unsigned)num_tokens * num_heads, threads, 0, stream>>>(V_out, LSE_out, V_a, lse_a,
                                                                                       V_b, lse_b, num_tokens,
                                                                                       num_heads, head_size);
    return cudaGetLastError();
}
