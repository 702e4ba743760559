#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

// out[r, c] = in[r, c] · weight[c] / sqrt(mean(in[r, :]²) + eps), for float and __nv_bfloat16.
template <typename T>
void launch_rms_norm(T* out, const T* in, const T* weight, int rows, int cols, float eps, cudaStream_t stream);
