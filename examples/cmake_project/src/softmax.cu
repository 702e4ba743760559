#include "acme/softmax.h"

#include "acme/check.h"
#include "acme/math.cuh"

namespace acme {
namespace {

// One thread for a row: simple, and slow.
__global__ void softmax_kernel(const float* __restrict__ logits, float* __restrict__ probs, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = -FLT_MAX;
    for (int c = 0; c < cols; ++c) most = fmaxf(most, logits[row * cols + c]);
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += expf(logits[row * cols + c] - most);
    for (int c = 0; c < cols; ++c) probs[row * cols + c] = expf(logits[row * cols + c] - most) / sum;
}

}  // namespace

void softmax(const float* logits, float* probs, int rows, int cols) {
    softmax_kernel<<<ceil_div(rows, ACME_ROWS_PER_BLOCK), ACME_ROWS_PER_BLOCK>>>(logits, probs, rows, cols);
    ACME_CHECK(cudaGetLastError());
    ACME_CHECK(cudaDeviceSynchronize());
}

std::vector<float> softmax_on_host(const std::vector<float>& logits, int rows, int cols) {
    const size_t bytes = logits.size() * sizeof(float);
    float *in, *out;
    ACME_CHECK(cudaMalloc(&in, bytes));
    ACME_CHECK(cudaMalloc(&out, bytes));
    ACME_CHECK(cudaMemcpy(in, logits.data(), bytes, cudaMemcpyHostToDevice));
    softmax(in, out, rows, cols);
    std::vector<float> probs(logits.size());
    ACME_CHECK(cudaMemcpy(probs.data(), out, bytes, cudaMemcpyDeviceToHost));
    ACME_CHECK(cudaFree(in));
    ACME_CHECK(cudaFree(out));
    return probs;
}

}  // namespace acme
