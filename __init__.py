"""CUDAMaster makes CUDA kernels faster and proves that they still compute the same."""
