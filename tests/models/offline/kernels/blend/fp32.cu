// Linear blend of two signals with a saturating curve, one block, functor passed as a template parameter.
#include <cuda_runtime.h>

template <typename T>
struct Blend {
    T mix;
    __device__ T operator()(T left, T right) const {
        T mixed = mix * left + (T(1) - mix) * right;
        return mixed / (T(1) + fabsf(mixed));
    }
};

template <typename Op>
__global__ void zipWith(const float* left, const float* right, float* result, int count, Op op) {
    for (int k = threadIdx.x; k < count; k += blockDim.x) {
        result[k] = op(left[k], right[k]);
    }
}

extern "C" size_t blend_workspace_bytes(int count) { return 0; }

extern "C" cudaError_t blend(const float* left, const float* right, float* result, float mix, int count,
                             void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    Blend<float> op{mix};
    zipWith<Blend<float>><<<1, 512, 0, stream>>>(left, right, result, count, op);
    return cudaGetLastError();
}
