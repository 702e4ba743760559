"""The catalogue of findings as a page for people: generated from the rules themselves.

`python -m cudamaster.tools.profile.catalogue docs/diagnosis.md` writes it.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from .filter import KEPT
from .finding import Rule
from .findings import RULES, STALL_MIX
from .metrics import METRICS
from .strategies import STRATEGIES

_HEAD = """# Diagnosis: from counters to the one thing to fix

This page is generated from the findings (`python -m cudamaster.tools.profile.catalogue docs/diagnosis.md`).

A profile (Nsight Compute's counters on the cuda device, the device's own counters on the cpu device), the machine code
where a disassembler is found, ptxas' resources, the source, and the task's lower bounds of work go in. Findings come
out: each one sentence, evidence, a place, an upper bound of the speedup if it is fixed, and strategies that apply. They
are deterministic, and ranked by bound. A finding whose metrics are absent stays silent. No bound exceeds the call's
time ÷ its floor.

`cudamaster profile K.cu --task T` tells the findings, and of each kernel: its place under the roofline (with the
ceilings that `doctor --calibrate` measured, else the datasheet's), theoretical occupancy and what limits it, what ptxas
used, and the mix of the machine code. The latter two need nvcc and cuobjdump, but no GPU. `cudamaster compare A.cu B.cu
--task T` profiles both and says what moved, and why one is faster.

A run ends when its best version is within 15 % of its floor by the diagnosis, or at 95 % of it by the clock
(`stop_efficiency`; none: it never ends for that), and says so.

The threshold of the paper's filter, found anew by Otsu's method over this benchmark's baselines on an H200, stands in
[results/diagnosis_h200.md](results/diagnosis_h200.md).

"""


def catalogue() -> str:
    """Return the page as Markdown."""
    rules = sorted((*RULES, STALL_MIX), key=lambda rule: rule.name)
    lines = ["## Findings", "", "| finding | in one sentence |", "| --- | --- |"]
    lines += [f"| [{rule.name}](#{rule.name}) | {_title(rule)} |" for rule in rules]
    for rule in rules:
        lines += ["", f"### {rule.name}", "", *_meaning(rule), ""]
        lines += [f"- reads: {', '.join(f'`{name}`' for name in _short_list(rule.reads))}"]
        lines += [f"- strategies: {', '.join(f'`{name}`' for name in rule.strategies)}"]
    lines += ["", "## Strategies", "", "| strategy | what to do |", "| --- | --- |"]
    lines += [f"| `{name}` | {sentence} |" for name, sentence in STRATEGIES.items()]
    lines += ["", "## The paper's filter", "", "| class | metrics kept |", "| --- | --- |"]
    lines += [f"| {bottleneck.value} | {', '.join(f'`{n}`' for n in names)} |" for bottleneck, names in KEPT.items()]
    lines += [
        "",
        "Compute bound if the compute throughput is over the threshold (30 % in the paper); else bandwidth bound",
    ]
    lines += ["if device memory's or memory's throughput is; else latency bound. Launches are weighted by their time."]
    lines += [
        "",
        "## Metrics",
        "",
        "| metric | unit | Nsight Compute | cpu device | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for spec in METRICS:
        source = f"`{spec.ncu[0]}`" if spec.ncu else "–"
        lines.append(f"| `{spec.name}` | {spec.unit} | {source} | {'yes' if spec.cpu else '–'} | {spec.meaning} |")
    return _HEAD + "\n".join(lines) + "\n"


def _short_list(names: tuple[str, ...]) -> list[str]:
    stalls = [name for name in names if name.startswith("stall_")]
    return [name for name in names if name not in stalls] + (["stall_*_ratio"] if stalls else [])


def _title(rule: Rule) -> str:
    module = inspect.getmodule(type(rule))
    return inspect.cleandoc((module.__doc__ if module else "") or "")


def _meaning(rule: Rule) -> list[str]:
    return inspect.cleandoc(type(rule).__doc__ or "").splitlines()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(catalogue())
