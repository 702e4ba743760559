"""The charts of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from ...benchmark.scoring import geometric_mean, tau_curve
from ...tools.device.gpu_model import GpuModel
from ...tools.records import CaseGain
from ..suite import UnitResult
from . import svg
from .story import Story
from .svg import WIDTH, Axis

LEFT, RIGHT, TOP = 44, WIDTH - 12, 26
CLASSES = ("compute", "bandwidth", "latency")


def tau_chart(curves: Mapping[str, Sequence[float | None]]) -> Markup:
    """Return the share of units with at least a speedup τ, one line for each name; None is a failure."""
    bottom = 210
    best = max([s for curve in curves.values() for s in curve if s is not None] or [1.0])
    x = Axis(1.0, max(2.0, best * 1.1), LEFT, RIGHT, log=True)
    y = Axis(0.0, 1.0, bottom, TOP)
    parts = svg.horizontal(x, TOP, bottom, "τ (speedup of at least)", "x")
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(svg.line(LEFT, y.at(share), RIGHT, y.at(share), "grid"))
        parts.append(svg.text(LEFT - 5, y.at(share) + 3.5, f"{share:.0%}", "tick", "end"))
    parts.append(svg.text(4, TOP - 10, "share of all units", "label"))
    for number, (name, curve) in enumerate(curves.items()):
        taus = sorted({1.0, x.high, *(s for s in curve if s is not None and s > 1.0)})
        shares = tau_curve(curve, taus)
        # The share at τ holds down from τ: each step falls just after it.
        places = [(x.at(1.0), y.at(shares[0]))]
        for (before, tau), share in zip(pairwise(taus), shares[1:], strict=True):
            places += [(x.at(before), y.at(share)), (x.at(tau), y.at(share))]
        parts.append(svg.path(places, f"curve series{number % 6}"))
        for tau, share in zip(taus[:-1], shares, strict=False):
            parts.append(
                svg.dot(x.at(tau), y.at(share), f"point series{number % 6}", f"{name}: {share:.0%} ≥ {tau:.3g}x", 2.5)
            )
    return svg.chart(parts, bottom + 36, "Share of units by speedup")


def unit_chart(results: Sequence[UnitResult], estimated: bool, libraries: Mapping[str, float]) -> Markup:
    """Return the speedup of every unit with its 95 % interval, the best first; failures are named.

    A mark shows what the fastest vendor library makes of a unit, where `libraries` has it.
    """
    left, row, head = 150, 17, 6
    shown = sorted(results, key=lambda r: -(r.gain or 0.0))
    solved = [r.gain for r in shown if r.gain is not None]
    x = svg.log_axis([1.0, *solved, *libraries.values(), 2.0], left, WIDTH - 46)
    bottom = head + row * len(shown)
    word = "estimated speedup" if estimated else "speedup"
    parts = svg.horizontal(x, head, bottom, f"{word} over the baseline", "x")
    for place, result in enumerate(shown):
        top = head + row * place
        parts.append(svg.text(left - 6, top + 12, result.unit.name, "name", "end"))
        if result.gain is None:
            parts.append(svg.text(x.at(1.0) + 4, top + 12, "failed", "bad"))
            continue
        figure = result.summary.gain if result.summary else None
        tip = f"{result.unit.name}: {result.gain:.3g}x"
        interval = figure.ci95 if figure and result.summary and result.summary.best else None
        if interval:
            tip += f", 95 % interval {interval[0]:.3g} to {interval[1]:.3g}"
        parts.append(svg.rect(x.at(1.0), top + 3, x.at(result.gain) - x.at(1.0), row - 6, "bar", tip))
        end = x.at(result.gain)
        if interval:
            middle = top + row / 2
            parts.append(svg.line(x.at(interval[0]), middle, x.at(interval[1]), middle, "interval"))
            parts += [svg.line(x.at(v), middle - 3, x.at(v), middle + 3, "interval") for v in interval]
            end = max(end, x.at(interval[1]))
        if library := libraries.get(result.unit.name):
            tip = f"{result.unit.name}: the fastest library {library:.3g}x"
            parts.append(svg.dot(x.at(library), top + row / 2, "point before", tip, 4))
            end = max(end, x.at(library) + 4)
        parts.append(svg.text(end + 5, top + 12, f"{result.gain:.3g}x", "value"))
    parts.append(svg.line(x.at(1.0), head, x.at(1.0), bottom, "axis"))
    return svg.chart(parts, bottom + 36, "Speedup of every unit")


def round_chart(stories: Sequence[Story]) -> Markup:
    """Return the geometric mean over units of the best kernel after each round."""
    bottom = 190
    rounds = max([1, *(r.number for story in stories for r in story.rounds)])
    means = [geometric_mean([best_after(story, number) for story in stories]) for number in range(rounds + 1)]
    x = Axis(0, rounds, LEFT, RIGHT)
    y = svg.log_axis([1.0, *means], bottom, TOP)
    parts = svg.vertical(y, LEFT, RIGHT, "geometric mean over the units", "x")
    for number in range(rounds + 1):
        parts.append(svg.text(x.at(number), bottom + 14, str(number), "tick", "middle"))
    parts.append(svg.text((LEFT + RIGHT) / 2, bottom + 30, "after round", "label", "middle"))
    places = [(x.at(number), y.at(mean)) for number, mean in enumerate(means)]
    parts.append(svg.path(places, "curve series0"))
    parts += [
        svg.dot(px, py, "point series0", f"after round {n}: {m:.3g}x")
        for n, ((px, py), m) in enumerate(zip(places, means, strict=True))
    ]
    return svg.chart(parts, bottom + 36, "Gain after each round")


def best_after(story: Story, number: int) -> float:
    """Return the best gain of a unit up to a round."""
    gains = [t.gain for r in story.rounds if r.number <= number for t in r.turns if t.status == "pass" and t.gain]
    return max([1.0, *gains])


def roofline_chart(stories: Sequence[Story], gpu: GpuModel) -> Markup:
    """Return baseline and winner of every unit that has a proven number of operations under the GPU's roofs."""
    bottom = 260
    pairs = [
        (s, s.roof_before, s.roof_after)
        for s in stories
        if s.roof_before and s.roof_before.flops and s.roof_before.bytes
    ]
    points = [p for _, before, after in pairs for p in (before, after) if p and p.bytes]
    rates = [p.flops / p.time_us / 1e6 for p in points]  # TFLOP/s
    densities = [p.flops / p.bytes for p in points]
    x = svg.log_axis([*densities, 0.1, 1000.0], LEFT + 8, RIGHT)
    y = svg.log_axis([*rates, gpu.bf16_tensor_tflops], bottom, TOP)
    parts = svg.vertical(y, LEFT + 8, RIGHT, "TFLOP/s (operations that the task needs)")
    parts += svg.horizontal(x, TOP, bottom, "operations per byte of device memory")
    slope = gpu.dram_gbps / 1e3  # TFLOP/s at one operation per byte
    for name, peak in (("tensor cores, bf16", gpu.bf16_tensor_tflops), ("FP32", gpu.fp32_tflops)):
        knee = peak / slope
        start = max(x.low, y.low / slope)
        parts.append(
            svg.path([(x.at(start), y.at(start * slope)), (x.at(knee), y.at(peak)), (RIGHT, y.at(peak))], "roof")
        )
        parts.append(svg.text(RIGHT, y.at(peak) - 4, f"{name}, {peak:.0f} TFLOP/s", "tick", "end"))
    start = max(x.low, y.low / slope)
    parts.append(svg.text(x.at(start * 2), y.at(start * slope * 2) + 16, f"memory, {gpu.dram_gbps:.0f} GB/s", "tick"))
    for story, before, after in pairs:
        places = []
        for point, kind, word in ((before, "before", "baseline"), (after, "after", "winner")):
            if point and point.bytes:
                rate, density = point.flops / point.time_us / 1e6, point.flops / point.bytes
                tip = (
                    f"{story.unit}, {word}: {svg.number(rate)} TFLOP/s at {density:.3g} operations a byte, {point.case}"
                )
                places.append((x.at(density), y.at(rate), kind, tip))
        if len(places) == 2:
            parts.append(svg.path([(px, py) for px, py, *_ in places], "move"))
        parts += [svg.dot(px, py, f"point {kind}", tip) for px, py, kind, tip in places]
    return svg.chart(parts, bottom + 36, "Roofline before and after")


