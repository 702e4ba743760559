"""Runs calls of a candidate under compute-sanitizer's four tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Task
from ...profile.ncu_csv import kernel_name
from ...records import Build, CaseEvidence
from ..port import CallResult, Unsupported
from ..runner.client import Limits, RunnerFault, RunnerProcess
from .toolkit import find_tool

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MARK: Final = "========="
TOOLS: Final = ("memcheck", "racecheck", "initcheck", "synccheck")
_LIMITS: Final = Limits(start_s=120, call_s=300, cpu_s=3600)
_REFUSED: Final = r"Device not supported|Unable to find injection|Internal Sanitizer Error|not supported on this"


_HEAD: Final = re.compile(
    r"Invalid|Misaligned|Uninitialized|Error: |Barrier error|Divergent|Warp-level|Missing|Potential"
)
_FRAME: Final = re.compile(r"\bat (?:void )?(?P<name>[^(]+)\(.*\)\+0x[0-9a-f]+(?: in (?:\S*/)?(?P<place>\S+:\d+))?")


def sanitizer_findings(tool: str, log: str) -> list[str]:
    """Return one sentence per distinct report: what, in which kernel, at which line, how often."""
    lines = [line[len(_MARK) :] for line in log.splitlines() if line.startswith(_MARK)]
    found: dict[str, int] = {}
    for index, line in enumerate(lines):
        if not _HEAD.match(line.removeprefix(" ")):
            continue
        body = list(takewhile(lambda text: text.startswith("   "), lines[index + 1 :]))
        frames = [frame for text in [line, *body] if (frame := _FRAME.search(text))]
        places = [f"{kernel_name(f['name'])}{f' ({p})' if (p := f['place']) else ''}" for f in frames[:2]]
        distance = next((text.strip() for text in body if "nearest allocation" in text), "")
        what = _FRAME.sub("", line.strip()).strip()
        parts = [what, *([f"in {' and '.join(places)}"] if places else []), *([distance] if distance else [])]
        sentence = f"{tool}: " + re.sub(r" at 0x[0-9a-f]+", "", ", ".join(parts))
        found[sentence] = found.get(sentence, 0) + 1
    if not found and (summary := re.search(r"SUMMARY: (\d+) (?:error|hazard)", log)) and int(summary[1]):
        found[f"{tool}: {summary[1]} errors of a kind that is not known here:\n{log[-2000:]}"] = 1
    return [f"{sentence} [{count} reports]" if count > 1 else sentence for sentence, count in found.items()]


def sanitize_with_compute_sanitizer(
    executable: Path,
    build: Build,
    task: Task,
    precision: Precision,
    data: Sequence[tuple[Case, Mapping[str, NDArray[Any]]]],
    *,
    seed: int,
    environment: Mapping[str, str],
    folder: Path,
    tools: Sequence[str] = TOOLS,
    hold: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[CaseEvidence, ...]:
    """Return what the tools report of one call at each case, one record each; empty if they report nothing.

    `hold` returns a context that has the GPU to itself: the calls are made in it, and the tools start and end outside.

    Raises:
        Unsupported: compute-sanitizer is not installed, or it refuses this GPU.
    """
    sanitizer = find_tool("compute-sanitizer")
    if sanitizer is None:
        raise Unsupported("compute-sanitizer was not found: install it with the CUDA toolkit and put it on PATH")

    def started(tool: str, number: int) -> RunnerProcess:
        log = folder / f"{tool}-{number}.log"
        wrapper = [str(sanitizer), "--tool", tool, "--log-file", str(log), "--print-limit", "20"]
        if tool == "memcheck":  # errors of API calls show in the call's own result
            wrapper += ["--report-api-errors", "no"]
        # No guard bands: a tool sees where each buffer really ends.
        return stack.enter_context(
            RunnerProcess(
                executable, Path(build.library), task, precision, limits=_LIMITS, environment=environment,
                wrapper=wrapper, guard_bytes=0,
            )
        )  # fmt: skip

    def called(runner: RunnerProcess, tool: str, number: int) -> CallResult:
        case, arrays = data[number]
        runner.load_case(case, arrays)
        # No poison for initcheck: it counts as written.
        return runner.call(poison=-1 if tool == "initcheck" else 0xFF)

    def reports_of(runner: RunnerProcess, result: CallResult, tool: str, number: int) -> list[str]:
        runner.finish(60)
        log = folder / f"{tool}-{number}.log"
        text = log.read_text(errors="replace") if log.is_file() else ""
        if refused := re.search(_REFUSED, text):
            raise Unsupported(f"compute-sanitizer --tool {tool} does not run here: {refused[0]}")
        reports = sanitizer_findings(tool, text)
        if not reports and result.status != "ok":
            reports = [f"{tool}: the call ended with {result.status}: {result.message}"]
        return reports

    # Most of a tool's time is its start: all start at once.
    pieces = [(tool, number) for number in range(len(data)) for tool in tools]
    tool_of, number_of = zip(*pieces, strict=True)
    with ThreadPoolExecutor(len(pieces)) as pool, ExitStack() as stack:
        try:
            runners = list(pool.map(started, tool_of, number_of))
            with hold():
                results = list(pool.map(called, runners, tool_of, number_of))
            reports = list(pool.map(reports_of, runners, results, tool_of, number_of))
        except RunnerFault as fault:
            raise Unsupported(f"compute-sanitizer does not run here: {fault}") from None
    return tuple(
        CaseEvidence(case=data[number][0].name, set=data[number][0].set, seed=seed, ok=False, reason=reason)
        for (_, number), found in zip(pieces, reports, strict=True)
        for reason in found
    )
