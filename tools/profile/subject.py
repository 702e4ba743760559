"""What a finding looks at: one call's profile, its source and build, the task, the GPU; and the "
"arithmetic of bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ...benchmark.contract import Precision
from ...benchmark.task import Case, Task
from ..device.gpu_model import WARP, GpuModel
from ..records import Build, LaunchProfile, Profile, Resources
from .metrics import METRICS
from .occupancy import Occupancy, occupancy
from .roofline import Floor, floor
from .sass import SassMix, plain_name
from .source import KernelSource, kernels
from .totals import totals

SECTOR_BYTES: Final = 32

EMPTY_KERNEL_US: Final = 1.5
"""What Nsight Compute calls the duration of an empty kernel, at least; events see a whole empty launch."""

LAUNCH_GAP_US: Final = 1.25
"""From one short kernel in a stream to the next, on an H200: 40 of 2.4 us took 122 us by events, cold ones more."""

SATURATED_PCT: Final = 84.0
"""Device memory's throughput when it is as busy as it gets: copies reach 84 to 90 % of what counts as the peak."""

MEMORY_STALLS: Final = ("long_scoreboard", "lg_throttle", "drain", "membar", "tex_throttle")
SHARED_STALLS: Final = ("mio_throttle", "short_scoreboard")
STALLS: Final = tuple(s.name[6:-6] for s in METRICS if s.group == "stalls" and s.name.startswith("stall_"))


@dataclass(frozen=True)
class Kernel:
    """All launches of one kernel within a call, with their metrics combined."""

    name: str
    launches: tuple[LaunchProfile, ...]
    share: float
    """Of the call's time, launches around the kernels included; of the number of launches where times are absent."""
    metrics: Mapping[str, float]
    source: KernelSource | None
    sass: SassMix | None
    resources: Resources | None
    occupancy: Occupancy | None

    def get(self, name: str) -> float | None:
        """Return a metric over the kernel's launches; None where absent."""
        return self.metrics.get(name)

    def ratio(self, above: str, below: str) -> float | None:
        """Return one metric ÷ another; None where one is absent or the divisor is 0."""
        a, b = self.get(above), self.get(below)
        return a / b if a is not None and b else None

    def stall(self, *reasons: str) -> float | None:
        """Return the fraction of a warp's time that these reasons take; None where stalls are absent."""
        known = {reason: self.metrics.get(f"stall_{reason}_ratio") for reason in STALLS}
        whole = self.metrics.get("warp_latency_per_instruction") or sum(v for v in known.values() if v is not None)
        if not whole or all(v is None for v in known.values()):
            return None
        return min(1.0, sum(known.get(reason) or 0.0 for reason in reasons) / whole)

    @property
    def largest(self) -> LaunchProfile:
        """The launch with most threads."""
        return max(self.launches, key=lambda launch: math.prod(launch.grid) * math.prod(launch.block))

    @property
    def longest(self) -> LaunchProfile:
        """The launch that takes longest; the one with most threads where times are absent."""
        timed = [launch for launch in self.launches if "duration_us" in launch.metrics]
        return max(timed, key=lambda launch: launch.metrics["duration_us"].value) if timed else self.largest

    def share_of_time(self, launches: Iterable[LaunchProfile]) -> float:
        """Return the fraction of the kernel's time that some of its launches take; of their number without times."""
        some = list(launches)
        times = [
            [x.metrics["duration_us"].value for x in of if "duration_us" in x.metrics] for of in (some, self.launches)
        ]
        return sum(times[0]) / sum(times[1]) if sum(times[1]) else len(some) / len(self.launches)

    @property
    def blocks(self) -> int:
        """Blocks of the largest launch."""
        return math.prod(self.largest.grid)

    @property
    def threads_per_block(self) -> int:
        """Threads per block of the largest launch."""
        return math.prod(self.largest.block)

    @property
    def line(self) -> int | None:
        """Line of the kernel in the source."""
        return self.source.line if self.source else self.largest.line

    @property
    def busiest_pct(self) -> float | None:
        """The higher of compute and memory throughput: no rearrangement of the same work beats 100 ÷ this."""
        known = [v for v in (self.get("sm_throughput_pct"), self.get("memory_throughput_pct")) if v is not None]
        return max(known) if known else None

    def headroom(self) -> float:
        """Return 100 ÷ the busiest throughput: the most that doing the same work with fewer waits could gain."""
        busiest = self.busiest_pct
        return 100 / busiest if busiest else math.inf


