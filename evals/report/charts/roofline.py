"""Where kernels are under the roofs of the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, degrees, sqrt

from markupsafe import Markup

from ....tools.device.gpu_model import GpuModel
from .. import svg
from ..story import Story
from ..svg import LEFT, RIGHT, TOP


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
    start, knee = max(x.low, y.low / slope), gpu.fp32_tflops / slope
    turned = degrees(atan2(y.at(gpu.fp32_tflops) - y.at(start * slope), x.at(knee) - x.at(start)))
    middle = sqrt(start * knee)
    words = f"memory, {gpu.dram_gbps:.0f} GB/s"
    parts.append(svg.text(x.at(middle) - 4, y.at(middle * slope) - 5, words, "tick", "middle", turned))
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
