"""Clocks, temperature and throttle reasons from NVML, where nvidia-ml-py is installed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

_THROTTLES: Final = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


@dataclass(frozen=True)
class Clocks:
    """One reading."""

    sm_mhz: int
    memory_mhz: int
    temperature_c: int
    throttles: tuple[str, ...]
    """Reasons that slow the clocks now; empty: none."""
    other_processes: tuple[int, ...]
    """Process ids with a context on the GPU, those given to `read_clocks` left out."""


@cache
def _nvml() -> Any:
    """Return the library, opened once for this process; None where it can't be had."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def throttle_names(bits: int) -> tuple[str, ...]:
    """Return the reasons in NVML's bit mask that mean a slower clock."""
    return tuple(name for bit, name in _THROTTLES.items() if bits & bit)


def _handle(nvml: Any, uuid: str) -> Any:
    """Find the GPU by the hex digits of its UUID; the first one where none fits."""
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        name = nvml.nvmlDeviceGetUUID(handle)
        if uuid and uuid in str(name).replace("-", "").lower():
            return handle
    return nvml.nvmlDeviceGetHandleByIndex(0)


def read_clocks(uuid: str = "", ours: tuple[int, ...] = ()) -> Clocks | None:
    """Return the GPU's clocks now, or None where NVML can't be asked."""
    if (nvml := _nvml()) is None:
        return None
    try:
        handle = _handle(nvml, uuid)
        running = [int(p.pid) for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
        return Clocks(
            sm_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            memory_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            temperature_c=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            throttles=throttle_names(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
            # In a container process ids may be the host's: then nobody can be told apart.
            other_processes=tuple(p for p in running if p not in ours) if set(ours) & set(running) else (),
        )
    except nvml.NVMLError:
        return None


def driver_version() -> str:
    """Return the driver's version, e.g. `580.159.04`; empty where NVML can't be asked."""
    if (nvml := _nvml()) is None:
        return ""
    try:
        return str(nvml.nvmlSystemGetDriverVersion())
    except nvml.NVMLError:
        return ""
