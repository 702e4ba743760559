"""The estimate ranks pairs of kernels as an H200 does; four of the changes lose."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cudamaster.tools.device.cpu.cost import call_cost_us, launch_cost
from cudamaster.tools.device.cpu.counters import Counters, read_counters
from cudamaster.tools.device.gpu_model import gpu_model

from .conftest import Host, draw, f32

pytestmark = pytest.mark.xdist_group("cpu-bugs")

HERE = Path(__file__).parent / "pairs"
MEASURED: dict[str, dict[str, float]] = json.loads((HERE / "measured.json").read_text())["pairs"]
SQUARE = {"matmul_register_tile", "matvec_warp_per_row", "transpose_tile", "bank_conflict_padding", "loses_slow_axis"}


RECORDED: dict[str, dict[str, Counters]] = {
    name: {which: Counters.model_validate(value) for which, value in pair.items()}
    for name, pair in json.loads((HERE / "counters.json").read_text()).items()
}
"""What the trace of each kernel at the measured size counted; `test_trace_counts_what_is_recorded` takes it anew."""
LIGHT = ("dot_block_reduction", "one_block_to_grid", "loses_many_launches", "transpose_tile")


def trace(host: Host, names: Sequence[str]) -> dict[str, dict[str, Counters]]:
    """Trace both kernels of these pairs at the measured size: all in one library."""
    source, calls = "", []
    for name in names:
        text = (HERE / f"{name}.cu").read_text()
        text = re.sub(r"\b(before|after)\(", rf"{name}_\1(", text).replace("#include <cuda_runtime.h>\n", "")
        source += f"namespace {name} {{\n#line 1\n{text}\n}}\n"
        n = int(re.search(r"n = (\d+)", text)[1])  # type: ignore[index]
        size = n * n if name in SQUARE else n
        x, y = draw(size, 1), draw(size, 2)
        calls += [(f"{name}_{which}", [f32(size), x, y, n]) for which in ("before", "after")]
    build = host.build(source, [entry for entry, _ in calls])
    assert build.ok, build.log
    library = host.trace(build)
    results = host.run([(str(library), entry, arguments) for entry, arguments in calls])
    found: dict[str, dict[str, Counters]] = {}
    for (entry, _), result in zip(calls, results, strict=True):
        assert result["status"] == 0, result["message"]
        name, _, which = entry.rpartition("_")
        found.setdefault(name, {})[which] = read_counters(result["counters"], library)
    return found


def assert_as_recorded(found: dict[str, dict[str, Counters]]) -> None:
    for name, pair in found.items():
        for which, counters in pair.items():
            assert counters == RECORDED[name][which], (name, which)


@pytest.mark.timeout(600)
def test_trace_counts_what_is_recorded(host: Host) -> None:
    assert_as_recorded(trace(host, LIGHT))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_trace_counts_what_is_recorded_for_every_pair(host: Host) -> None:
    assert_as_recorded(trace(host, [name for name in MEASURED if name not in LIGHT]))


def times(name: str) -> tuple[float, float]:
    gpu = gpu_model("NVIDIA H200")
    return call_cost_us(RECORDED[name]["before"], gpu), call_cost_us(RECORDED[name]["after"], gpu)


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
    assert [f.sentence for pair in RECORDED.values() for c in pair.values() for f in c.findings] == []


def sites(name: str, which: str) -> Any:
    return RECORDED[name][which].launches[0]


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
