"""Kernels of the user's own: from a `.cu` file to a task folder, and from the winner back to a drop-in file."""
