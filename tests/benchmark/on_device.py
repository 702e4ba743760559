"""The judge's margins with real kernels on a device: honest ones inside half of the bound, mistakes outside it.

`python -m cudamaster.tests.benchmark.on_device --device cuda --seeds 50 --out FILE.json [TASK…]` tries every kernel of
`kernels/` at every small case, and on a GPU what its libraries compute. One process per unit, several at a time.
`--table FILE.json…` prints one or more results as one table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import Case, CaseSet
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.device.cuda.device import CudaDevice
from cudamaster.tools.device.port import Device
from cudamaster.tools.judge.check_case import check_case
from cudamaster.tools.judge.compare import compare
from cudamaster.tools.judge.reference import instance
from cudamaster.tools.judge.seeds import derive
from cudamaster.tools.records import Status

from .kernel_sets import NAMES, Selected, kernel_set, smallest_first
from .libraries import from_gpu, libraries, strict, to_gpu
from .margins import EXACT, mutant_effects

DAMAGED = EXACT
"""The effect of what is rejected without a comparison: unwritten or damaged memory, a failed call."""


def device_named(name: str) -> Device:
    """Return a device. The cpu device compiles for the host alone here: a GPU's turn comes with the GPU."""
    return CpuDevice(use_nvcc=False) if name == "cpu" else CudaDevice()


def seeds_of(case: Case, seed: int) -> tuple[int, int]:
    """Return the seeds of a case's two data sets: this one and the next."""
    return derive(seed, case.name), derive(seed + 1, case.name)


class Extremes:
    """Keeps, per name, the largest or smallest value and where it was."""

    def __init__(self, better: Any, found: dict[str, Any] | None = None) -> None:
        self.better, self.found = better, dict(found or {})

    def add(self, name: str, value: float, case: str, seed: int, **more: str) -> None:
        self.merge({name: {"value": value, "case": case, "seed": seed, **more}})

    def merge(self, found: dict[str, Any]) -> None:
        """Take what is further out in others' findings."""
        for name, there in found.items():
            if name not in self.found or self.better(there["value"], self.found[name]["value"]):
                self.found[name] = there


BETTER = {"honest": float.__gt__, "libraries": float.__gt__, "mistakes": float.__lt__, "mutants": float.__lt__}
"""Of honest results the largest error counts, of wrong ones the smallest effect."""


def kernels_on(
    device_name: str, name: str, precision: Precision, seeds: range, *, until: float = float("inf"), every: int = 1
) -> dict[str, Any]:
    """Run every kernel of a unit; return the largest honest errors and the smallest effects of mistakes by name.

    The judge looks at two data sets of a case, so seeds go in pairs. After the time `until` no pair is begun. An honest
    kernel is run at one in `every` cases, at others for each pair.

    A mistake's effect for a seed is that at the first case that rejects it; a seed that no case rejects gives its
    largest ratio, which is then at most 1.
    """
    if time.time() > until:
        return {}
    device, kernels = device_named(device_name), kernel_set(name, precision)
    build = kernels.build(device)
    if not build.ok:
        raise RuntimeError(f"{name}-{precision}: {build.log}")
    cases = smallest_first(kernels.task, kernels.task.in_set(CaseSet.SMALL))
    honest, mistakes = Extremes(BETTER["honest"]), Extremes(BETTER["mistakes"])
    caught_at: dict[int, Case] = {}
    done = 0
    with device.open(build, kernels.selecting, precision) as process:
        for turn, seed in enumerate(seeds[::2]):
            if time.time() > until:
                break
            for number, case in enumerate(cases):
                for index in (i for i, (kind, _) in enumerate(kernels.variants) if kind == "HONEST"):
                    if (number + index + turn) % every:
                        continue
                    selected = Selected(process, index)
                    outcome = check_case(selected, kernels.task, precision, case, seeds_of(case, seed))
                    passed = outcome.status is Status.PASS
                    value = outcome.evidence.worst_ratio if passed else max(outcome.evidence.worst_ratio, 2.0)
                    why = {} if passed else {"reason": outcome.evidence.reason}
                    honest.add(kernels.variants[index][1], value, case.name, seed, **why)
            for index in (i for i, (kind, _) in enumerate(kernels.variants) if kind == "MISTAKE"):
                largest, where = 0.0, cases[0]
                likely = [caught_at[index]] if index in caught_at else []
                for case in [*likely, *(c for c in cases if c not in likely)]:
                    outcome = check_case(Selected(process, index), kernels.task, precision, case, seeds_of(case, seed))
                    if outcome.status is not Status.PASS:
                        largest, where = outcome.evidence.worst_ratio or DAMAGED, case
                        caught_at[index] = case
                        break
                    largest = max(largest, outcome.evidence.worst_ratio)
                mistakes.add(kernels.variants[index][1], largest, where.name, seed)
            done += 2
    return {"honest": honest.found, "mistakes": mistakes.found, "kernel_seeds": done}


