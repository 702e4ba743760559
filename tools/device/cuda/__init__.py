"""The cuda device: nvcc and a GPU."""
