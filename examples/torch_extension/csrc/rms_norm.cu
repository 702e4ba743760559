#include "rms_norm.h"

namespace {

template <typename T>
__device__ __forceinline__ float as_float(T value) {
    return static_cast<float>(value);
}

// One block for a row; one of its threads adds up the squares of all.
template <typename T, int THREADS>
__global__ void rms_norm_kernel(T* out, const T* in, const T* weight, int rows, int cols, float eps) {
    const int row = blockIdx.x;
    __shared__ float scale;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int c = 0; c < cols; ++c) {
            const float value = as_float(in[row * cols + c]);
            sum += value * value;
        }
        scale = rsqrtf(sum / cols + eps);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        out[row * cols + c] = T(as_float(in[row * cols + c]) * scale * as_float(weight[c]));
    }
}

}  // namespace

template <typename T>
void launch_rms_norm(T* out, const T* in, const T* weight, int rows, int cols, float eps, cudaStream_t stream) {
    rms_norm_kernel<T, 256><<<rows, 256, 0, stream>>>(out, in, weight, rows, cols, eps);
}

template void launch_rms_norm<float>(float*, const float*, const float*, int, int, float, cudaStream_t);
template void launch_rms_norm<__nv_bfloat16>(__nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*, int, int, float,
                                             cudaStream_t);
