"""Profiles one call of a candidate under Nsight Compute."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Task
from ...profile.metrics import DEFAULT_GROUPS, Group, metrics_of, ncu_names
from ...profile.ncu_csv import UnreadableReport, parse_ncu_csv
from ...profile.ncu_errors import explain_ncu
from ...records import Build, Profile
from ..port import CallFailed, Unsupported
from ..runner.client import Limits, RunnerFault, RunnerProcess
from .toolkit import find_tool

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LIMITS: Final = Limits(start_s=120, call_s=300, cpu_s=3600)
_REFUSED: dict[str, str] = {}
"""Why this machine's counters can't be read, by GPU, found once per process: later profiles don't try again."""
_LASTING: Final = ("no_permission", "driver_mismatch", "unsupported_gpu", "blocked")


def ncu_command(ncu: Path, log: Path, groups: tuple[Group, ...]) -> list[str]:
    """Return the command that goes before the host program's. Clocks are left as they are."""
    return [
        str(ncu), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--target-processes",
        "application-only", "--log-file", str(log), "--metrics", ",".join(ncu_names(metrics_of(*groups))),
    ]  # fmt: skip


def profile_with_ncu(
    executable: Path,
    build: Build,
    task: Task,
    precision: Precision,
    case: Case,
    arrays: Mapping[str, NDArray[Any]],
    *,
    gpu: str,
    environment: Mapping[str, str],
    folder: Path,
    groups: tuple[Group, ...] = DEFAULT_GROUPS,
) -> Profile:
    """Count what the kernels of one call do. Only the candidate's kernels run in that process.

    Raises:
        Unsupported: no Nsight Compute here, or it can't read the counters; the message holds its own line and the fix.
        CallFailed: the candidate failed in the call.
    """
    if gpu in _REFUSED:
        raise Unsupported(_REFUSED[gpu])
    ncu = find_tool("ncu")
    if ncu is None:
        raise Unsupported("Nsight Compute (ncu) was not found: install it with the CUDA toolkit and put it on PATH")
    log = folder / "ncu.log"
    wrapper = ncu_command(ncu, log, groups)
    try:
        with RunnerProcess(
            executable, Path(build.library), task, precision, limits=_LIMITS, environment=environment, wrapper=wrapper
        ) as runner:
            runner.load_case(case, arrays)
            result = runner.call()
            output = runner.log()
            runner.finish(_LIMITS.call_s)
    except RunnerFault as fault:
        raise _unsupported(gpu, _text(log), str(fault)) from None
    text = _text(log)
    if result.status != "ok":
        if explain_ncu(text):
            raise _unsupported(gpu, text, result.message)
        raise CallFailed(result)
    try:
        return parse_ncu_csv(text, gpu=gpu, case=case.name, wanted=("duration_us",))
    except UnreadableReport as error:
        raise _unsupported(gpu, text + output, str(error)) from None


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.is_file() else ""


def _unsupported(gpu: str, text: str, otherwise: str) -> Unsupported:
    problem = explain_ncu(text) or explain_ncu(otherwise)
    message = problem.sentence if problem else f"Nsight Compute gave no profile: {otherwise}"
    if problem and problem.code in _LASTING:
        _REFUSED[gpu] = message
    return Unsupported(message)


def ncu_version(ncu: Path) -> str:
    """Return e.g. `2025.3.1.0`; empty if it does not answer."""
    try:
        said = subprocess.run([ncu, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    words = [line.split("Version", 1)[1].split()[0] for line in said.splitlines() if "Version" in line]
    return words[0] if words else ""
