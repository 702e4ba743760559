"""Estimates beside times measured on an H200: `python -m tests.tools.device.cpu.timed` writes the page."""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cudamaster.tools.device.cpu.cost import call_cost_us
from cudamaster.tools.device.cpu.counters import Counters, read_counters, with_registers
from cudamaster.tools.device.cpu.rewrite import rewrite
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.records import Resources

from .conftest import Host, draw, f32

REPOSITORY: Final = Path(__file__).parents[4]
VARIANTS: Final = REPOSITORY / "tests/data/timed"
PAIRS: Final = Path(__file__).parent / "pairs"
PAGE: Final = REPOSITORY / "docs/results/cpu_device_estimate.md"
BUFFER: Final = 1 << 22
SQUARE: Final = {
    "matmul_register_tile", "matvec_warp_per_row", "transpose_tile", "bank_conflict_padding", "loses_slow_axis",
}  # fmt: skip
"""Pairs on n × n matrices."""


@dataclass(frozen=True)
class Timed:
    """One call: what it took on an H200, and what the cost model makes of its counters."""

    group: str
    name: str
    size: str
    measured_us: float
    estimated_us: float

    @property
    def factor(self) -> float:
        """Estimated ÷ measured."""
        return self.estimated_us / self.measured_us


def sizes() -> dict[str, tuple[int, ...]]:
    """The sizes at which each variant is timed."""
    text = (VARIANTS / "variants.def").read_text()
    return {m[1]: tuple(map(int, m[2].split(","))) for m in re.finditer(r"^VARIANT\((\w+), ([\d, ]+)\)", text, re.M)}


def measured() -> dict[str, float]:
    """Microseconds by variant and size."""
    rows = (line.split() for line in (VARIANTS / "h200_times.txt").read_text().splitlines())
    return {f"{name} {n}": float(time) for name, n, time in rows}


def recorded(path: Path) -> dict[str, Counters]:
    """What the trace counted, one call a line."""
    rows = (json.loads(line) for line in path.read_text().splitlines())
    return {row["call"]: Counters.model_validate(row["counters"]) for row in rows}


def trace(host: Host, wanted: Iterable[str]) -> dict[str, Counters]:
    """Trace these calls (variant and size) as a dear launch is traced: by sampled blocks alone."""
    calls = set(wanted)
    registers = json.loads((VARIANTS / "registers.json").read_text())
    resources = tuple(Resources(kernel=kernel, registers=count) for kernel, count in registers.items())
    x, y, out = draw(BUFFER, 1), draw(BUFFER, 2), f32(2 * BUFFER + 4096)
    found: dict[str, Counters] = {}
    for path in sorted(VARIANTS.glob("*.cu")):
        source = path.read_text()
        entries = re.findall(r"^ENTRY\((\w+)\)", source, re.M)
        keys = [f"{entry} {n}" for entry in entries for n in sizes()[entry] if f"{entry} {n}" in calls]
        if not keys:
            continue
        build = host.build(source, entries)
        assert build.ok, build.log
        library = host.trace(build)
        jobs: list[tuple[str, str, list[Any]]] = [
            (str(library), key.split()[0], [out, x, y, int(key.split()[1])]) for key in keys
        ]
        results = host.run(jobs, CPUSIM_SAMPLE_BLOCKS="64", CPUSIM_SAMPLED_ABOVE="0")
        for key, result in zip(keys, results, strict=True):
            assert result["status"] == 0, (key, result["message"])
            found[key] = with_registers(read_counters(result["counters"], library, rewrite(source)), resources)
    return found


def trace_pairs(host: Host, names: Iterable[str]) -> dict[str, Counters]:
    """Trace both kernels of these pairs at the measured size: all in one library."""
    text, calls = "", []
    for name in names:
        pair = (PAIRS / f"{name}.cu").read_text()
        pair = re.sub(r"\b(before|after)\(", rf"{name}_\1(", pair).replace("#include <cuda_runtime.h>\n", "")
        text += f"namespace {name} {{\n#line 1\n{pair}\n}}\n"
        n = int(re.search(r"n = (\d+)", pair)[1])  # type: ignore[index]
        size = n * n if name in SQUARE else n
        x, y = draw(size, 1), draw(size, 2)
        calls += [(f"{name}_{which}", [f32(size), x, y, n]) for which in ("before", "after")]
    build = host.build(text, [entry for entry, _ in calls])
    assert build.ok, build.log
    library = host.trace(build)
    results = host.run([(str(library), entry, arguments) for entry, arguments in calls])
    found: dict[str, Counters] = {}
    for (entry, _), result in zip(calls, results, strict=True):
        assert result["status"] == 0, result["message"]
        name, _, which = entry.rpartition("_")
        found[f"{name} {which}"] = read_counters(result["counters"], library, rewrite(text))
    return found


def estimates() -> list[Timed]:
    """Every call that was measured on an H200 and whose counters are recorded."""
    gpu = gpu_model("NVIDIA H200")
    times, counted = measured(), recorded(VARIANTS / "counters.jsonl")
    rows = [
        Timed("variant", name, str(n), times[f"{name} {n}"], call_cost_us(counted[f"{name} {n}"], gpu))
        for name, all_sizes in sizes().items()
        for n in all_sizes
    ]
    pairs, earlier = json.loads((PAIRS / "measured.json").read_text())["pairs"], recorded(PAIRS / "counters.jsonl")
    rows += [
        Timed("pair", name, which, pair[f"{which}_us"], call_cost_us(earlier[f"{name} {which}"], gpu))
        for name, pair in pairs.items()
        for which in ("before", "after")
    ]
    for line in (VARIANTS / "baselines.jsonl").read_text().splitlines():
        row = json.loads(line)
        estimate = call_cost_us(Counters.model_validate(row["counters"]), gpu, floor_us=row["floor_us"])
        rows.append(Timed("baseline", row["unit"], row["case"], row["measured_us"], estimate))
    return rows