def libraries_on(name: str, precision: Precision, seeds: int, until: float = float("inf")) -> dict[str, Any]:
    """Return the largest error of each library's result by name; and at how many cases a library declines, and why.

    After the time `until` no case is begun.
    """
    import torch

    strict()
    torch.set_num_threads(1)
    task, results, declined = load_task(name), Extremes(BETTER["libraries"]), {}
    for case, seed in ((c, s) for c in task.in_set(CaseSet.SMALL) for s in range(seeds)):
        if time.time() > until:
            break
        data = instance(task, case, precision, seeds_of(case, seed)[0])
        tensors = to_gpu(data.memory, task.contract, precision)
        for label, compute in libraries(name, precision).items():
            if seed and (label, case.name) in declined:
                continue
            try:
                outputs = compute(tensors, case)
            except (ImportError, RuntimeError, TypeError, ValueError) as error:
                declined[label, case.name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160]}"
                continue
            for argument in task.contract.outputs:
                if argument.name in case.null:
                    continue
                memory = from_gpu(outputs[argument.name], argument.dtype.resolve(precision))
                found = compare(memory, data.expected[argument.name], argument, precision, case.sizes, 0xFF)
                results.add(label, found.worst_ratio, case.name, seed)
    reasons: dict[str, dict[str, Any]] = {}
    for (label, case_name), reason in declined.items():
        reasons.setdefault(label, {"cases": 0, "first": case_name, "reason": reason})["cases"] += 1
    return {"libraries": results.found, "declined": reasons}


def outputs_altered(name: str, precision: Precision, seeds: int) -> dict[str, Any]:
    """Return the smallest effect of each generic mutation of right outputs, in the case that catches it first."""
    smallest = Extremes(float.__lt__)
    for seed in range(seeds):
        for mutant, effect in mutant_effects(load_task(name), precision, seed, enough=1.0).items():
            smallest.add(mutant, effect, "", seed)
    return {"mutants": smallest.found}


SHARE = 26
"""Seeds of a unit that one process takes."""

Work = tuple[str, Precision, Any]


def jobs(device: str, seeds: int, until: float, names: Sequence[str]) -> Iterator[Work]:
    """Yield unit and work: first a share of every unit's seeds, then what else there is."""
    units = [(name, precision) for name in names for precision in Precision]
    for start in range(0, seeds, SHARE):
        share = range(start, min(start + SHARE, seeds))
        for name, precision in units:
            yield name, precision, partial(kernels_on, device, name, precision, share, until=until)
    for name, precision in units:
        if device == "cuda" and libraries(name, precision):
            yield name, precision, partial(libraries_on, name, precision, seeds, until)
        yield name, precision, partial(outputs_altered, name, precision, seeds)


def merge(unit: dict[str, Any], found: dict[str, Any]) -> None:
    """Add what one piece of work found to what is known of a unit."""
    for key, value in found.items():
        if key in BETTER:
            known = Extremes(BETTER[key], unit.get(key))
            known.merge(value)
            unit[key] = known.found
        elif key == "kernel_seeds":
            unit[key] = unit.get(key, 0) + value
        else:
            unit[key] = value


def measure(
    device_name: str, seeds: int, workers: int, out: Path, limit_s: float, names: Sequence[str] = NAMES
) -> dict[str, Any]:
    """Run everything; the file is rewritten after each piece of work, so that nothing is lost."""
    info, start = device_named(device_name).info(), time.monotonic()
    result: dict[str, Any] = {
        "schema": 1, "date": time.strftime("%Y-%m-%d"), "device": info.model_dump(mode="json"), "seeds": seeds,
        "units": {}, "errors": {},
    }  # fmt: skip
    with ProcessPoolExecutor(workers) as pool:
        todo = jobs(device_name, seeds, time.time() + limit_s, names)
        futures = {pool.submit(work): (name, precision, work.func.__name__) for name, precision, work in todo}
        for future in as_completed(futures):
            name, precision, work = futures[future]
            try:
                merge(result["units"].setdefault(f"{name}-{precision}", {}), future.result())
            except Exception as error:  # what others found must not be lost
                result["errors"][f"{name}-{precision} {work}"] = f"{type(error).__name__}: {error}"
            print(f"{time.monotonic() - start:.0f} s: {name}-{precision} {work}", flush=True)
            result["seconds"] = round(time.monotonic() - start)
            out.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    return result


