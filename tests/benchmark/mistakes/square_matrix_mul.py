"""What goes wrong in products of square matrices: as in rectangular ones, and operands that are mistaken."""

from __future__ import annotations

from . import matrix_mul

MISTAKES = {
    **matrix_mul.MISTAKES,
    "operands exchanged": matrix_mul.by(lambda A, B: B @ A),
    "B transposed": matrix_mul.by(lambda A, B: A @ B.T),
    "result transposed": matrix_mul.by(lambda A, B: (A @ B).T),
}
ONLY_FP32 = matrix_mul.ONLY_FP32