@dataclass(frozen=True)
class Subject:
    """One call: everything that a finding may look at."""

    profile: Profile
    task: Task
    precision: Precision
    case: Case
    gpu: GpuModel
    source: str
    build: Build | None
    sass: Mapping[str, SassMix]

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The call's kernels, longest first."""
        sources = kernels(self.source)
        # A profile tells a template's instances not apart: the one with the most registers stands for them.
        told = sorted(self.build.resources, key=lambda r: r.registers) if self.build else ()
        resources = {plain_name(r.kernel): r for r in told}
        groups: dict[str, list[LaunchProfile]] = {}
        for launch in self.profile.launches:
            groups.setdefault(launch.kernel, []).append(launch)
        whole = self.call_us
        found = []
        for name, launches in groups.items():
            plain = plain_name(name)
            combined = {
                k: m.value for k, m in totals(self.profile.model_copy(update={"launches": tuple(launches)})).items()
            }
            share = combined["duration_us"] / whole if whole else len(launches) / len(self.profile.launches)
            found.append(
                Kernel(
                    name=name,
                    launches=tuple(launches),
                    share=share,
                    metrics=combined,
                    source=sources.get(plain),
                    sass=self.sass.get(plain),
                    resources=resources.get(plain),
                    occupancy=self._occupancy(launches, combined, resources.get(plain)),
                )
            )
        return tuple(sorted(found, key=lambda kernel: -kernel.share))

    def _occupancy(
        self, launches: list[LaunchProfile], combined: Mapping[str, float], resources: Resources | None
    ) -> Occupancy | None:
        registers = combined.get("registers_per_thread") or (resources.registers if resources else 0)
        shared = combined.get("shared_bytes_per_block")
        if shared is None:
            shared = float(resources.shared_bytes) if resources else 0.0
        else:
            shared -= self.gpu.shared_bytes_reserved
        threads = max(math.prod(launch.block) for launch in launches)
        return occupancy(threads, int(registers), max(0, int(shared)), self.gpu) if 1 <= threads <= 1024 else None

    @cached_property
    def time_us(self) -> float | None:
        """Sum of the launches' durations; None where one is absent or zero."""
        durations = [launch.metrics.get("duration_us") for launch in self.profile.launches]
        if not durations or any(d is None or d.value <= 0 for d in durations):
            return None
        return sum(d.value for d in durations if d is not None)

    @cached_property
    def floor(self) -> Floor:
        """The floor of the call's work."""
        return floor(self.task, self.precision, self.case, self.gpu)

    @cached_property
    def cap(self) -> float:
        """The most that anything could gain: time ÷ floor."""
        return self._cap(self.floor)

    @cached_property
    def cap_without_tensor_cores(self) -> float:
        """The same for a kernel that stays on the ordinary pipes."""
        return self._cap(floor(self.task, self.precision, self.case, self.gpu, tensor_cores=False))

    def _cap(self, bound: Floor) -> float:
        return math.inf if self.call_us is None else max(1.0, self.call_us / bound.time_us)

    @cached_property
    def call_us(self) -> float | None:
        """Time of the call as events would see it: with the launches around the kernels."""
        if self.time_us is None:
            return None
        first = self.gpu.empty_launch_us - (EMPTY_KERNEL_US if self.profile.device == "cuda" else 0.0)
        return self.time_us + first + (len(self.profile.launches) - 1) * LAUNCH_GAP_US

    @cached_property
    def min_bytes(self) -> int:
        """Compulsory bytes of the case."""
        return self.task.min_bytes(self.case.sizes, self.precision)

    @cached_property
    def min_elements(self) -> float:
        """Compulsory elements of the storage type."""
        return self.min_bytes / self.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes per element of the storage type."""
        return 4 if self.precision is Precision.FP32 else 2

    def amdahl(self, kernel: Kernel, gain: float, fraction: float = 1.0) -> float:
        """Return the call's gain, by Amdahl's law, if `fraction` of a kernel's time becomes `gain` times faster."""
        touched = kernel.share * max(0.0, min(1.0, fraction))
        left = 1 - touched + touched / gain if gain > 0 else math.inf
        return 1 / left if left > 0 else math.inf


def at_most(fraction: float | None) -> float:
    """Return an upper bound of the time behind a fraction of stalls: all if unknown.

    Other stalls hide behind the largest and shrink with it, so the fraction itself would promise too little.
    """
    return 1.0 if fraction is None else 1 - (1 - min(1.0, fraction)) ** 2


def warps(threads: int) -> int:
    """Return the warps of a block."""
    return -(-threads // WARP)
