"""Real CUDA kernels through the real judge: honest ones pass, each natural mistake is rejected."""

from __future__ import annotations

from functools import cache

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import task_names
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.benchmark.kernel_sets import NAMES, SelectingDevice, kernel_set, smallest_first
from cudamaster.tests.benchmark.margins import EXACT, FIFTY, many_seeds
from cudamaster.tests.benchmark.on_device import kernels_on, table, together
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.device.cuda.nvcc import nvcc_build
from cudamaster.tools.device.port import DeviceUnavailable
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Candidate, Status

PAIRS = [(name, precision) for name in NAMES for precision in Precision]
units = pytest.mark.parametrize(("name", "precision"), PAIRS, ids=[f"{n}-{p}" for n, p in PAIRS])
_EACH_HEADER = ("gelu", "dot_product", "matrix_mul", "layer_norm", "spmv_csr", "spmv_coo", "softmax", "stencil_2d")
QUICK = {(name, list(Precision)[index % 2]) for index, name in enumerate(_EACH_HEADER)}
"""The fast suite takes one or two tasks of each header in one precision."""
some_quick = pytest.mark.parametrize(
    ("name", "precision"),
    [pytest.param(n, p, marks=[] if (n, p) in QUICK else pytest.mark.slow, id=f"{n}-{p}") for n, p in PAIRS],
)


@cache
def cpu_device():
    device = CpuDevice(use_nvcc=False)
    try:
        device.info()
    except DeviceUnavailable as error:
        pytest.skip(str(error))
    return device


def test_every_task_has_kernels():
    assert list(NAMES) == task_names()


@some_quick
def test_the_judge_accepts_every_honest_kernel_and_rejects_every_mistake(name, precision):
    device, kernels = cpu_device(), kernel_set(name, precision)
    build = kernels.build(device)
    assert build.ok, build.log
    cases = smallest_first(kernels.task, kernels.task.in_set(CaseSet.SMALL))
    for index, (kind, label) in enumerate(kernels.variants):
        some = cases[index % 3 :: 3] if kind == "HONEST" else cases
        verdict = verify(build, kernels.task, precision, SelectingDevice(device, kernels, index), cases=some, seed=1)
        if kind == "HONEST":
            assert verdict.passed, f"{label}: {verdict.detail}"
            assert max(e.worst_ratio for e in verdict.cases) <= 0.5, label
        else:
            assert verdict.status is Status.WRONG, f"{label}: {verdict.summary}"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@units
def test_it_is_so_over_many_seeds(name, precision):
    cpu_device()
    found = kernels_on("cpu", name, precision, many_seeds(name), every=8 if name in FIFTY else 4)
    assert found["kernel_seeds"] == len(many_seeds(name))
    assert {n: f for n, f in found["honest"].items() if f["value"] > 0.5} == {}
    assert {n: f for n, f in found["mistakes"].items() if f["value"] <= 1} == {}


@pytest.mark.slow
@pytest.mark.nvcc
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "precision"), [(n, list(Precision)[i % 2]) for i, n in enumerate(NAMES)], ids=NAMES)
def test_nvcc_compiles_them(name, precision):
    kernels = kernel_set(name, precision)
    build = nvcc_build(Candidate(source=kernels.source), kernels.selecting.contract, "sm_90")
    assert build.ok, build.log


@pytest.mark.gpu
@pytest.mark.timeout(600)
@units
def test_it_is_so_on_a_gpu(name, precision):
    found = kernels_on("cuda", name, precision, range(4))
    assert {n: f for n, f in found["honest"].items() if f["value"] > 0.5} == {}
    assert {n: f for n, f in found["mistakes"].items() if f["value"] <= 1} == {}


@units
def test_there_are_enough_of_them(name, precision):
    kernels = kernel_set(name, precision)
    assert len(kernels.of("HONEST")) >= 4
    assert len(kernels.of("MISTAKE")) >= 6
    assert len(set(kernels.variants)) == len(kernels.variants)


FOUND = {
    "honest": {"tree": {"value": 0.25, "case": "N=3"}},
    "libraries": {"BLAS": {"value": 0.5, "case": "N=5"}, "coarse BLAS": {"value": 7.0, "case": "N=6"}},
    "declined": {"BLAS": {"cases": 2, "first": "N=1", "reason": "RuntimeError: too small"}},
    "mistakes": {"tail_dropped": {"value": EXACT, "case": "N=1"}, "in_bf16": {"value": 3.14159, "case": "N=9"}},
    "kernel_seeds": 7,
}


def test_the_table_names_the_worst_honest_and_the_weakest_wrong_result():
    device = {"name": "cuda", "gpu": "A GPU", "driver": "1.2", "compiler": "nvcc 3"}
    text = table({"device": device, "date": "2026-01-02", "seeds": 7, "units": {"dot-fp32": FOUND}})
    assert "A GPU, driver 1.2, nvcc 3, 2026-01-02" in text
    assert "| dot-fp32 | 7 | 1 + 1 | 0.500 | BLAS, N=5 | 2 of 2 | in bf16 | 3.14 |" in text
    assert "rejects:\n\n- dot-fp32: coarse BLAS: 7 at N=6" in text
    assert "Not run here, or in one precision only: batch_norm, " in text
    assert "- dot-fp32: BLAS: 2 cases, first N=1: RuntimeError: too small" in text


def test_shares_of_the_seeds_make_one_result():
    share = {
        "honest": {"tree": {"value": 0.3, "case": "N=4"}},
        "mistakes": {"in_bf16": {"value": 2.0, "case": "N=8"}, "tail_dropped": {"value": EXACT, "case": "N=1"}},
        "kernel_seeds": 5,
    }
    results = [{"seeds": seeds, "units": {"dot-fp32": found}} for seeds, found in ((7, FOUND), (5, share), (7, FOUND))]
    whole = together(results)
    assert whole["seeds"] == 7
    unit = whole["units"]["dot-fp32"]
    assert unit["kernel_seeds"] == 19
    assert unit["honest"]["tree"] == {"value": 0.3, "case": "N=4"}
    assert unit["mistakes"]["in_bf16"] == {"value": 2.0, "case": "N=8"}
    assert unit["libraries"] == FOUND["libraries"]
