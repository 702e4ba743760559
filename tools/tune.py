"""The `tune` tool: search the marked constants of a source on the device, by successive halving."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..benchmark.scoring import geometric_mean
from ..benchmark.task import Task
from .answers import answers
from .device.port import Device
from .device.select import get_device
from .records import Build, BuildSpec, Candidate
from .tunables import versions, with_values

_CALLS: Final = (6, 12, 24, 48)
"""Calls of each version at each case, by the number of times that the versions were halved."""
_BETTER: Final = 0.97
"""What takes more than this share of the time of the source as it is may be as good: two processes of one library
differ by 1 to 2 %."""


class TuneInput(BaseModel):
    """What to search, and where."""

    source: str = Field(description="The whole CUDA C++ file.")
    names: list[str] = Field(description="Marked constants that may be changed.")
    spec: dict[str, Any] = Field(default_factory=dict, description="Build options: the fields of BuildSpec.")
    task: str = Field(description="Name of the task, or its folder.")
    precision: str = Field(description="fp32 or bf16.")
    device: str = Field(default="auto", description="auto, cuda or cpu.")


@tool("tune", args_schema=TuneInput)
@answers
def tune(
    source: str, names: list[str], spec: dict[str, Any], task: str, precision: str, device: str = "auto"
) -> dict[str, Any]:
    """Time versions of a source and keep the quickest. Answers {"status", "source", "build": Build, "found": a line}.

    Nothing is verified here: that is for the judge, as with any other source.
    """
    where, what, unit = get_device(device), load_task(task), Precision(precision)
    values = versions(source, names)
    sources = [with_values(source, one) for one in values]

    def built(text: str) -> Build:
        return where.build(Candidate(source=text, spec=BuildSpec.model_validate(spec)), what, unit)

    with ThreadPoolExecutor(len(sources)) as pool:
        builds = list(pool.map(built, sources))
    best, share = _quickest(builds, what, unit, where)
    said = ", ".join(f"{name}={value}" for name, value in values[best].items())
    gain = f"{1 / share - 1:.1%} quicker than the first guess" if best else "as it was"
    return {
        "status": "ok",
        "source": sources[best],
        "build": builds[best].model_dump(mode="json"),
        "found": f"{said} of {len(values)} versions: {gain}",
    }


def _quickest(builds: Sequence[Build], task: Task, precision: Precision, device: Device) -> tuple[int, float]:
    """Return which build is the quickest, and its share of the first one's time: 0 and 1 if none is clearly quicker.

    All are timed in a few calls, the better half of them in twice as many, and so on until two are left. The first is
    timed each time, since the others are compared with it.
    """
    able = [number for number, build in enumerate(builds) if build.ok]
    if len(able) < 2 or able[0] != 0:
        return 0, 1.0
    left, shares = list(range(len(able))), {0: 1.0}
    with device.sampling([builds[number] for number in able], task, precision) as sample:
        for calls in _CALLS:
            times = sample(left, calls)
            if 0 not in times:
                return 0, 1.0
            shares = {
                number: geometric_mean([one / first for one, first in zip(each, times[0], strict=True)])
                for number, each in times.items()
            }
            ranked = sorted(shares, key=lambda number: shares[number])
            if len(left) <= 2:
                break
            left = sorted({0, *ranked[: len(left) // 2]})
    best = min(shares, key=lambda number: shares[number])
    return (able[best], shares[best]) if shares[best] < _BETTER else (0, 1.0)