def transition_chart(moves: Mapping[str, int]) -> Markup:
    """Return how many units went from which class of bottleneck to which. `moves`: `class → class` with its count."""
    height, gap, left, right, top = 170.0, 10.0, 112, WIDTH - 112, 40
    pairs = {tuple(move.split(" → ")): count for move, count in moves.items()}
    total = sum(pairs.values())
    scale = (height - gap * (len(CLASSES) - 1)) / total
    sums = [Counter[str](), Counter[str]()]
    for (before, after), count in pairs.items():
        sums[0][before] += count
        sums[1][after] += count
    parts, starts = [], []
    for side, (place, anchor) in enumerate(((left, "end"), (right, "start"))):
        at, start = float(top), {}
        for name in CLASSES:
            tall = sums[side][name] * scale
            start[name] = at
            if tall:
                edge = place - 10 if side == 0 else place
                parts.append(svg.rect(edge, at, 10, tall, f"class-{name}", f"{name}: {sums[side][name]}"))
                words = f"{name} {sums[side][name]}"
                parts.append(
                    svg.text(place - 16 if side == 0 else place + 16, at + tall / 2 + 4, words, "name", anchor)
                )
            at += tall + gap
        starts.append(start)
    for before in CLASSES:
        for after in CLASSES:
            if count := pairs.get((before, after), 0):
                tall = count * scale
                tip = f"{count} {'stayed' if before == after else 'went from'} {before}" + (
                    "" if before == after else f" to {after}"
                )
                parts.append(
                    svg.band(left, starts[0][before], right, starts[1][after], tall, f"flow class-{before}", tip)
                )
                starts[0][before] += tall
                starts[1][after] += tall
    parts += [svg.text(left, top - 14, "baseline", "label", "end"), svg.text(right, top - 14, "best kernel", "label")]
    return svg.chart(parts, top + height + 10, "Bottlenecks before and after")


