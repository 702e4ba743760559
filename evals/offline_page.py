"""The page of a screening, made from its data alone: `python -m cudamaster.evals.offline_page DATA.jsonl PAGE.md`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..benchmark.registry import task_names
from ..benchmark.scoring import geometric_mean, tau_curve
from .offline_screen import Screened, read_screened

THRESHOLDS = (1.0, 1.1, 1.5, 2.0, 5.0, 10.0, 100.0)
FASTER, EFFICIENT = 1.1, 0.5


def page(rows: Sequence[Screened]) -> str:
    """Return the page: what was done, the counts, the curve, a row for each unit."""
    ours = [r for r in rows if r.unit.rsplit("-", 1)[0] in task_names()]
    foreign = [r for r in rows if r not in ours]
    where = sorted({r.where for r in rows if r.where})
    lines = [
        "# The offline model: a screening",
        "",
        f"{'; '.join(where) or 'Not measured'}. Every rule of the offline model that applies, one after the other "
        "with no judge in between, on the baseline of each unit. The result was checked by the judge's comparison at "
        f"up to {max((r.checked for r in rows), default=0)} small and hidden cases, and timed with a cold L2 at up to "
        f"{max((len(r.cases) for r in rows), default=0)} sizes of the paper "
        "set in one pair of processes. **This is no suite**: no rounds and no repairs, fewer cases, no intervals. A "
        "suite (`cudamaster bench --model offline`) keeps only what is proved faster; here a rule that hurts stays in.",
        "",
        "Made by `python -m cudamaster.evals.offline_page` from the data beside it "
        "(`python -m cudamaster.evals.offline_screen`).",
        "",
        *_summary("Benchmark", ours, 2 * len(task_names())),
        "",
        *_table(ours),
    ]
    if foreign:
        lines += ["", *_summary("Kernels that the rules were not written for", foreign, len(foreign)), ""]
        lines += _table(foreign)
    return "\n".join(lines) + "\n"


def _summary(title: str, rows: Sequence[Screened], of: int) -> list[str]:
    gains = [r.speedup for r in rows if r.speedup is not None]
    good = [r.efficiency for r in rows if r.efficiency is not None]
    wrong = [f"{r.unit} ({r.status}: {r.detail})" for r in rows if r.speedup is None]
    lines = [
        f"## {title}",
        "",
        f"- screened: {len(rows)} of {of} units; right: {len(gains)}",
        f"- faster than {FASTER}x: {sum(g > FASTER for g in gains)}",
        f"- at {EFFICIENT} of the floor or more: {sum(e >= EFFICIENT for e in good)}",
    ]
    if gains:
        curve = tau_curve([r.speedup for r in rows], THRESHOLDS)
        lines.append(f"- geometric mean of the speedups of those that are right: {geometric_mean(gains):.2f}x")
        lines.append("- share of the screened at least so fast: " + ", ".join(
            f"{t:g}x {share:.0%}" for t, share in zip(THRESHOLDS, curve, strict=True)
        ))  # fmt: skip
    return lines + [f"- not right: {name}" for name in wrong]


def _table(rows: Sequence[Screened]) -> list[str]:
    lines = [
        "| unit | speedup | of the floor | per size: baseline → candidate, us (floor) | rules |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in sorted(rows, key=lambda r: r.unit):
        if row.speedup is None or row.efficiency is None:
            continue
        sizes = "; ".join(f"{c.baseline_us:.1f} → {c.candidate_us:.1f} ({c.floor_us:.1f})" for c in row.cases)
        rules = ", ".join(dict.fromkeys(row.rules))
        lines.append(f"| {row.unit} | {row.speedup:.2f}x | {row.efficiency:.0%} | {sizes} | {rules} |")
    return lines


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("page", type=Path)
    args = parser.parse_args()
    args.page.write_text(page(list(read_screened(args.data).values())))


if __name__ == "__main__":
    main()
