// Valid cross-correlations of a signal with a filter.

struct Product {
    const T *input, *kernel;
    T* output;
    int input_size, kernel_size;
    __device__ int terms(long long) const { return kernel_size; }
    __device__ T left(long long i, int k) const { return input[i + k]; }
    __device__ T right(long long, int k) const { return kernel[k]; }
    __device__ void put_sum(long long i, float sum) const { put(output + i, sum); }
};
#define PRODUCT Product{input, kernel, output, input_size, kernel_size}
#define OUTPUTS (input_size - kernel_size + 1)
#include "products.cuh"

// A tile of 128 outputs and its halo in shared memory, 256 taps at a time. Without the halo, its inputs count as 0.
__global__ void tiles(const T* input, const T* kernel, T* output, int input_size, int kernel_size, bool halo,
                      bool all) {
    __shared__ float s[128 + 256], w[256];
    const int first = blockIdx.x * 128, outputs = input_size - kernel_size + 1;
    float sum = 0.0f;
    for (int start = 0; start < (all ? kernel_size : min(kernel_size, 256)); start += 256) {
        const int taps = min(256, kernel_size - start);
        for (int k = threadIdx.x; k < taps; k += 128) w[k] = get(kernel[start + k]);
        for (int k = threadIdx.x; k < 128 + taps; k += 128) {
            const int at = first + start + k;
            s[k] = at < input_size && (halo || k < 128) ? get(input[at]) : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < taps; ++k) sum = fmaf(s[threadIdx.x + k], w[k], sum);
        __syncthreads();
    }
    if (first + threadIdx.x < outputs) put(output + first + threadIdx.x, sum);
}
static cudaError_t tiled(const T* input, const T* kernel, T* output, int input_size, int kernel_size, bool halo,
                         bool all, cudaStream_t stream) {
    const int outputs = input_size - kernel_size + 1;
    tiles<<<blocks_for(outputs, 128), 128, 0, stream>>>(input, kernel, output, input_size, kernel_size, halo, all);
    return cudaGetLastError();
}
HONEST(in_tiles) { return tiled(input, kernel, output, input_size, kernel_size, true, true, stream); }

struct Turned : Product {
    __device__ T right(long long, int k) const { return kernel[kernel_size - 1 - k]; }
};
struct OneFurther : Product {
    __device__ T left(long long i, int k) const { return input[min((int)i + k + 1, input_size - 1)]; }
};
struct Centred : Product {
    __device__ T left(long long i, int k) const { return input[max((int)i + k - kernel_size / 2, 0)]; }
};
MISTAKE(filter_turned_round) { return thread_per_output(Turned{PRODUCT}, OUTPUTS, stream); }
MISTAKE(one_further) { return thread_per_output(OneFurther{PRODUCT}, OUTPUTS, stream); }
MISTAKE(filter_centred) { return thread_per_output(Centred{PRODUCT}, OUTPUTS, stream); }
MISTAKE(last_output_lost) { return thread_per_output(PRODUCT, OUTPUTS - 1, stream); }
MISTAKE(halo_lost) { return tiled(input, kernel, output, input_size, kernel_size, false, true, stream); }
MISTAKE(at_most_256_taps) { return tiled(input, kernel, output, input_size, kernel_size, true, false, stream); }
