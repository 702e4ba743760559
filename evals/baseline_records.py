"""What is measured of the baselines and of the libraries beside them: records, and the file that collects them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from ..benchmark.task import CaseSet
from ..tools.device.gpu_model import GpuModel, gpu_model
from ..tools.device.port import DeviceInfo
from ..tools.records import Diagnosis, Profile, Record, Status
from .lines import read_lines


class Session(Record):
    """Where and when something was measured."""

    kind: Literal["session"] = "session"
    device: DeviceInfo
    date: str
    rates: dict[str, float]
    """The ceilings of `CALIBRATED_FIELDS` that floors were made with: that machine's own where it was calibrated."""

    @property
    def gpu(self) -> GpuModel:
        """The GPU with these ceilings."""
        return gpu_model(self.device.gpu).model_copy(update=self.rates)


class TimedCase(Record):
    """A baseline, or a library's arm, judged and timed at one case."""

    kind: Literal["case"] = "case"
    unit: str
    arm: str = ""
    """The library and its function; empty: the task's baseline."""
    case: str
    set: str
    status: str
    """The judge's word, or `unsupported` with a reason."""
    reason: str = ""
    worst_ratio: float = 0.0
    """Largest |error| ÷ bound."""
    time_us: float | None = None
    """Device time of a call with a cold L2, the median of `calls`; plans made before."""
    calls: int = 0
    planned_us: float | None = None
    """Libraries: host time of planning, a call and waiting for it; nothing is kept but the library's own handle."""
    floor_us: float | None = None

    @property
    def settled(self) -> bool:
        """False where memory was short at that moment: tried again."""
        return self.status != Status.UNSUPPORTED or "memory" not in self.reason


class ProfiledBaseline(Record):
    """A baseline under the profiler at one case."""

    kind: Literal["profile"] = "profile"
    unit: str
    case: str
    profile: Profile
    diagnosis: Diagnosis


class Failed(Record):
    """What could not be measured, and why. It is tried again."""

    kind: Literal["failed"] = "failed"
    unit: str
    what: str
    reason: str


_LINE: TypeAdapter[Session | TimedCase | ProfiledBaseline | Failed] = TypeAdapter(
    Annotated[Session | TimedCase | ProfiledBaseline | Failed, Field(discriminator="kind")]
)


def read_measured(path: Path) -> list[Session | TimedCase | ProfiledBaseline]:
    """Return what a file holds, the last of each; failures and a line cut short by a kill are left out.

    Raises:
        ValidationError: a line is none of our records.
    """
    found: dict[tuple[str, ...], Session | TimedCase | ProfiledBaseline] = {}
    for written in read_lines(path):
        record = _LINE.validate_python(written)
        if isinstance(record, TimedCase):
            found[record.unit, record.arm or "-", record.set, record.case] = record
        elif isinstance(record, ProfiledBaseline):
            found[(record.unit,)] = record
        elif isinstance(record, Session):
            found[()] = record
    return list(found.values())


def library_times(measured: Iterable[Record]) -> dict[tuple[str, str], float]:
    """Return the fastest accepted library's time by unit and paper case, microseconds."""
    fastest: dict[tuple[str, str], float] = {}
    for record in measured:
        if isinstance(record, TimedCase) and record.arm and record.time_us and record.set == CaseSet.PAPER:
            key = record.unit, record.case
            fastest[key] = min(record.time_us, fastest.get(key, record.time_us))
    return fastest