def held_out(rows: Sequence[Timed]) -> list[Timed]:
    """The calls that the constants were not fitted to: half of the variants' sizes, and all baselines."""
    names = sorted(sizes())
    return [
        row
        for row in rows
        if row.group == "baseline"
        or (row.group == "variant" and (sizes()[row.name].index(int(row.size)) + names.index(row.name)) % 2)
    ]


def spearman(rows: Sequence[Timed]) -> float:
    """Rank correlation of estimated and measured times."""

    def ranks(values: Sequence[float]) -> list[float]:
        ordered = sorted(values)
        return [ordered.index(v) + (ordered.count(v) - 1) / 2 for v in values]

    a, b = ranks([r.estimated_us for r in rows]), ranks([r.measured_us for r in rows])
    mean = (len(rows) - 1) / 2
    over = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    return over / math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))


def within(rows: Sequence[Timed], factor: float) -> float:
    """The share of calls whose estimate is off by no more than this factor."""
    return sum(1 / factor <= row.factor <= factor for row in rows) / len(rows)


def same_work(rows: Sequence[Timed]) -> list[tuple[Timed, Timed]]:
    """Pairs of variants that do the same work at the same size, and whose measured times differ by 10 % or more."""
    families = (
        "matmul", "gemv", "axpy", "gelu", "sum_", "histogram", "scan", "bodies", "filter", "transpose", "stencil",
        "box", "softmax", "column_sums",
    )  # fmt: skip
    variants = [row for row in rows if row.group == "variant"]
    found = []
    for i, a in enumerate(variants):
        for b in variants[i + 1 :]:
            alike = a.size == b.size and any(a.name.startswith(f) and b.name.startswith(f) for f in families)
            if alike and max(a.measured_us, b.measured_us) >= 1.1 * min(a.measured_us, b.measured_us):
                found.append((a, b))
    return found


def agree(pair: tuple[Timed, Timed]) -> bool:
    """Estimates order the two as the GPU does."""
    a, b = pair
    return (a.estimated_us < b.estimated_us) == (a.measured_us < b.measured_us)


def page(rows: Sequence[Timed]) -> str:
    """The comparison as Markdown."""
    groups = [
        ("all", rows),
        ("variants (`tests/data/timed`)", [r for r in rows if r.group == "variant"]),
        ("pairs (`tests/tools/device/cpu/pairs`)", [r for r in rows if r.group == "pair"]),
        ("baselines of the tasks", [r for r in rows if r.group == "baseline"]),
        ("half of the variants' sizes, and the baselines", held_out(rows)),
    ]
    choices = same_work(rows)
    worst = sorted(rows, key=lambda r: -abs(math.log(r.factor)))[:20]
    return "\n".join(
        [
            "# Estimated times beside an H200's",
            "",
            "The cpu device's cost model (`tools/device/cpu/cost.py`) against times on one NVIDIA H200 (2026-11-30,",
            "driver 580.159.04, CUDA 13.0.88): CUDA events around each call, L2 flushed before it. Counters were",
            "recorded once; a test computes the estimates anew. Constants were set by the other half of the variants'",
            "sizes and by the pairs; what the model consists of was chosen with all of these in view.",
            "",
            "| calls | number | Spearman | within 1.5x | within 2x |",
            "| --- | ---: | ---: | ---: | ---: |",
            *(
                f"| {title} | {len(some)} | {spearman(some):.3f} | {within(some, 1.5):.0%} | {within(some, 2):.0%} |"
                for title, some in groups
            ),
            "",
            f"Of {len(choices)} pairs of variants that do the same work at the same size and differ by 10 % or more",
            f"on the GPU, {sum(map(agree, choices))} are put in the right order "
            f"({sum(map(agree, choices)) / len(choices):.0%}).",
            "",
            "## Worst disagreements",
            "",
            "| call | size | measured, us | estimated, us | factor |",
            "| --- | --- | ---: | ---: | ---: |",
            *(f"| {r.name} | {r.size} | {r.measured_us:.1f} | {r.estimated_us:.1f} | {r.factor:.2f} |" for r in worst),
            "",
            "## Why",
            "",
            *WHY,
            "",
            "## All variants",
            "",
            "| call | n | measured, us | estimated, us | factor |",
            "| --- | ---: | ---: | ---: | ---: |",
            *(
                f"| {r.name} | {r.size} | {r.measured_us:.1f} | {r.estimated_us:.1f} | {r.factor:.2f} |"
                for r in rows
                if r.group == "variant"
            ),
            "",
        ]
    )


WHY: Final = (
    "- Atomics of many warps on a few hundred bytes: how addresses spread over the slices of the L2 is not public.",
    "- `powf` with constant exponents, and other calls that nvcc folds: here they count as calls.",
    "- Loads from shared memory that nvcc joins to wider ones count one by one.",
    "- Loops are taken to be unrolled as far as nvcc usually does; where it does more or less, loads wait differently.",
)


def keep(path: Path, counted: Mapping[str, Counters]) -> None:
    """Write counters, one call a line."""
    lines = (
        json.dumps({"call": call, "counters": counters.model_dump(mode="json", exclude_defaults=True)})
        for call, counters in sorted(counted.items())
    )
    path.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    if "--trace" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            host = Host(Path(folder))
            keep(
                PAIRS / "counters.jsonl", trace_pairs(host, json.loads((PAIRS / "measured.json").read_text())["pairs"])
            )
            keep(VARIANTS / "counters.jsonl", trace(host, measured()))
    PAGE.write_text(page(estimates()))
    print(PAGE)
