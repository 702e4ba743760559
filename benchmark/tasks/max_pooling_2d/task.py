"""Maximum over windows of images with many channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, sampling
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, CaseSet, Drawn, Expected, Outputs, Task

Extents = tuple[int, ...]
_HEIGHT, _WIDTH = (f"({side} + 2 * padding - kernel_size) // stride + 1" for side in "HW")

CONTRACT = Contract(
    entry="max_pooling_2d",
    arguments=(
        array_in("input", "N", "C", "H", "W", doc="may hold -infinity, no NaN"),
        array_out("output", "N", "C", _HEIGHT, _WIDTH),
        size("N", "images"),
        size("C", "channels"),
        size("H", "height"),
        size("W", "width"),
        size("kernel_size", "height and width of the windows; at most H and W, each with the padding on both sides"),
        size("stride"),
        size("padding", "0 or more cells on each side that no maximum sees; less than kernel_size"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"input": inputs.values(case.distribution, CONTRACT.arrays[0].extents(case.sizes), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return {"output": Expected(_pool(arrays["input"], case))}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    """Some planes, one of each stretch of images and channels."""
    planes = arrays["input"].reshape(1, -1, case.sizes["H"], case.sizes["W"])
    chosen = sampling.rows(planes.shape[1], rng)
    value = _pool(planes[:, chosen], case)
    return {"output": Expected(value).at(sampling.whole_rows(chosen, value[0, 0].size))}


def _pool(x: NDArray[np.float64], case: Case) -> NDArray[np.float64]:
    kernel, stride, padding = (case.sizes[name] for name in ("kernel_size", "stride", "padding"))
    height, width = CONTRACT.outputs[0].extents(case.sizes)[2:]
    sides = (padding, padding)
    padded = np.pad(x, [(0, 0), (0, 0), sides, sides], constant_values=-np.inf)
    largest = np.full((*x.shape[:2], height, width), -np.inf)
    for i in range(kernel):
        for j in range(kernel):
            ends = i + (height - 1) * stride + 1, j + (width - 1) * stride + 1
            np.maximum(largest, padded[:, :, i : ends[0] : stride, j : ends[1] : stride], out=largest)
    return largest


def min_bytes(sizes: Mapping[str, int], precision: Precision) -> int:
    """Every cell that a window covers is read once: rows and columns between windows, or after the last, are not."""
    kernel, stride, padding = (sizes[name] for name in ("kernel_size", "stride", "padding"))

    def covered(length: int) -> int:
        starts = range(-padding, length + padding - kernel + 1, stride)
        return len({cell for start in starts for cell in range(max(start, 0), min(start + kernel, length))})

    cells = covered(sizes["H"]) * covered(sizes["W"])
    read = sizes["N"] * sizes["C"] * cells * DType.STORAGE.resolve(precision).itemsize
    return read + CONTRACT.bytes_of(CONTRACT.outputs[0], precision, sizes)


def _pooled(
    set: str, shapes: Sequence[Extents], windows: Sequence[Extents], distribution: str = "uniform"
) -> Sequence[Case]:
    """Combine shapes (N, C, H, W) with windows (kernel_size, stride, padding)."""
    names = ("N", "C", "H", "W", "kernel_size", "stride", "padding")
    sizes = (dict(zip(names, shape + window, strict=True)) for shape in shapes for window in windows)
    return [Case(set=CaseSet(set), sizes=s, distribution=distribution, exact=True) for s in sizes]


TASK = Task(
    name="max_pooling_2d",
    category="convolution and pooling",
    formula="output[n, c, h, w] = max of input[n, c, h·stride − padding + i, w·stride − padding + j] over "
    "0 ≤ i, j < kernel_size inside the image",
    contract=CONTRACT,
    cases=(
        *_pooled("small", [(1, 1, 5, 7), (2, 3, 17, 33)], [(2, 1, 0), (3, 1, 1), (4, 2, 1), (3, 3, 0), (1, 2, 0)]),
        *_pooled("small", [(1, 2, 40, 31), (3, 1, 16, 65)], [(2, 1, 1), (4, 2, 0), (5, 3, 2), (7, 2, 6)], "normal"),
        *_pooled("small", [(2, 2, 30, 18)], [(2, 2, 0), (3, 2, 1)], "masked"),
        *_pooled("small", [(1, 1, 1, 1), (1, 1, 130, 4), (70, 3, 9, 8)], [(3, 2, 1)]),
        *_pooled(
            "paper",
            [(8, 3, 512, 512), (4, 3, 224, 224), (16, 3, 608, 608), (4, 1, 2048, 196)],
            [(k, stride, padding) for k, stride in ((2, 1), (3, 1), (4, 2)) for padding in (0, 1)],
        ),
        *_pooled("large", [(32, 64, 224, 224)], [(3, 2, 1), (2, 2, 0)]),
        *_pooled("hidden", [(2, 5, 61, 67), (1, 1, 300, 257)], [(2, 3, 0), (5, 1, 4), (6, 4, 3), (9, 9, 0)], "normal"),
        *_pooled("hidden", [(3, 7, 25, 130)], [(3, 1, 2), (8, 5, 1)], "masked"),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    legal=lambda case: (
        0 <= case.sizes["padding"] < case.sizes["kernel_size"]
        and case.sizes["kernel_size"] <= min(case.sizes["H"], case.sizes["W"]) + 2 * case.sizes["padding"]
    ),
    complexity=lambda s: CONTRACT.outputs[0].elements(s) * s["kernel_size"] ** 2,
    min_flops=lambda s: 0,
    min_bytes=min_bytes,
    waste="Every thread reads its whole window from global memory, with a test of the border at every cell.",
    strategies=(
        "tiles in shared memory",
        "several outputs per thread",
        "128-bit loads and stores",
        "tests of the border out of the inner loop",
        "unrolled loops",
    ),
    notes="Any window, stride and padding below the window's size is legal. Every case is exact, as a maximum rounds "
    "nothing; a window of -infinity gives -infinity.",
)
