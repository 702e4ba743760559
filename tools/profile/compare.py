"""Two profiles side by side: what moved, and why one is faster."""

from __future__ import annotations

from typing import Final

from ..records import Diagnosis, Profile, Record
from .metrics import METRICS
from .totals import totals


class Change(Record):
    """One metric of both calls."""

    name: str
    unit: str
    before: float
    after: float
    meaning: str

    @property
    def factor(self) -> float | None:
        """After ÷ before; None if before is 0."""
        return self.after / self.before if self.before else None


class Comparison(Record):
    """What moved between two calls."""

    speedup: float | None
    """Before's time ÷ after's, as the profiles have it (on the cpu device an estimate); None where a time is absent."""
    launches_before: int
    launches_after: int
    changes: tuple[Change, ...]
    """Metrics that moved by at least a tenth, in the registry's order."""
    reasons: tuple[str, ...]
    """Sentences: why the faster one is faster, most telling first."""


_MOVED: Final = 0.1
"""Relative change that counts."""

_LESS: Final[tuple[tuple[str, str], ...]] = (
    ("dram_read_bytes", "reads {f} less from device memory ({b} → {a})"),
    ("dram_write_bytes", "writes {f} less to device memory ({b} → {a})"),
    ("global_load_sectors", "touches {f} fewer sectors with its loads ({b} → {a})"),
    ("global_store_sectors", "touches {f} fewer sectors with its stores ({b} → {a})"),
    ("global_load_requests", "issues {f} fewer load instructions ({b} → {a})"),
    ("local_load_sectors", "spills {f} less ({b} → {a} sectors of local loads)"),
    ("shared_load_wavefronts", "needs {f} fewer passes through shared memory ({b} → {a})"),
    ("global_reductions", "does {f} fewer atomic requests ({b} → {a})"),
    ("atomics", "does {f} fewer atomics ({b} → {a})"),
    ("same_address_atomics", "queues {f} fewer atomics on one address ({b} → {a})"),
    ("instructions", "executes {f} fewer instructions ({b} → {a})"),
    ("barriers", "waits at {f} fewer barriers ({b} → {a})"),
    ("warp_ops", "does {f} fewer shuffles and votes ({b} → {a})"),
    ("redundant_threads", "launches {f} fewer redundant threads ({b} → {a})"),
    ("double_ops", "does {f} fewer double-precision calls ({b} → {a})"),
    ("fp64_pipe_pct", "uses the double-precision pipe {f} less ({b} → {a} %)"),
    ("warp_latency_per_instruction", "waits {f} less between instructions ({b} → {a} cycles)"),
)
_MORE: Final[tuple[tuple[str, str], ...]] = (
    ("dram_throughput_pct", "runs device memory at {a} % instead of {b} % of its peak"),
    ("sm_throughput_pct", "keeps the multiprocessors {a} % busy instead of {b} %"),
    ("tensor_pipe_pct", "uses the tensor cores ({a} % instead of {b} %)"),
    ("achieved_occupancy_pct", "has more warps resident ({a} % instead of {b} %)"),
    ("threads_per_instruction", "has {a} instead of {b} threads active per instruction"),
    ("l1_hit_rate_pct", "finds {a} % instead of {b} % of its sectors in the L1"),
    ("l2_hit_rate_pct", "finds {a} % instead of {b} % of its sectors in the L2"),
)


def compare(before: Profile, after: Profile, *, diagnoses: tuple[Diagnosis, Diagnosis] | None = None) -> Comparison:
    """Compare two calls of the same task at the same case.

    Args:
        before: profile of one version.
        after: profile of the other, on the same device.
        diagnoses: of both, if at hand: findings that went away are named first.

    Raises:
        ValueError: the profiles come from different devices or cases, and their numbers don't compare.
    """
    if (before.device, before.case) != (after.device, after.case):
        raise ValueError(
            f"profiles of {before.device} at {before.case!r} and {after.device} at {after.case!r} don't compare: "
            "profile both on one device at one case"
        )
    old, new = totals(before), totals(after)
    speedup = None
    if "duration_us" in old and "duration_us" in new and new["duration_us"].value > 0:
        speedup = old["duration_us"].value / new["duration_us"].value
    changes = tuple(
        Change(name=s.name, unit=s.unit, before=old[s.name].value, after=new[s.name].value, meaning=s.meaning)
        for s in METRICS
        if s.name in old and s.name in new and _moved(old[s.name].value, new[s.name].value)
    )
    faster_is_after = speedup is None or speedup >= 1
    moved = changes if faster_is_after else tuple(_turned(change) for change in changes)
    who = "The second" if faster_is_after else "The first"
    reasons = [f"{who} {sentence}." for sentence in _sentences(moved)]
    launches = len(before.launches), len(after.launches)
    if launches[0] != launches[1]:
        few, many = sorted(launches)
        fewer_is_after = launches[1] == few
        if fewer_is_after == faster_is_after:
            reasons.insert(0, f"{who} needs {few} launch{'es' if few > 1 else ''} instead of {many}.")
    if diagnoses:
        gone, left = diagnoses if faster_is_after else diagnoses[::-1]
        kept = {finding.name for finding in left.findings}
        cured = [f for f in gone.findings if f.name not in kept and f.name != "near_floor"]
        reasons[:0] = [f"{who} is rid of {f.name}: {f.sentence}" for f in cured[:3]]
    if speedup is not None and abs(speedup - 1) < 0.02:
        reasons = [f"Both take the same time (ratio {speedup:.3f})."]
    return Comparison(
        speedup=speedup,
        launches_before=launches[0],
        launches_after=launches[1],
        changes=changes,
        reasons=tuple(reasons),
    )


def comparison_text(found: Comparison) -> str:
    """Return a comparison for people: the ratio of times, why, and what moved."""
    ratio = "unknown" if found.speedup is None else f"{found.speedup:.3g}x"
    lines = [f"Time of the first ÷ the second: {ratio}", *found.reasons]
    if found.launches_before != found.launches_after:
        lines.append(f"Launches: {found.launches_before} → {found.launches_after}")
    if found.changes:
        lines += ["", "What moved:"]
    for change in found.changes:
        factor = f" ({change.factor:.3g}x)" if change.factor is not None else ""
        moved = f"{_short(change.before)} → {_short(change.after)} {change.unit}".rstrip()
        lines.append(f"  {change.name}: {moved}{factor}  # {change.meaning}")
    return "\n".join(lines)


def _moved(before: float, after: float) -> bool:
    return abs(after - before) > _MOVED * max(abs(before), abs(after), 1e-12)


def _turned(change: Change) -> Change:
    return change.model_copy(update={"before": change.after, "after": change.before})


def _sentences(changes: tuple[Change, ...]) -> list[str]:
    by_name = {change.name: change for change in changes}
    told: list[tuple[float, str]] = []
    for name, sentence in _LESS:
        change = by_name.get(name)
        if change and change.after < change.before:
            factor = change.before / change.after if change.after else float("inf")
            words = "entirely" if change.after == 0 else f"{factor:.3g} times"
            filled = sentence.format(f=words, b=_short(change.before), a=_short(change.after))
            told.append((factor, filled.replace("entirely fewer", "no more").replace("entirely less", "no more")))
    for name, sentence in _MORE:
        change = by_name.get(name)
        if change and change.after > change.before and change.after >= 1:
            factor = change.after / max(change.before, 1.0)
            told.append((factor, sentence.format(b=_short(change.before), a=_short(change.after))))
    return [sentence for _, sentence in sorted(told, key=lambda item: -item[0])][:6]


def _short(value: float) -> str:
    for limit, suffix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"
