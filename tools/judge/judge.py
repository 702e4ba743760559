"""The judge: source → build → smallest and exact cases → all cases → hidden cases → time."""

from __future__ import annotations

from ...benchmark.contract import Precision
from ...benchmark.task import Task
from ..device.port import Device
from ..records import Build, Candidate, EstimatedSpeedup, Record, Speedup, Verdict
from .gain import with_gain
from .source_gates import source_verdict
from .unchanged import unchanged_build
from .verify import verify


class Judgement(Record):
    """What the judge says of a candidate."""

    verdict: Verdict
    build: Build
    gain: Speedup | EstimatedSpeedup | None = None
    """Against the baseline; None if the verdict isn't `pass` or no baseline was given."""


def judge(
    candidate: Candidate,
    task: Task,
    precision: Precision,
    device: Device,
    *,
    baseline: Build | None,
    seed: int | None = None,
) -> Judgement:
    """Build and verify a candidate, and time it against a baseline's build. Without a baseline it may be the baseline.

    Raises:
        DeviceUnavailable: the device is not to be had on this machine.
    """
    baseline_source = task.source(precision) if baseline else ""
    if objection := source_verdict(candidate.source, task.contract, baseline_source):
        return Judgement(verdict=objection, build=Build(ok=False, failure="source", log=objection.summary))
    build = device.build(candidate, task, precision)
    verdict = verify(build, task, precision, device, seed=seed)
    if baseline is None:
        return Judgement(verdict=verdict, build=build)
    verdict = unchanged_build(verdict, build, baseline)
    verdict, gain = with_gain(verdict, build, baseline, task, precision, device)
    return Judgement(verdict=verdict, build=build, gain=gain)


__all__ = ["Judgement", "judge", "verify"]