def together(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return several results on one device as one."""
    units: dict[str, Any] = {}
    for result in results:
        for unit, found in result["units"].items():
            merge(units.setdefault(unit, {}), found)
    return {**results[-1], "seeds": max(result["seeds"] for result in results), "units": units}


def _times(ratio: float) -> str:
    """Return a multiple of the bound as text."""
    return "exact" if ratio >= EXACT else f"{ratio:.3g}"


def table(result: dict[str, Any]) -> str:
    """Return a result as Markdown."""
    device = result["device"]
    kernels = {"cuda": "on the GPU", "cpu": "on the cpu device"}[device["name"]]
    lines = [
        f"# Error margins {kernels}",
        "",
        "Generated by `python -m cudamaster.tests.benchmark.on_device`; `docs/error_bounds.md` derives the bounds.",
        f"{device['gpu']}, driver {device['driver'] or '-'}, {device['compiler']}, {result['date']}; "
        f"up to {result['seeds']} seeds at every small case.",
        "1 is the bound; in an exact case, or where memory is damaged or never written, every difference counts.",
        "Honest: CUDA kernels and, on a GPU, libraries. Wrong: CUDA kernels with a natural mistake, and right outputs",
        "altered; the effect of each is that in the case that catches it first, the smallest over the seeds.",
        "",
        "| unit | seeds | honest | largest error | of | wrong, rejected | weakest | its effect |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    units = sorted((unit, found) for unit, found in result["units"].items() if found.get("kernel_seeds"))
    for unit, found in units:
        libraries = {name: there for name, there in found.get("libraries", {}).items() if there["value"] <= 1}
        honest = {**found["honest"], **libraries}
        wrong = {**found["mistakes"], **found.get("mutants", {})}
        worst = max(honest, key=lambda n: honest[n]["value"])
        weakest = min(wrong, key=lambda n: wrong[n]["value"])
        effect = wrong[weakest]["value"]
        rejected = sum(w["value"] > 1 for w in wrong.values())
        lines.append(
            f"| {unit} | {found['kernel_seeds']} | {len(found['honest'])} + {len(libraries)} "
            f"| {honest[worst]['value']:.3f} | {worst.replace('_', ' ')}, {honest[worst]['case']} "
            f"| {rejected} of {len(wrong)} | {weakest.replace('_', ' ')} "
            f"| {_times(effect)} |"
        )
    outside = [
        f"- {unit}: {name}: {_times(there['value'])} at {there['case']}"
        for unit, found in units
        for name, there in found.get("libraries", {}).items()
        if there["value"] > 1
    ]
    declined = [
        f"- {unit}: {name}: {why['cases']} cases, first {why['first']}: {why['reason']}"
        for unit, found in units
        for name, why in found.get("declined", {}).items()
    ]
    shown = {unit for unit, _ in units}
    absent = [name for name in task_names() if any(f"{name}-{precision}" not in shown for precision in Precision)]
    if result.get("notes"):
        lines += ["", *result["notes"]]
    if absent:
        lines += ["", f"Not run here, or in one precision only: {', '.join(absent)}."]
    if outside:
        lines += ["", "Libraries that round more than the task allows, which the judge rejects:", "", *outside]
    if declined:
        lines += ["", "Cases that a library declines:", "", *declined]
    return "\n".join(lines)


def main() -> None:
    """Measure, or print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit-s", type=float, default=3600.0, help="begin no more seeds after so many seconds")
    parser.add_argument("--out", type=Path, default=Path("margins.json"))
    parser.add_argument("tasks", nargs="*", default=NAMES)
    parser.add_argument("--table", type=Path, nargs="+")
    options = parser.parse_args()
    np.seterr(all="ignore")
    if options.table:
        print(table(together([json.loads(path.read_text()) for path in options.table])))
        return
    result = measure(options.device, options.seeds, options.workers, options.out, options.limit_s, options.tasks)
    print(table(result))
    print(result["errors"] or "no errors")


if __name__ == "__main__":
    main()