def cost_chart(points: Sequence[tuple[str, float, float]], cost: str, word: str = "speedup") -> Markup:
    """Return gain against cost: (name, cost, gain) each."""
    bottom = 210
    x = svg.log_axis([c for _, c, _ in points], LEFT, RIGHT)
    y = svg.log_axis([1.0, *(g for _, _, g in points)], bottom, TOP)
    parts = svg.vertical(y, LEFT, RIGHT, word, "x") + svg.horizontal(x, TOP, bottom, cost)
    for name, spent, gain in points:
        parts.append(
            svg.dot(x.at(spent), y.at(gain), "point series0", f"{name}: {gain:.3g}x for {svg.number(spent)} {cost}")
        )
    if len(points) <= 8:
        for name, spent, gain in points:
            near = x.at(spent) > (LEFT + RIGHT) / 2
            parts.append(
                svg.text(x.at(spent) + (-7 if near else 7), y.at(gain) - 6, name, "name", "end" if near else "start")
            )
    return svg.chart(parts, bottom + 36, f"Gain against {cost}")


def size_chart(cases: Sequence[CaseGain], estimated: bool) -> Markup:
    """Return baseline's and winner's time at every timed size, with the floor where one is known."""
    bottom = 190
    ordered = sorted(cases, key=lambda case: (case.complexity, case.case))
    times = [t for c in ordered for t in (c.baseline_us, c.candidate_us, c.floor_us) if t]
    y = svg.log_axis(times, bottom, TOP)
    x = Axis(0, max(1, len(ordered) - 1), LEFT + 20, RIGHT - 20)
    parts = svg.vertical(y, LEFT, RIGHT, "time (us), estimated" if estimated else "time (us)")
    lines = (("baseline_us", "before", "baseline"), ("candidate_us", "after", "winner"), ("floor_us", "floor", "floor"))
    for name, kind, word in lines:
        places = [
            (x.at(n), y.at(v), f"{word} {v:.4g} us at {c.case}")
            for n, c in enumerate(ordered)
            if (v := getattr(c, name))
        ]
        if not places:
            continue
        parts.append(svg.path([(px, py) for px, py, _ in places], f"curve {kind}"))
        if kind != "floor":
            parts += [svg.dot(px, py, f"point {kind}", tip, 3.5) for px, py, tip in places]
    for n, case in enumerate(ordered):
        parts.append(svg.text(x.at(n), bottom + 14, svg.number(case.complexity), "tick", "middle"))
    parts.append(svg.text((LEFT + RIGHT) / 2, bottom + 30, "complexity of the size", "label", "middle"))
    return svg.chart(parts, bottom + 36, "Time at every size")


def ratio_chart(ratios: Mapping[str, float], before: str, after: str) -> Markup:
    """Return how many times faster every unit is in one suite than in another."""
    left, row, top = 150, 17, 6
    shown = sorted(ratios.items(), key=lambda item: -item[1])
    x = svg.log_axis([0.8, 1.25, *ratios.values()], left, WIDTH - 46)
    bottom = top + row * len(shown)
    parts = svg.horizontal(x, top, bottom, f"{after} ÷ {before}", "x")
    for place, (name, ratio) in enumerate(shown):
        at = top + row * place
        parts.append(svg.text(left - 6, at + 12, name, "name", "end"))
        start, end = sorted((x.at(1.0), x.at(ratio)))
        kind = "bar better" if ratio >= 1.0 else "bar worse"
        parts.append(svg.rect(start, at + 3, end - start, row - 6, kind, f"{name}: {ratio:.3g}x"))
        parts.append(svg.text(max(x.at(ratio), x.at(1.0)) + 5, at + 12, f"{ratio:.3g}x", "value"))
    parts.append(svg.line(x.at(1.0), top, x.at(1.0), bottom, "axis"))
    return svg.chart(parts, bottom + 36, f"{after} against {before}")
