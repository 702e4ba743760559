// Seven-point stencil, naive: 4x4x4 blocks with threadIdx.x on the slow axis, the border by a second kernel.
#include <cuda_runtime.h>

__global__ void stencil_3d_inside(float* u_new, const float* u_old, float r, int nx, int ny, int nz) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < 1 || i >= nx - 1) return;
    const long long row = nz, plane = (long long)ny * nz;
    for (long long j = blockIdx.y * blockDim.y + threadIdx.y; j < ny - 1; j += gridDim.y * blockDim.y) {
        for (long long k = blockIdx.z * blockDim.z + threadIdx.z; k < nz - 1; k += gridDim.z * blockDim.z) {
            if (j < 1 || k < 1) continue;
            const long long at = i * plane + j * row + k;
            const float u = u_old[at];
            const float neighbours = u_old[at - plane] + u_old[at + plane] +
                                     u_old[at - row] + u_old[at + row] +
                                     u_old[at - 1] + u_old[at + 1];
            u_new[at] = u + r * (neighbours - 6.0f * u);
        }
    }
}

__global__ void stencil_3d_border(float* u_new, const float* u_old, int nx, int ny, int nz) {
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= (long long)nx * ny * nz) return;
    const long long k = at % nz, j = at / nz % ny, i = at / nz / ny;
    const bool inside = i > 0 && i < nx - 1 && j > 0 && j < ny - 1 && k > 0 && k < nz - 1;
    if (!inside) u_new[at] = u_old[at];
}

static int blocks_for(int extent) {
    const int blocks = (extent - 1) / 4 + 1;
    return blocks < 65535 ? blocks : 65535;
}

extern "C" size_t stencil_3d_workspace_bytes(int nx, int ny, int nz) {
    return 0;
}

extern "C" cudaError_t stencil_3d(float* u_new, const float* u_old, float r, int nx, int ny, int nz,
                                  void* workspace, size_t workspace_bytes, cudaStream_t stream) {
    const dim3 threads(4, 4, 4);
    const dim3 blocks((nx - 1) / 4 + 1, blocks_for(ny), blocks_for(nz));
    stencil_3d_inside<<<blocks, threads, 0, stream>>>(u_new, u_old, r, nx, ny, nz);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    const long long points = (long long)nx * ny * nz;
    stencil_3d_border<<<(unsigned)((points - 1) / 256 + 1), 256, 0, stream>>>(u_new, u_old, nx, ny, nz);
    return cudaGetLastError();
}
