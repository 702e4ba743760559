// Hinge loss, naive: a thread per element, which reads and writes one number.
#include <cuda_runtime.h>
#include <math.h>

__global__ void hinge_loss_kernel(float* loss, const float* predictions, const int* targets, int N) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= N) return;
    const float y = targets[i] == 1 ? 1.0f : -1.0f;
    loss[i] = fmaxf(0.0f, 1.0f - y * predictions[i]);
}

extern "C" size_t hinge_loss_workspace_bytes(int N) {
    return 0;
}

extern "C" cudaError_t hinge_loss(float* loss, const float* predictions, const int* targets, int N,
                                  void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const int threads = 256;
    const unsigned blocks = (unsigned)(((long long)N + threads - 1) / threads);
    hinge_loss_kernel<<<blocks, threads, 0, stream>>>(loss, predictions, targets, N);
    return cudaGetLastError();
}
