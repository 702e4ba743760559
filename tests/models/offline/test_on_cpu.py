"""What the rules write is really run: kernels that they were not written for, on the cpu device, before the judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.models.offline.chain import apply_all
from cudamaster.models.offline.rule import Setting
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Candidate, Status

KERNELS = Path(__file__).parent / "kernels"
NAMES = sorted(p.parent.name for p in KERNELS.glob("*/task.py"))

LARGE = ("matrix_transpose", "max_pooling_2d", "square_matrix_mul", "stencil_2d", "stencil_3d", "triangle_attention")
"""Units whose forms for many elements and for few are different code."""


def check(name: str, precision: Precision, limit: int | None = None) -> None:
    """Apply all rules in their order, three times over, and ask the judge."""
    task = load_task(str(KERNELS / name))
    source, _ = apply_all(task.source(precision), Setting(precision=precision.value), passes=3)
    assert source != task.source(precision)
    device = CpuDevice()
    build = device.build(Candidate(source=source), task, precision)
    assert build.ok, build.log
    verdict = verify(build, task, precision, device, cases=device.checked_cases(task)[:limit])
    assert verdict.status is Status.PASS, verdict.detail


def test_a_reduction_with_a_helper_function_stays_right() -> None:
    check("weighted_distance", Precision.BF16, 4)


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize("name", NAMES)
def test_never_a_wrong_result(name: str, precision: Precision) -> None:
    check(name, precision)


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize(
    "name",
    ["matrix_transpose", "max_pooling_2d", "square_matrix_mul", "stencil_2d", "stencil_3d", "triangle_attention"],
)
def test_forms_for_large_sizes_are_right_at_small_ones(name: str, precision: Precision) -> None:
    """A device of one multiprocessor is filled by a few elements, so that the forms for many are launched."""
    task = load_task(name)
    source, _ = apply_all(task.source(precision), Setting(multiprocessors=1, precision=precision.value))
    device = CpuDevice()
    build = device.build(Candidate(source=source), task, precision)
    assert build.ok, build.log
    verdict = verify(build, task, precision, device, cases=device.checked_cases(task))
    assert verdict.status is Status.PASS, verdict.detail
