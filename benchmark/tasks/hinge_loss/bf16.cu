// Hinge loss, naive: a single block strides over the whole array.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void hinge_loss_kernel(__nv_bfloat16* loss, const __nv_bfloat16* predictions, const int* targets, int N) {
    for (long long i = threadIdx.x; i < N; i += blockDim.x) {
        const float y = targets[i] == 1 ? 1.0f : -1.0f;
        loss[i] = __float2bfloat16(fmaxf(0.0f, 1.0f - y * __bfloat162float(predictions[i])));
    }
}

extern "C" size_t hinge_loss_workspace_bytes(int N) {
    return 0;
}

extern "C" cudaError_t hinge_loss(__nv_bfloat16* loss, const __nv_bfloat16* predictions, const int* targets, int N,
                                  void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    hinge_loss_kernel<<<1, 1024, 0, stream>>>(loss, predictions, targets, N);
    return cudaGetLastError();
}
