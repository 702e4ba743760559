// Sums by CUB: one DeviceReduce::TransformReduce a call. `T` is the unit's storage type.
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

struct Scaled {
  float factor;
  __device__ float operator()(float sum) const { return factor * sum; }
};

template <class Term>
static cudaError_t sum(void* workspace, size_t& bytes, float* result, int N, Term term, float factor,
                       cudaStream_t stream) {
  auto out = thrust::make_transform_output_iterator(result, Scaled{factor});
  return cub::DeviceReduce::TransformReduce(workspace, bytes, thrust::counting_iterator<int>(0), out, N,
                                            ::cuda::std::plus<float>{}, term, 0.0f, stream);
}

template <class Term>
static size_t sum_bytes(int N) {
  size_t bytes = 0;
  sum(nullptr, bytes, nullptr, N, Term{}, 1.0f, 0);
  return bytes;
}

struct Product {
  const T *x, *y;
  __device__ float operator()(int i) const { return float(x[i]) * float(y[i]); }
};

struct SquaredDifference {
  const T *x, *y;
  __device__ float operator()(int i) const {
    const float d = float(x[i]) - float(y[i]);
    return d * d;
  }
};

struct CrossEntropy {
  const T *x, *y;
  __device__ float operator()(int i) const { return -float(y[i]) * logf(fmaxf(float(x[i]), 1e-8f)); }
};

struct Sample {
  const T* y;
  __device__ float operator()(int i) const { return float(y[i]); }
};

// The 1/3 rule over the first `points` samples, an odd number; the 3/8 rule over what is left. Weights in units of h/24.
struct Simpson {
  const T* y;
  int N, points;
  __device__ float operator()(int i) const {
    float weight = 0.0f;
    if (points > 1 && i < points) weight = i == 0 || i == points - 1 ? 8.0f : i % 2 ? 32.0f : 16.0f;
    if (points < N && i >= points - 1) weight += i == points - 1 || i == N - 1 ? 9.0f : 27.0f;
    return weight * float(y[i]);
  }
};

extern "C" size_t dot_product_workspace_bytes(int N) { return sum_bytes<Product>(N); }
extern "C" cudaError_t dot_product(float* result, const T* x, const T* y, int N, void* workspace,
                                   size_t workspace_bytes, cudaStream_t stream) {
  return sum(workspace, workspace_bytes, result, N, Product{x, y}, 1.0f, stream);
}

extern "C" size_t mse_loss_workspace_bytes(int N) { return sum_bytes<SquaredDifference>(N); }
extern "C" cudaError_t mse_loss(float* loss, const T* X, const T* Y, int N, void* workspace, size_t workspace_bytes,
                                cudaStream_t stream) {
  return sum(workspace, workspace_bytes, loss, N, SquaredDifference{X, Y}, 1.0f / N, stream);
}

extern "C" size_t cross_entropy_loss_workspace_bytes(int C) { return sum_bytes<CrossEntropy>(C); }
extern "C" cudaError_t cross_entropy_loss(float* loss, const T* X, const T* Y, int C, void* workspace,
                                          size_t workspace_bytes, cudaStream_t stream) {
  return sum(workspace, workspace_bytes, loss, C, CrossEntropy{X, Y}, 1.0f, stream);
}

extern "C" size_t monte_carlo_int_workspace_bytes(int N) { return sum_bytes<Sample>(N); }
extern "C" cudaError_t monte_carlo_int(const T* y_samples, float* result, float a, float b, int N, void* workspace,
                                       size_t workspace_bytes, cudaStream_t stream) {
  return sum(workspace, workspace_bytes, result, N, Sample{y_samples}, (b - a) / N, stream);
}

extern "C" size_t simpson_int_workspace_bytes(int N) { return sum_bytes<Simpson>(N); }
extern "C" cudaError_t simpson_int(const T* y_samples, float* result, float a, float b, int N, void* workspace,
                                   size_t workspace_bytes, cudaStream_t stream) {
  const int points = N % 2 ? N : N - 3;
  return sum(workspace, workspace_bytes, result, N, Simpson{y_samples, N, points}, (b - a) / (N - 1) / 24.0f,
             stream);
}
