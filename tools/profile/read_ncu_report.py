"""Print what a report of Nsight Compute holds as JSON, with Nsight Compute's own Python module.

Run as a program, `read_ncu_report.py FOLDER REPORT`, where FOLDER holds `ncu_report.py`: that module loads native code,
which gets a process of its own.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any


def launches(folder: str, report: str) -> list[dict[str, Any]]:
    """Return the launches in a report: `kernel`, and `metrics` as [value, unit] by name; no value is null."""
    sys.path.insert(0, folder)
    import ncu_report  # type: ignore[import-not-found]

    context = ncu_report.load_report(report)
    return [
        {
            "kernel": action.name(action.NameBase_DEMANGLED),
            "metrics": {name: _value(action.metric_by_name(name)) for name in action.metric_names()},
        }
        for ranges in map(context.range_by_idx, range(context.num_ranges()))
        for action in map(ranges.action_by_idx, range(ranges.num_actions()))
    ]


def _value(metric: Any) -> list[Any]:
    value = metric.value() if metric.has_value() else None
    usable = isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))
    return [value if usable else None, metric.unit()]


if __name__ == "__main__":
    print(json.dumps(launches(*sys.argv[1:])))
