"""Profiles one call of a candidate under Nsight Compute."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Task
from ...profile.metrics import DEFAULT_GROUPS, Group, MetricSpec, metrics_of, ncu_names
from ...profile.ncu_csv import UnreadableReport, parse_ncu_csv
from ...profile.ncu_errors import explain_ncu
from ...profile.ncu_report import read_ncu_report, report_module
from ...records import Build, Profile
from ..port import CallFailed, CallResult, Unsupported
from ..runner.client import Limits, RunnerFault, RunnerProcess
from .toolkit import find_tool

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LIMITS: Final = Limits(start_s=120, call_s=300, cpu_s=3600)
_REFUSED: dict[str, str] = {}
"""Why this machine's counters can't be read, by GPU, found once per process: later profiles don't try again."""
_LASTING: Final = ("no_permission", "driver_mismatch", "unsupported_gpu", "blocked")


_TABLE: Final = ("--csv", "--page", "raw", "--print-units", "base")


def ncu_command(ncu: Path, log: Path, metrics: Sequence[str], report: Path | None = None) -> list[str]:
    """Return the command that goes before the host program's: it prints a table, or writes a report.

    Clocks are left as they are.
    """
    output = ("--force-overwrite", "--export", str(report)) if report else _TABLE
    return [
        str(ncu), *output, "--clock-control", "none", "--target-processes", "application-only",
        "--log-file", str(log), "--metrics", ",".join(metrics),
    ]  # fmt: skip


def without_unknown(specs: Sequence[MetricSpec], refused: set[str], text: str) -> list[str]:
    """Add to `refused` the metrics that ncu's message names, and return the names to ask for instead.

    Another name of the same metric comes first; a metric that this version or GPU has under no name is left out.
    """
    names = {name for spec in specs for name in spec.ncu}
    refused |= {word for word in re.findall(r"[\w.]+", text) if word in names}
    chosen = (next((name for name in spec.ncu if name not in refused), "") for spec in specs)
    return [name for name in chosen if name]


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
    hold: Callable[[], AbstractContextManager[None]] = nullcontext,
    start: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Profile:
    """Count what the kernels of one call do. Only the candidate's kernels run in that process.

    `hold` returns a context in which the GPU is this call's alone: the tool's start, which takes longer than most
    calls, needs none, but is made in `start`'s.

    Raises:
        Unsupported: no Nsight Compute here, or it can't read the counters; the message holds its own line and the fix.
        CallFailed: the candidate failed in the call.
    """
    if gpu in _REFUSED:
        raise Unsupported(_REFUSED[gpu])
    ncu = find_tool("ncu")
    if ncu is None:
        raise Unsupported("Nsight Compute (ncu) was not found: install it with the CUDA toolkit and put it on PATH")
    report = folder / "profile.ncu-rep" if report_module(ncu) else None
    specs, refused = metrics_of(*groups), set[str]()
    metrics = list(ncu_names(specs))
    for _ in range(1 + len(specs)):
        log = folder / "ncu.log"
        log.unlink(missing_ok=True)
        try:
            with start():
                runner = RunnerProcess(
                    executable, Path(build.library), task, precision, limits=_LIMITS, environment=environment,
                    wrapper=ncu_command(ncu, log, metrics, report),
                )  # fmt: skip
            with runner:
                with hold():
                    runner.load_case(case, arrays)
                    result, fault = runner.call(), ""
                runner.finish(_LIMITS.call_s)
        except RunnerFault as error:
            result, fault = CallResult("crash"), str(error)
        text = _text(log)
        problem = explain_ncu(text + fault)  # what the candidate prints is in neither
        if problem and problem.code == "unknown_metric":
            before = len(refused)
            metrics = without_unknown(specs, refused, problem.line)
            if len(refused) > before:
                continue
        if problem and (problem.code != "other" or fault or result.status == "ok"):
            raise _unsupported(gpu, problem.sentence, problem.code)
        if fault:
            raise _unsupported(gpu, f"Nsight Compute did not start: {fault}", "")
        if result.status != "ok":
            raise CallFailed(result)
        try:
            return _read(ncu, report, text, gpu, case.name)
        except UnreadableReport as error:
            raise _unsupported(gpu, f"Nsight Compute gave no profile: {error}", "") from None
    raise Unsupported("Nsight Compute knows none of the metrics")


def _read(ncu: Path, report: Path | None, log: str, gpu: str, case: str) -> Profile:
    """Read what ncu wrote: a report with its Python module, or, where that fails, with ncu itself; else the table.

    Raises:
        UnreadableReport: there is none, or it can't be read.
    """
    wanted = ("duration_us",)
    module = report_module(ncu)
    if report is None or module is None or not report.is_file():
        return parse_ncu_csv(log, gpu=gpu, case=case, wanted=wanted)
    try:
        return read_ncu_report(module, report, gpu=gpu, case=case, wanted=wanted)
    except UnreadableReport:
        command = [str(ncu), "--import", str(report), *_TABLE]
        table = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
        return parse_ncu_csv(table, gpu=gpu, case=case, wanted=wanted)


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.is_file() else ""


def _unsupported(gpu: str, message: str, code: str) -> Unsupported:
    if code in _LASTING:
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
