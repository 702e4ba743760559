// Sorting by CUB: DeviceRadixSort of one row, DeviceSegmentedSort of several; the contract sorts in place.
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

struct RowStart {
  long long N;
  __host__ __device__ long long operator()(int row) const { return row * N; }
};

static cudaError_t sort(void* workspace, size_t& bytes, T* from, T* to, int rows, int N, cudaStream_t stream) {
  if (rows == 1) return cub::DeviceRadixSort::SortKeys(workspace, bytes, from, to, N, 0, int(8 * sizeof(T)), stream);
  auto starts = thrust::make_transform_iterator(thrust::counting_iterator<int>(0), RowStart{N});
  return cub::DeviceSegmentedSort::SortKeys(workspace, bytes, from, to, (long long)rows * N, rows, starts, starts + 1,
                                            stream);
}

// The sorted copy comes first in the workspace, then what CUB asks for.
static size_t copy_bytes(int rows, int N) { return ((size_t)rows * N * sizeof(T) + 255) / 256 * 256; }

extern "C" size_t sorting_workspace_bytes(int rows, int N) {
  size_t bytes = 0;
  sort(nullptr, bytes, nullptr, nullptr, rows, N, 0);
  return copy_bytes(rows, N) + bytes;
}

extern "C" cudaError_t sorting(T* data, int rows, int N, void* workspace, size_t workspace_bytes,
                               cudaStream_t stream) {
  T* sorted = (T*)workspace;
  size_t bytes = workspace_bytes - copy_bytes(rows, N);
  const cudaError_t error = sort((char*)workspace + copy_bytes(rows, N), bytes, data, sorted, rows, N, stream);
  if (error != cudaSuccess) return error;
  return cudaMemcpyAsync(data, sorted, (size_t)rows * N * sizeof(T), cudaMemcpyDeviceToDevice, stream);
}
