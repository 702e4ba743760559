// Planted faults that counters of accesses, threads and atomics show, and their repaired twins: what the cpu device can see.
// `which` picks the call: 2k is fault k, 2k + 1 its twin. N is a multiple of 1024.
#include <cuda_runtime.h>

__global__ void atomics_fault(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(y, x[i]);
}
__global__ void atomics_twin(float* y, const float* x, int n) {
    __shared__ float part[8];
    float4 v = reinterpret_cast<const float4*>(x)[blockIdx.x * blockDim.x + threadIdx.x];
    float s = v.x + v.y + v.z + v.w;
    for (int k = 16; k; k >>= 1) s += __shfl_down_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        s = 0;
        for (int k = 0; k < 8; k++) s += part[k];
        atomicAdd(y, s);
    }
}
__global__ void oneblock_fault(float* y, const float* x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2.0f * x[i];
}
__global__ void oneblock_twin(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
__global__ void scattered_fault(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, rows = n / 256;
    y[i] = x[i % rows * 256 + i / rows];
}
__global__ void scattered_twin(float* y, const float* x, int n) {
    __shared__ float t[32][33];
    int rows = n / 256, c = blockIdx.x % 8 * 32, r = blockIdx.x / 8 * 32;
    for (int j = threadIdx.y; j < 32; j += 8) t[j][threadIdx.x] = x[(r + j) * 256 + c + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) y[(c + j) * rows + r + threadIdx.x] = t[threadIdx.x][j];
}
__global__ void banks_fault(float* y, const float* x, int n) {
    __shared__ float t[32 * 32];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) t[k] = x[k];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 64; k++) s += t[threadIdx.x % 32 * 32 + (k & 31)];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void banks_twin(float* y, const float* x, int n) {
    __shared__ float t[32 * 33];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) t[k / 32 * 33 + k % 32] = x[k];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 64; k++) s += t[threadIdx.x % 32 * 33 + (k & 31)];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void plane_fault(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
__global__ void plane_twin(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
__global__ void prefix_fault(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k <= i; k++) s += x[k];
    y[i] = s;
}
__global__ void prefix_twin(float* y, const float* x, int n) {
    __shared__ float part[1024];
    float v = x[threadIdx.x];
    part[threadIdx.x] = v;
    for (int d = 1; d < 1024; d *= 2) {
        __syncthreads();
        float w = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
        __syncthreads();
        part[threadIdx.x] += w;
    }
    y[threadIdx.x] = part[threadIdx.x];
}
__global__ void step_fault(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}
__global__ void step_twin(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}
__global__ void filter_fault(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < 64; k++) s += x[min(i + k, n - 1)];
    y[i] = s;
}
__global__ void filter_twin(float* y, const float* x, int n) {
    __shared__ float t[256 + 64];
    for (int k = threadIdx.x; k < 320; k += 256) t[k] = x[min(blockIdx.x * 256 + k, n - 1)];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 64; k++) s += t[threadIdx.x + k];
    y[blockIdx.x * 256 + threadIdx.x] = s;
}
__global__ void narrow_fault(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
__global__ void narrow_twin(float4* y, const float4* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = x[i];
    y[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}

extern "C" size_t planted_workspace_bytes(int N) { return 0; }

extern "C" cudaError_t planted(const float* x, float* y, int N, int which, void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    int n = N;
    switch (which) {
        case 0: atomics_fault<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 1: atomics_twin<<<n / 1024, 256, 0, stream>>>(y, x, n); break;
        case 2: oneblock_fault<<<1, 1024, 0, stream>>>(y, x, n); break;
        case 3: oneblock_twin<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 4: scattered_fault<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 5: scattered_twin<<<n / 1024, dim3(32, 8), 0, stream>>>(y, x, n); break;
        case 6: banks_fault<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 7: banks_twin<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 8: plane_fault<<<n / 32, dim3(32, 32), 0, stream>>>(y, x, n); break;
        case 9: plane_twin<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 10: prefix_fault<<<8, 128, 0, stream>>>(y, x, 1024); break;
        case 11: prefix_twin<<<1, 1024, 0, stream>>>(y, x, 1024); break;
        case 12: for (int k = 0; k < 16; k++) step_fault<<<n / 256, 256, 0, stream>>>(y, k ? y : x, n); break;
        case 13: step_twin<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 14: filter_fault<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 15: filter_twin<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 16: narrow_fault<<<n / 256, 256, 0, stream>>>(y, x, n); break;
        case 17: narrow_twin<<<n / 1024, 256, 0, stream>>>((float4*)y, (const float4*)x, n); break;
    }
    return cudaGetLastError();
}
