"""What a kernel takes at each timed size, on one line each."""

from __future__ import annotations

from ..tools.records import EstimatedSpeedup, Gain


def times_text(gain: Gain) -> str:
    """Return a line for each timed size: the baseline's time, the best one's, the floor; microseconds."""
    estimated = " (estimated)" if isinstance(gain, EstimatedSpeedup) else ""
    lines = [f"us a call{estimated}: baseline → best (floor)"]
    for case in gain.cases:
        bound = f" ({case.floor_us:.3g})" if case.floor_us else ""
        lines.append(f"- {case.case}: {case.baseline_us:.4g} → {case.candidate_us:.4g}{bound}")
    return "\n".join(lines)
