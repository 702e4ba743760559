"""The cpu device: CUDA source compiled for the host and really run."""
