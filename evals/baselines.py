"""The benchmark's baselines, profiled and diagnosed: class counts, Otsu's threshold, what each wastes.

`python -m cudamaster.evals.baselines DATA.json PAGE.md [--device cuda] [TASK …]` measures what DATA lacks, and writes
the page.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task, task_names
from ..tools.profile.filter import CLASSIFIED_BY, PAPER_THRESHOLD_PCT, MissingMetrics, classify
from ..tools.profile.otsu import otsu
from ..tools.profile.totals import totals
from ..tools.records import Bottleneck, Diagnosis, Profile, Record

_BUILDS_AT_ONCE: Final = 4
_BAR: Final = 40


class Baseline(Record):
    """One baseline at its heaviest timed case."""

    unit: str
    case: str
    profile: Profile
    diagnosis: Diagnosis


def measure(tasks: Sequence[str], device: str, known: Iterable[str] = ()) -> Iterator[Baseline]:
    """Build (several at once), profile (one at a time) and diagnose baselines; units in `known` are left out.

    A unit that can't be built or profiled is left out after one line on standard output.
    """
    from ..tools.diagnose import diagnose
    from ..tools.ncu import ncu
    from ..tools.nvcc import nvcc

    done = set(known)
    units = [(t, p) for t in tasks for p in Precision if f"{t}-{p}" not in done]
    with ThreadPoolExecutor(_BUILDS_AT_ONCE) as pool:
        builds: list[Future[dict[str, Any]]] = [
            pool.submit(nvcc.invoke, {"source": load_task(t).source(p), "task": t, "precision": p, "device": device})
            for t, p in units
        ]
        for (task, precision), future in zip(units, builds, strict=True):
            where = {"task": task, "precision": precision}
            built = future.result()
            answer = (
                ncu.invoke({"build": built.get("build"), "device": device, **where})
                if built["status"] == "ok"
                else built
            )
            if answer["status"] == "ok":
                profile, source = answer["profile"], load_task(task).source(precision)
                answer = diagnose.invoke({"profile": profile, "build": built["build"], "source": source, **where})
            if answer["status"] != "ok":
                print(f"{task}-{precision}: {answer['status']}: {answer.get('reason', '')[:300]}", flush=True)
                continue
            yield Baseline(
                unit=f"{task}-{precision}",
                case=profile["case"],
                profile=Profile.model_validate(profile),
                diagnosis=Diagnosis.model_validate(answer),
            )


def page(baselines: Sequence[Baseline]) -> str:
    """Return the page as Markdown.

    Raises:
        ValueError: no baselines, or all have the same throughputs.
    """
    if not baselines:
        raise ValueError("no baselines were measured")
    first = baselines[0].profile
    values = [totals(b.profile)[name].value for b in baselines for name in CLASSIFIED_BY]
    cut = otsu(values)
    kind = "counted and modelled on the CPU for" if first.device == "cpu" else "measured on"
    lines = [
        f"# The baselines, {kind} one {first.gpu}",
        "",
        f"{len(baselines)} baselines, each at its heaviest timed case. Generated from the recorded profiles.",
        "",
        "## Classes",
        "",
        f"| class | paper's threshold {PAPER_THRESHOLD_PCT:.0f} % | Otsu's threshold {cut.threshold:.1f} % |",
        "| --- | --- | --- |",
    ]
    at_paper, at_otsu = (_classes(baselines, t) for t in (PAPER_THRESHOLD_PCT, cut.threshold))
    lines += [f"| {b.value} | {at_paper[b]} | {at_otsu[b]} |" for b in Bottleneck]
    lines += [
        "",
        "The paper counts 24 latency-bound ones among its 100 baselines on an RTX 4090.",
        "",
        "## Throughputs and Otsu's threshold",
        "",
        f"Compute, memory and DRAM throughput of every baseline, % of peak: {len(values)} values. Otsu's method "
        f"cuts at {cut.threshold:.1f} % ({cut.below} below, {cut.above} above); it explains "
        f"{100 * cut.separation:.0f} % of the variance.",
        "",
        "```",
    ]
    tallest = max(bar.count for bar in cut.histogram)
    for bar in cut.histogram:
        width = round(_BAR * bar.count / tallest)
        lines.append(f"{bar.low:3.0f} – {bar.high:3.0f} %  {'█' * width}{' ' if width else ''}{bar.count}")
    lines += [
        "```",
        "",
        "## Findings",
        "",
        "| finding | baselines that it is first in | in which it appears |",
        "| --- | --- | --- |",
    ]
    firsts = Counter(b.diagnosis.findings[0].name for b in baselines if b.diagnosis.findings)
    all_names = Counter(name for b in baselines for name in {f.name for f in b.diagnosis.findings})
    lines += [f"| {name} | {firsts[name]} | {count} |" for name, count in all_names.most_common()]
    lines += ["", "## Each baseline", "", "| unit | case | time (us) | class | first finding | bound | what it says |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [_row(b) for b in sorted(baselines, key=lambda b: b.unit)]
    return "\n".join(lines) + "\n"


def _classes(baselines: Sequence[Baseline], threshold_pct: float) -> Counter[Bottleneck]:
    return Counter(classify(b.profile, threshold_pct) for b in baselines)


def _row(baseline: Baseline) -> str:
    time = totals(baseline.profile).get("duration_us")
    findings = baseline.diagnosis.findings
    told = (findings[0].name, f"{findings[0].bound:.3g}×", findings[0].sentence) if findings else ("–", "–", "–")
    us = f"{time.value:,.1f}" if time else "–"
    return f"| {baseline.unit} | {baseline.case} | {us} | {baseline.diagnosis.bottleneck.value} | {' | '.join(told)} |"


def _load(path: Path) -> list[Baseline]:
    return [Baseline.model_validate(row) for row in json.loads(path.read_text())] if path.is_file() else []


def _save(path: Path, baselines: Sequence[Baseline]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps([b.model_dump(mode="json") for b in baselines], separators=(",", ":")))
    part.replace(path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the data file lacks, save after each baseline, write the page."""
    parser = argparse.ArgumentParser(prog="python -m cudamaster.evals.baselines", description=main.__doc__)
    parser.add_argument("data", type=Path, help="JSON file of the recorded profiles; extended")
    parser.add_argument("page", type=Path, help="Markdown page to write")
    parser.add_argument("tasks", nargs="*", help="tasks to measure; default: all")
    parser.add_argument("--device", default="cuda", choices=["auto", "cuda", "cpu"])
    parser.add_argument("--no-measure", action="store_true", help="only write the page from the data")
    options = parser.parse_intermixed_args(arguments)
    baselines = _load(options.data)
    if not options.no_measure:
        known = [b.unit for b in baselines]
        for baseline in measure(options.tasks or task_names(), options.device, known):
            try:
                classify(baseline.profile)
            except MissingMetrics as error:
                print(f"{baseline.unit}: {error}", flush=True)
                continue
            baselines.append(baseline)
            _save(options.data, baselines)
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text(page(baselines))


if __name__ == "__main__":
    main()
