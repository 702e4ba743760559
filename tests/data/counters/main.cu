// Runs every kernel of this folder once, for Nsight Compute: nvcc -O3 -std=c++17 -arch=sm_90 -o counters *.cu
#include <cstdio>
#include <initializer_list>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
cudaError_t global_memory(float*, const float*, int, cudaStream_t);
cudaError_t element_types(float*, const float*, int, cudaStream_t);
cudaError_t shared_memory(float*, const float*, int, cudaStream_t);
cudaError_t atomics(float*, const float*, int, cudaStream_t);
cudaError_t launch_shapes(float*, const float*, int, cudaStream_t);
}

int main() {
    const int n = 16384, size = 40 * n;
    std::vector<float> values(size);
    for (int i = 0; i < size; ++i) values[i] = (float)(i % 97) / 97.0f;
    float *in, *out;
    cudaMalloc(&in, size * sizeof(float));
    cudaMalloc(&out, size * sizeof(float));
    cudaMemcpy(in, values.data(), size * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, size * sizeof(float));
    for (auto part : {global_memory, element_types, shared_memory, atomics, launch_shapes}) {
        cudaError_t error = part(out, in, n, 0);
        if (error == cudaSuccess) error = cudaDeviceSynchronize();
        if (error != cudaSuccess) {
            printf("%s\n", cudaGetErrorString(error));
            return 1;
        }
    }
    return 0;
}
