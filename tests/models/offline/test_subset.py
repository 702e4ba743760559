"""Twelve units, one for each kind of work, that the rules improve by the cpu device's estimate."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.models.offline.chain import apply_all
from cudamaster.models.offline.rule import Setting
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Candidate, Status

SUBSET = (
    "gelu-fp32", "swiglu-bf16", "dot_product-fp32", "mse_loss-bf16", "softmax-fp32", "layer_norm-fp32",
    "prefix_sum-fp32", "sorting-fp32", "matrix_vector_mul-bf16", "spmv_csr-fp32", "top_k-fp32", "monte_carlo_int-bf16",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unit", SUBSET)
def test_the_rules_improve_it_by_the_estimate(unit: str) -> None:
    name, precision = unit.rsplit("-", 1)
    task, kind = load_task(name), Precision(precision)
    source, rules = apply_all(task.source(kind), Setting(precision=precision))
    device = CpuDevice(use_nvcc=False)
    baseline, candidate = (device.build(Candidate(source=s), task, kind) for s in (task.source(kind), source))
    assert candidate.ok, candidate.log
    verdict = verify(candidate, task, kind, device, cases=device.checked_cases(task)[:4])
    assert verdict.status is Status.PASS, verdict.detail
    gain = device.compare(baseline, candidate, task, kind, device.timed_cases(task)[:2])
    assert gain.geomean > 1.1, rules
