// Prefix sums by CUB: one DeviceScan::InclusiveSumByKey over all rows, the key of an element is its row.
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

struct RowOf {
  int N;
  __host__ __device__ int operator()(long long i) const { return int(i / N); }
};
struct ToFloat {
  __host__ __device__ float operator()(T value) const { return float(value); }
};
struct FromFloat {
  __host__ __device__ T operator()(float value) const { return T(value); }
};

static cudaError_t scan(void* workspace, size_t& bytes, const T* in, T* out, int rows, int N, cudaStream_t stream) {
  auto keys = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), RowOf{N});
  auto values = thrust::make_transform_iterator(in, ToFloat{});
  auto sums = thrust::make_transform_output_iterator(out, FromFloat{});
  const long long count = (long long)rows * N;
  return cub::DeviceScan::InclusiveSumByKey(workspace, bytes, keys, values, sums, count, ::cuda::std::equal_to<>{},
                                            stream);
}

extern "C" size_t prefix_sum_workspace_bytes(int rows, int N) {
  size_t bytes = 0;
  scan(nullptr, bytes, nullptr, nullptr, rows, N, 0);
  return bytes;
}

extern "C" cudaError_t prefix_sum(T* out, const T* in, int rows, int N, void* workspace, size_t workspace_bytes,
                                  cudaStream_t stream) {
  return scan(workspace, workspace_bytes, in, out, rows, N, stream);
}
