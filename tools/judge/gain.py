"""The last gate: time. What a passing build gains over the baseline, unless the clock tells another story."""

from __future__ import annotations

from ...benchmark.contract import Precision
from ...benchmark.task import Task
from ..device.port import CallFailed, Device
from ..records import Build, EstimatedSpeedup, Speedup, Status, Verdict

_NOISY_HALF_WIDTH = 0.05
"""A speedup whose interval reaches further than this share of it, and holds 1, says nothing."""


def with_gain(
    verdict: Verdict,
    build: Build,
    baseline: Build,
    task: Task,
    precision: Precision,
    device: Device,
    to_beat: float | None = None,
) -> tuple[Verdict, Speedup | EstimatedSpeedup | None]:
    """Time or estimate a build that passed; return the verdict, changed if timing found a fault, and the gain.

    With a gain `to_beat` it is measured only as well as it takes to tell which of the two is more.

    `suspect` if the times can't be true, `noisy` if they say nothing, and what happened if a timed call failed.
    Only `pass` comes with a gain.
    """
    if not verdict.passed:
        return verdict, None
    try:
        gain = device.compare(baseline, build, task, precision, device.timed_cases(task), to_beat)
    except CallFailed as failure:
        return _changed(verdict, _status(failure), f"while it was timed: {failure}"), None
    if isinstance(gain, EstimatedSpeedup):
        return verdict, gain
    if suspicions := [note for note in gain.notes if note.startswith("suspect:")]:
        return _changed(verdict, Status.SUSPECT, suspicions[0], "\n".join(suspicions)), None
    low, high = gain.geomean.low, gain.geomean.high
    lost = to_beat is not None and high < to_beat
    if not lost and low <= 1 <= high and high - low > 2 * _NOISY_HALF_WIDTH * gain.geomean.value:
        return _changed(verdict, Status.NOISY, f"right, but the speedup is anywhere from {low:.3f} to {high:.3f}"), None
    return verdict, gain


def _status(failure: CallFailed) -> Status:
    """Return whose fault a failed call is: a baseline that fails was verified before, so the machine is to blame."""
    return Status.INFRA_ERROR if failure.library == "baseline" else Status(failure.result.status)


def _changed(verdict: Verdict, status: Status, summary: str, detail: str = "") -> Verdict:
    return verdict.model_copy(update={"status": status, "summary": summary, "detail": detail})
