"""Suites with results, made up: for pages and comparisons."""

from __future__ import annotations

import random

from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import task_names
from cudamaster.benchmark.task import Unit
from cudamaster.evals.report.data import ReportData
from cudamaster.evals.report.story import RoofPoint, Round, Story, Turn
from cudamaster.evals.suite import Suite, UnitResult
from cudamaster.nodes.context import Options
from cudamaster.tools.device.port import DeviceInfo
from cudamaster.tools.records import Bottleneck, CaseGain, EstimatedSpeedup, Finding, Interval, Speedup
from cudamaster.tools.result.measurements import Measurements
from cudamaster.tools.result.summary import BestKernel, Figure, Spent, Summary

CLASSES = list(Bottleneck)
SOURCE = "\n".join(
    f"__global__ void kernel_{n}(float* y, const float* x) {{ y[{n}] = x[{n}] < 2 && true; }}" for n in range(60)
)
DIFF = "@@ -1,3 +1,30 @@\n" + "\n".join(f"{'-+ '[n % 3]}    line {n} of <a> change & more" for n in range(90))


def suite_of(count: int = 100, *, id: str = "sample", measured: bool = True, factor: float = 1.0) -> ReportData:
    """Return a suite of `count` units, of which one in twenty failed and one in ten gained nothing."""
    dice = random.Random(3)
    units = [Unit(task=task, precision=p) for task in task_names() for p in Precision][:count]
    rows = [_unit(unit, place, dice, measured, factor) for place, unit in enumerate(units)]
    device = "cuda" if measured else "cpu"
    suite = Suite(id=id, units=tuple(units), options=Options(device=device), created="2026-01-01T00:00:00+00:00")
    return ReportData(
        suite=suite,
        results=tuple(result for result, _, _ in rows),
        measurements=tuple(m for _, m, _ in rows if m),
        stories=tuple(story for _, _, story in rows if story),
    )


def _unit(
    unit: Unit, place: int, dice: random.Random, measured: bool, factor: float
) -> tuple[UnitResult, Measurements | None, Story | None]:
    run = f"sample.{unit.name}"
    if place % 20 == 19:
        return UnitResult(unit=unit, run=run, status="failed", error="its process died <twice>"), None, None
    won = place % 10 != 5
    gain = factor * 2 ** dice.uniform(0.1, 6) if won else 1.0
    spread = 1 + dice.random() / 20
    cases = tuple(
        CaseGain(
            case=f"N={4**n * 1024} uniform",
            set="paper",
            complexity=4**n * 1024,
            baseline_us=10.0 * 3**n,
            candidate_us=10.0 * 3**n / gain,
            ratio=Interval(value=gain, low=gain / spread, high=gain * spread),
            floor_us=2.6,
        )
        for n in range(4)
    )
    found: Speedup | EstimatedSpeedup
    if measured:
        found = Speedup(cases=cases, geomean=cases[0].ratio, weighted=gain * 1.1, efficiency=0.5)
    else:
        found = EstimatedSpeedup(cases=cases, geomean=gain, weighted=gain * 1.1, efficiency=0.5)
    where = {"method": "cold" if measured else "cost model", "set": "paper"}
    name = "" if measured else "estimated_"
    ends = (gain / spread, gain * spread)
    figures = {
        f"{name}speedup": Figure(value=gain, ci95=ends if measured else None, **where),
        f"{name}weighted_speedup": Figure(value=gain * 1.1, **where),
        f"{name}efficiency": Figure(value=0.5, **where),
    }
    summary = Summary(
        run=run,
        unit=unit.name,
        task=unit.task,
        precision=unit.precision,
        device="cuda" if measured else "cpu",
        gpu="NVIDIA H200",
        model="openai:some-model",
        status="improved" if won else "no_gain",
        best=BestKernel(sha256="0" * 64, spec={}, round=2, attempt=0, strategy="block_reduction") if won else None,
        rounds=3,
        attempts=4,
        spent=Spent(calls=9, input_tokens=dice.randrange(20_000, 200_000), output_tokens=5000, usd=dice.random() / 4),
        **(figures if won else {}),
    )
    before, after = dice.choice(CLASSES), dice.choice(CLASSES)
    measurements = Measurements(
        unit=unit.name,
        task_sha256="0" * 64,
        device=DeviceInfo(
            name="cuda" if measured else "cpu", gpu="NVIDIA H200", arch="sm_90", multiprocessors=132, driver="580"
        ),
        date="2026-01-01T00:00:00+00:00",
        gain=found if won else None,
        bottleneck_before=before,
        bottleneck_after=after if won else "",
    )
    findings = (
        Finding(name="narrow_loads", sentence="Loads of 4 bytes leave bandwidth unused.", evidence="", bound=1.9),
        Finding(name="too_few_blocks", sentence="One block of 1024 threads runs on 132 SMs.", evidence="", bound=40.0),
    )
    turns = [
        (
            Turn(attempt=0, status="build_error", note="kernel.cu(3): error", diff=DIFF, tokens=4000),
            Turn(attempt=1, status="pass", gain=gain**0.5, note="right at 31 cases", diff=DIFF, tokens=3000),
        ),
        (Turn(attempt=0, status="pass", gain=gain, note="right at 31 cases", diff=DIFF, tokens=4000),),
        (Turn(attempt=0, status="wrong", note="y[17] is 3, expected 4", diff=DIFF, tokens=4000),),
    ]
    flops = 10 ** dice.uniform(6, 11)
    story = Story(
        unit=unit.name,
        run=run,
        rounds=tuple(
            Round(
                number=n + 1,
                strategy=f"strategy_{n}",
                reasoning="Every thread adds to one word, so the adds queue. Sum over the block first.",
                expected_effect="fewer atomics",
                bottleneck=before,
                findings=findings,
                turns=turn,
                seconds=12.5,
            )
            for n, turn in enumerate(turns)
        ),
        seconds={"prepare": 20.0, "coder": 31.0, "run": 40.0},
        baseline=SOURCE,
        kernel=SOURCE if won else "",
        build_command="nvcc -arch=sm_90 -std=c++17 -O3 --shared -Xcompiler -fPIC -o libkernel.so kernel.cu"
        if won
        else "",
        evidence="# What was verified\n\n- 31 cases" if won else "",
        checked={"small": 21, "paper": 3, "hidden": 7} if won else {},
        worst_ratio=0.31 if won else None,
        roof_before=RoofPoint(case=cases[-1].case, flops=flops, bytes=flops / 2, time_us=cases[-1].baseline_us),
        roof_after=RoofPoint(case=cases[-1].case, flops=flops, bytes=flops / 8, time_us=cases[-1].candidate_us)
        if won
        else None,
    )
    return UnitResult(unit=unit, run=run, status=summary.status, summary=summary, seconds=91.0), measurements, story
