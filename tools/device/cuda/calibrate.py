"""Measures what the GPU does at best and keeps it in the home folder, for floors and diagnoses."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from ....benchmark.contract import Contract, Precision, size
from ....benchmark.task import Case, CaseSet, Task
from ...records import Build, Candidate
from ..gpu_model import calibration_file
from ..port import CallResult, DeviceUnavailable
from ..runner.client import RunnerProcess
from .gpu_lock import gpu_lock
from .nvcc import architecture_flag, nvcc_build
from .probe import GpuFacts, build_program, run_json
from .toolkit import Toolkit

_EMPTY: Final = """extern "C" size_t nothing_workspace_bytes(int) { return 0; }
extern "C" cudaError_t nothing(int, void*, size_t, cudaStream_t) { return cudaSuccess; }
"""


def _nothing() -> Task:
    """Return a task without arrays: its only use is a process in which to time an empty launch."""
    return Task(
        name="nothing", category="calibration", formula="", contract=Contract(entry="nothing", arguments=(size("N"),)),
        cases=(), generate=lambda *_: {}, reference=lambda *_: {}, complexity=lambda _: 1, min_flops=lambda _: 0,
        min_bytes=lambda *_: 0, waste="",
    )  # fmt: skip


def empty_launch_us(executable: Path, build: Build, environment: Mapping[str, str]) -> float:
    """Return the device time of a kernel that does nothing, measured exactly as candidates are (cold), microseconds."""
    with RunnerProcess(executable, Path(build.library), _nothing(), Precision.FP32, environment=environment) as runner:
        runner.load_case(Case(set=CaseSet.SMALL, sizes={"N": 1}), {})
        runner.time("empty", 20)
        times = runner.time("empty", 100)
    if isinstance(times, CallResult):
        raise DeviceUnavailable(f"an empty launch can't be timed: {times.message}")
    return median(times.device_us)


def calibrate(
    facts: GpuFacts, toolkit: Toolkit, executable: Path, environment: Mapping[str, str], home: Path
) -> dict[str, Any]:
    """Measure bandwidth (GB/s), arithmetic rates (TFLOP/s) and the empty launch (us); store and return them.

    Raises:
        DeviceUnavailable: nvcc or the GPU failed, or another process holds the GPU.
    """
    hopper = facts.arch == "sm_90"
    arch = "sm_90a" if hopper else facts.arch
    program = build_program("calibrate", toolkit, architecture_flag(arch), *(["-DHOPPER"] if hopper else []))
    nothing = nvcc_build(Candidate(source=_EMPTY), _nothing().contract, facts.arch, toolkit=toolkit)
    if not nothing.ok:
        raise DeviceUnavailable(f"the empty candidate does not build:\n{nothing.log}")
    with gpu_lock(facts.uuid, "calibrate"):
        measured = run_json([str(program)], 120)
        measured["empty_launch_us"] = empty_launch_us(executable, nothing, environment)
    measured["date"] = time.strftime("%Y-%m-%d")
    path = calibration_file(facts.gpu, home)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump(measured, file, indent=2)
    os.replace(file.name, path)
    return measured
