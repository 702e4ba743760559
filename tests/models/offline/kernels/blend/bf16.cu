// Linear blend of two signals with a saturating curve, one block, functor passed as a template parameter.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

struct Blend {
    float mix;
    __device__ float operator()(float left, float right) const {
        float mixed = mix * left + (1.0f - mix) * right;
        return mixed / (1.0f + fabsf(mixed));
    }
};

template <typename Op>
__global__ void zipWith(const __nv_bfloat16* left, const __nv_bfloat16* right, __nv_bfloat16* result, int count, Op op) {
    for (int k = threadIdx.x; k < count; k += blockDim.x) {
        result[k] = __float2bfloat16(op(__bfloat162float(left[k]), __bfloat162float(right[k])));
    }
}

extern "C" size_t blend_workspace_bytes(int count) { return 0; }

extern "C" cudaError_t blend(const __nv_bfloat16* left, const __nv_bfloat16* right, __nv_bfloat16* result, float mix,
                             int count, void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    Blend op{mix};
    zipWith<Blend><<<1, 512, 0, stream>>>(left, right, result, count, op);
    return cudaGetLastError();
}
