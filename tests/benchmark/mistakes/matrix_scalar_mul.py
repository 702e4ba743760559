"""What goes wrong when a matrix is scaled."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.bf16 import from_bf16, to_bf16

from . import matrix_copy


def by(function):
    return lambda arrays, case, precision: {"B": function(arrays["A"], np.float32(case.scalars["scalar"]) * 1.0)}


MISTAKES = {
    "not scaled": by(lambda A, s: A),
    "scalar in bf16": by(lambda A, s: A * from_bf16(to_bf16(np.array([s])))[0].astype(np.float64)),
    "divided": by(lambda A, s: A / s if s else A),
    "row stride cut to a multiple of four": by(lambda A, s: matrix_copy.row_stride_cut_to_fours(A * s)),
    "without the tail of the vectors": by(lambda A, s: matrix_copy.without_the_tail(A * s)),
}
