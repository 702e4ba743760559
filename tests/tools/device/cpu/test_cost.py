"""The estimate ranks pairs of kernels as an H200 does; four of the changes lose."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from cudamaster.tools.device.cpu.cost import call_cost_us, launch_cost
from cudamaster.tools.device.cpu.counters import Counters
from cudamaster.tools.device.gpu_model import gpu_model

from . import timed
from .conftest import Host

pytestmark = pytest.mark.xdist_group("cpu-bugs")

MEASURED: dict[str, dict[str, float]] = json.loads((timed.PAIRS / "measured.json").read_text())["pairs"]
RECORDED = timed.recorded(timed.PAIRS / "counters.jsonl")
"""What the trace of each kernel at the measured size counted; `test_trace_counts_what_is_recorded` takes it anew."""
LIGHT = ("dot_block_reduction", "one_block_to_grid", "loses_many_launches", "transpose_tile")


def assert_as_recorded(found: dict[str, Counters], recorded: dict[str, Counters]) -> None:
    for call, counters in found.items():
        assert counters == recorded[call], call


@pytest.mark.timeout(600)
def test_trace_counts_what_is_recorded(host: Host) -> None:
    assert_as_recorded(timed.trace_pairs(host, LIGHT), RECORDED)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_trace_counts_what_is_recorded_for_every_pair(host: Host) -> None:
    assert_as_recorded(timed.trace_pairs(host, [name for name in MEASURED if name not in LIGHT]), RECORDED)


def times(name: str) -> tuple[float, float]:
    gpu = gpu_model("NVIDIA H200")
    return call_cost_us(RECORDED[f"{name} before"], gpu), call_cost_us(RECORDED[f"{name} after"], gpu)


def test_there_are_twelve_pairs_and_four_lose() -> None:
    assert len(MEASURED) >= 12
    assert sum(pair["before_us"] < pair["after_us"] for pair in MEASURED.values()) == 4
    assert all((name.startswith("loses_")) == (pair["before_us"] < pair["after_us"]) for name, pair in MEASURED.items())


@pytest.mark.parametrize("name", MEASURED)
def test_estimate_ranks_the_pair(name: str) -> None:
    before, after = times(name)
    assert (before > after) == (MEASURED[name]["before_us"] > MEASURED[name]["after_us"]), (before, after)


@pytest.mark.parametrize("name", MEASURED)
def test_estimate_is_near_what_was_measured(name: str) -> None:
    for estimate, which in zip(times(name), ("before_us", "after_us"), strict=True):
        assert abs(math.log(estimate / MEASURED[name][which])) < math.log(1.5), (which, estimate)


def test_right_pairs_have_no_findings() -> None:
    assert [f.sentence for counters in RECORDED.values() for f in counters.findings] == []


def sites(name: str, which: str) -> Any:
    return RECORDED[f"{name} {which}"].launches[0]


def test_counters_equal_those_of_nsight_compute() -> None:
    dot = sites("dot_block_reduction", "before")
    assert dot.total("requests", "global", write=False) == 65536
    assert dot.total("sectors", "global", write=False) == 262144
    assert dot.total("requests", "global", atomic=True) == 8192
    assert dot.same_address_atomics == 262144
    packed = sites("float4_copy", "after")
    assert packed.total("sectors", "global", write=False) / packed.total("requests", "global", write=False) == 16
    transposed = sites("transpose_tile", "before")
    assert transposed.total("sectors", "global", write=True) / transposed.total("requests", "global", write=True) == 32
    for which, wavefronts in (("before", 32), ("after", 1)):
        tiled = sites("bank_conflict_padding", which)
        assert (
            tiled.total("wavefronts", "shared", write=False) / tiled.total("requests", "shared", write=False)
            == wavefronts
        )


def test_same_address_atomics_cost_what_they_cost_on_a_gpu() -> None:
    cost = launch_cost(sites("dot_block_reduction", "before"), gpu_model("NVIDIA H200"))
    assert cost.atomic_us == pytest.approx(463, rel=0.02)
