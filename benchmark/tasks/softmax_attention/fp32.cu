// Attention, naive: one kernel for all scores, one for their softmax with a thread per row,
// one for the weighted sums.
#include <cuda_runtime.h>
#include <math.h>

__global__ void scores_kernel(float* scores, const float* Q, const float* K, long long count, int q_len, int kv_len,
                              int dim_qk) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    const long long row = i / kv_len;
    const long long key = row / q_len * kv_len + i % kv_len;
    float sum = 0.0f;
    for (int d = 0; d < dim_qk; ++d) {
        sum += Q[row * dim_qk + d] * K[key * dim_qk + d];
    }
    scores[i] = sum / sqrtf((float)dim_qk);
}

__global__ void softmax_kernel(float* scores, long long rows, int kv_len) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float* s = scores + row * kv_len;
    float largest = s[0];
    for (int j = 1; j < kv_len; ++j) {
        largest = fmaxf(largest, s[j]);
    }
    float sum = 0.0f;
    for (int j = 0; j < kv_len; ++j) {
        s[j] = expf(s[j] - largest);
        sum += s[j];
    }
    for (int j = 0; j < kv_len; ++j) {
        s[j] /= sum;
    }
}

__global__ void values_kernel(float* Y, const float* weights, const float* V, long long count, int q_len,
                              int kv_len, int dim_v) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    const long long row = i / dim_v;
    const int d = (int)(i % dim_v);
    const float* v = V + row / q_len * kv_len * dim_v;
    float sum = 0.0f;
    for (int j = 0; j < kv_len; ++j) {
        sum += weights[row * kv_len + j] * v[(long long)j * dim_v + d];
    }
    Y[i] = sum;
}

static unsigned blocks_for(long long count) {
    return (unsigned)((count + 255) / 256);
}

extern "C" size_t softmax_attention_workspace_bytes(int batch, int q_len, int kv_len, int dim_qk, int dim_v) {
    return (size_t)batch * q_len * kv_len * sizeof(float);
}

extern "C" cudaError_t softmax_attention(float* Y, const float* Q, const float* K, const float* V, int batch,
                                         int q_len, int kv_len, int dim_qk, int dim_v,
                                         void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    float* scores = (float*)workspace;
    const long long rows = (long long)batch * q_len;
    scores_kernel<<<blocks_for(rows * kv_len), 256, 0, stream>>>(scores, Q, K, rows * kv_len, q_len, kv_len, dim_qk);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    softmax_kernel<<<blocks_for(rows), 256, 0, stream>>>(scores, rows, kv_len);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    values_kernel<<<blocks_for(rows * dim_v), 256, 0, stream>>>(Y, scores, V, rows * dim_v, q_len, kv_len, dim_v);
    return cudaGetLastError();
}
