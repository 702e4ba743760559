"""What a case costs the machine that makes it: counted for memory, roughly right for time."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.cases import cases
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.estimate import host_bytes, host_seconds
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import CaseSet
from cudamaster.tools.judge.memory import MOST_S

GELU = load_task("gelu")


def test_memory_counts_every_copy():
    (case,) = cases("small", N=1000)
    assert host_bytes(GELU, case, Precision.FP32, sampled=False) == 1000 * (20 + 40)
    assert host_bytes(GELU, case, Precision.BF16, sampled=True) == 1000 * (18 + 4)


@pytest.mark.parametrize("name", task_names())
def test_every_case_of_the_benchmark_can_be_made_and_small_ones_at_once(name):
    task = load_task(name)
    for case in task.cases:
        assert host_seconds(task, case, sampled=task.sample is not None) < MOST_S, case.name
    for case in task.in_set(CaseSet.SMALL):
        assert host_seconds(task, case, sampled=False) < 3, case.name
        assert host_bytes(task, case, Precision.FP32, sampled=False) < 10**8, case.name


@pytest.mark.parametrize("name", ["matrix_mul", "conv_2d", "top_k", "spmm_csr"])
def test_more_work_takes_longer_and_a_sample_is_cheaper(name):
    task = load_task(name)
    large = task.in_set(CaseSet.LARGE)[0]
    small = task.in_set(CaseSet.SMALL)[0]
    assert host_seconds(task, large, sampled=False) > 100 * host_seconds(task, small, sampled=False)
    assert host_seconds(task, large, sampled=True) <= host_seconds(task, large, sampled=False)


def test_it_was_so_on_one_core():
    """Seconds measured for data and answer: the estimate is right by a factor of eight."""
    measured = {
        "conv_2d": (4.5, "in_rows=1024,in_cols=1024,k_rows=32,k_cols=32 uniform", False),
        "cross_entropy_loss": (3.1, "C=4194304 probabilities", False),
        "matrix_mul": (2.0, "M=1024,N=2048,K=4096 uniform", True),
        "matrix_power": (2.1, "N=1024,P=16 uniform", False),
        "matrix_transpose": (2.6, "M=8192,N=1024 uniform", True),
        "spmm_csc": (4.4, "rows=2048,cols=4096,nnz=83886,K=4096 uniform", True),
        "triangle_attention": (1.2, "batch=1,heads=48,seq=1024,head_dim=128 uniform", True),
    }
    for name, (seconds, case_name, sampled) in measured.items():
        task = load_task(name)
        case = next(c for c in task.cases if c.name == case_name)
        assert 1 / 8 <= host_seconds(task, case, sampled=sampled) / seconds <= 8.5, name
