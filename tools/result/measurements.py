"""What a run measured, in full: `measurements.json` of its result folder, and the data of every results table."""

from __future__ import annotations

from ..device.port import DeviceInfo
from ..records import EstimatedSpeedup, Record, Speedup


class Measurements(Record):
    """Bound to what was measured by the hashes of candidate and task, and to where by the device."""

    schema_version: int = 1
    unit: str
    candidate_sha256: str = ""
    """Of the winner's source and build options; empty if nothing won."""
    task_sha256: str
    device: DeviceInfo
    date: str
    """UTC, ISO 8601."""
    gain: Speedup | EstimatedSpeedup | None = None
    """Baseline against winner at every timed case; None if nothing won."""
    bottleneck_before: str = ""
    bottleneck_after: str = ""
    """Classes of baseline and winner; empty where there was no profile."""
