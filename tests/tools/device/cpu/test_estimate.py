"""Estimated times rank kernels as an H200's times do, and the page says how well."""

from __future__ import annotations

import json
import math

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tools.device.cpu.cost import call_cost_us
from cudamaster.tools.device.cpu.counters import Counters
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.records import Candidate

from . import timed
from .conftest import Host

pytestmark = [pytest.mark.xdist_group("cpu-bugs"), pytest.mark.timeout(600)]

ROWS = timed.estimates()
LIGHT = (
    "matmul_naive 128",
    "matmul_tile_16 128",
    "matmul_registers_4 128",
    "sum_by_tree 65536",
    "sum_by_atomics 65536",
)


def test_every_timed_variant_is_estimated() -> None:
    assert {f"{row.name} {row.size}" for row in ROWS if row.group == "variant"} == set(timed.measured())
    assert len(timed.measured()) >= 100


@pytest.mark.parametrize("group", ["variant", "pair", "baseline"])
def test_estimates_rank_as_measured(group: str) -> None:
    rows = [row for row in ROWS if row.group == group]
    assert timed.spearman(rows) >= 0.9
    assert timed.within(rows, 2.0) >= 0.9


def test_estimates_rank_what_constants_were_not_fitted_to() -> None:
    rows = timed.held_out(ROWS)
    assert len(rows) >= 100
    assert timed.spearman(rows) >= 0.9


def test_the_faster_of_two_variants_is_known() -> None:
    choices = timed.same_work(ROWS)
    assert len(choices) >= 100
    assert sum(map(timed.agree, choices)) >= 0.9 * len(choices)


def estimated(name: str, n: int) -> float:
    return next(row.estimated_us for row in ROWS if (row.name, row.size) == (name, str(n)))


def test_tiles_and_registers_pay_where_they_pay_on_a_gpu() -> None:
    """Measured at 1024: naive 418 us, tiles 280, 4 x 4 registers 106; at 128 the large tiles leave most of it idle."""
    naive, tiled, registers = (estimated(f"matmul_{kind}", 1024) for kind in ("naive", "tile_16", "registers_4"))
    assert naive > 1.2 * tiled > 2 * registers
    assert estimated("matmul_registers_4", 128) > estimated("matmul_tile_16", 128)


def test_rank_correlation_of_known_orders() -> None:
    def rows(*times: float) -> list[timed.Timed]:
        return [timed.Timed("variant", "x", "1", float(k), time) for k, time in enumerate(times, 1)]

    assert timed.spearman(rows(10, 20, 30)) == pytest.approx(1)
    assert timed.spearman(rows(30, 20, 10)) == pytest.approx(-1)
    assert timed.spearman(rows(20, 10, 40, 30)) == pytest.approx(0.6)


def test_the_page_is_what_was_estimated() -> None:
    assert timed.PAGE.read_text() == timed.page(ROWS), "python -m tests.tools.device.cpu.timed writes it anew"


def test_trace_estimates_what_is_recorded(host: Host) -> None:
    gpu, recorded = gpu_model("NVIDIA H200"), timed.recorded(timed.VARIANTS / "counters.jsonl")
    for call, counters in timed.trace(host, LIGHT).items():
        assert call_cost_us(counters, gpu) == pytest.approx(call_cost_us(recorded[call], gpu), rel=0.01), call


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_trace_estimates_what_is_recorded_for_every_variant(host: Host) -> None:
    gpu, recorded = gpu_model("NVIDIA H200"), timed.recorded(timed.VARIANTS / "counters.jsonl")
    for call, counters in timed.trace(host, recorded).items():
        assert call_cost_us(counters, gpu) == pytest.approx(call_cost_us(recorded[call], gpu), rel=0.05), call


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_baselines_are_estimated_as_recorded(host: Host) -> None:
    device = CpuDevice(use_nvcc=False, root=host.root)
    rows = [json.loads(line) for line in (timed.VARIANTS / "baselines.jsonl").read_text().splitlines()]
    for row in rows:
        name, _, precision = row["unit"].rpartition("-")
        task, kind = load_task(name), Precision(precision)
        case = next(case for case in task.cases if case.name == row["case"])
        build = device.build(Candidate(source=task.source(kind)), task, kind)
        assert build.ok, build.log
        counters = device.count(build, task, kind, case, device._arrays(task, kind, case, 1))
        estimate = call_cost_us(counters, device.gpu, floor_us=row["floor_us"])
        recorded = call_cost_us(Counters.model_validate(row["counters"]), device.gpu, floor_us=row["floor_us"])
        assert abs(math.log(estimate / recorded)) < math.log(1.2), (row["unit"], row["case"])
