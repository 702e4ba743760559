"""Where, when and how the figures of a report were obtained, in words."""

from __future__ import annotations

from ...nodes.context import Options
from .data import ReportData


def where(data: ReportData) -> str:
    """Return the GPU, driver, toolkit and days of a suite's measurements, and its configuration: one sentence."""
    parts = []
    if data.measurements:
        device = data.measurements[0].device
        dates = sorted({m.date[:10] for m in data.measurements})
        place = "cpu device, modelling one " if data.estimated else ""
        parts.append(f"{place}{device.gpu}")
        parts += [f"driver {device.driver}"] if device.driver else []
        parts += [f"CUDA {device.toolkit}"] if device.toolkit and not data.estimated else []
        parts.append(" to ".join(dict.fromkeys((dates[0], dates[-1]))))
    return "; ".join([*parts, *how(data.suite.options, data.suite.search.kind, data.suite.search.width)]) + "."


def how(options: Options, search: str, width: int) -> list[str]:
    """Return the configuration in words."""
    spent = f"{options.rounds} rounds" if search == "greedy" else f"best of {width} over {options.rounds} rounds"
    return [f"model {options.model}", spent, f"at most {options.repairs} repairs", f"profile {options.profile}"]
