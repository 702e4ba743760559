"""What the kernel computes, in float64."""

import numpy as np


def rms_norm(x, weight, rows, cols, eps):
    """Return the outputs, from the inputs in the order of the launcher's parameters."""
    x = x.reshape(rows, cols)
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + eps) * weight
