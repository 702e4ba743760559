"""One number per metric over all launches of a call."""

from __future__ import annotations

from ..records import Metric, Profile
from .metrics import METRICS, MetricSpec, metric_spec


def total(profile: Profile, name: str) -> float | None:
    """Return a metric over all launches (sum, time-weighted mean or largest: as registered); None if one lacks it."""
    return _total(profile, metric_spec(name))


def totals(profile: Profile) -> dict[str, Metric]:
    """Return every metric that all launches have, over all launches."""
    result = {}
    for spec in METRICS:
        value = _total(profile, spec)
        if value is not None:
            modelled = any(launch.metrics[spec.name].source == "modelled" for launch in profile.launches)
            result[spec.name] = Metric(value=value, unit=spec.unit, source="modelled" if modelled else "measured")
    return result


def _total(profile: Profile, spec: MetricSpec) -> float | None:
    launches = [launch.metrics for launch in profile.launches]
    if not launches or any(spec.name not in metrics for metrics in launches):
        return None
    values = [metrics[spec.name].value for metrics in launches]
    if spec.total == "sum":
        return sum(values)
    if spec.total == "max":
        return max(values)
    timed = all("duration_us" in metrics for metrics in launches)
    weights = [metrics["duration_us"].value if timed else 1.0 for metrics in launches]
    if sum(weights) <= 0:
        weights = [1.0] * len(values)
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
