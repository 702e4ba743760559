"""Library arms: which tasks have one, and that CUB's sources are kernels of the contract like any other."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.library.cub import CUB, cub_source
from cudamaster.benchmark.library.registry import NOT_COVERED, arms
from cudamaster.benchmark.registry import load_task, task_names


def test_every_task_has_an_arm_or_a_reason_why_not() -> None:
    covered = {name for name in task_names() if name in CUB or all(arms(name, precision) for precision in Precision)}
    assert covered | set(NOT_COVERED) == set(task_names())
    assert not covered & set(NOT_COVERED)
    assert len(covered) == 47


@pytest.mark.parametrize("task", sorted(CUB))
@pytest.mark.parametrize("precision", Precision)
def test_a_source_has_the_entries_and_the_storage_type_of_its_unit(task: str, precision: Precision) -> None:
    source = cub_source(task, precision)
    contract = load_task(task).contract
    for entry in (contract.entry, contract.workspace_entry):
        assert f" {entry}(" in source
    assert f"typedef {'float' if precision is Precision.FP32 else '__nv_bfloat16'} T;" in source


@pytest.mark.nvcc
@pytest.mark.slow
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("task", ["dot_product", "swiglu", "prefix_sum", "sorting"])  # one of each file
def test_the_sources_compile(task: str, precision: Precision) -> None:
    from cudamaster.tools.device.cuda.nvcc import nvcc_build
    from cudamaster.tools.records import Candidate

    build = nvcc_build(Candidate(source=cub_source(task, precision)), load_task(task).contract, "sm_90")
    assert build.ok, build.log


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("task", [name for name in task_names() if arms(name, Precision.FP32)])
def test_the_judge_accepts_every_arm_at_the_small_cases(task: str, precision: Precision) -> None:
    pytest.importorskip("torch")
    from cudamaster.benchmark.task import CaseSet
    from cudamaster.evals.measure_baseline import time_libraries

    names = [case.name for case in load_task(task).in_set(CaseSet.SMALL)]
    wrong = [r for r in time_libraries(task, precision.value, CaseSet.SMALL, names) if r.status == "wrong"]
    assert wrong == []
