"""Real CUDA kernels for a task, honest and mistaken, in one library: `kernels/<task>.cu`, for both precisions.

`HONEST(name) {…}` and `MISTAKE(name) {…}` define host functions with the contract's arguments, the workspace and the
stream; with `FP32_` or `BF16_` before it one is there in that precision only. What tasks of a kind share lies in a
header beside them, which says what a task defines before it includes it. A set's library takes one argument more than
the contract, which says which function to run; so one build and one process serve a whole set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cudamaster.benchmark.contract import DType, Precision, scalar
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import Case, Task
from cudamaster.tools.device.port import Device, Runner
from cudamaster.tools.records import Build, Candidate

FOLDER = Path(__file__).parent / "kernels"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.cu")))
SELECTOR = "variant"
_DEFINITION = re.compile(r"^(?:(FP32|BF16)_)?(HONEST|MISTAKE)\((\w+)\)", re.MULTILINE)
_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


@dataclass(frozen=True)
class KernelSet:
    """All kernels of one unit."""

    task: Task
    """As the benchmark has it."""
    precision: Precision
    variants: tuple[tuple[str, str], ...]
    """Kind (`HONEST` or `MISTAKE`) and name, in the order of the file: the index selects."""
    source: str

    @property
    def selecting(self) -> Task:
        """The task with the selecting argument."""
        contract = self.task.contract
        arguments = (*contract.arguments, scalar(SELECTOR, DType.I32))
        return replace(self.task, contract=contract.model_copy(update={"arguments": arguments}))

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the names of one kind."""
        return tuple(name for found, name in self.variants if found == kind)

    def build(self, device: Device) -> Build:
        """Compile the set."""
        return device.build(Candidate(source=self.source), self.selecting, self.precision)


def with_headers(text: str) -> str:
    """Return a source with the headers of this folder in place of their inclusion: candidates are one file."""
    return _INCLUDE.sub(lambda found: with_headers((FOLDER / found[1]).read_text()), text)


def kernel_set(task_name: str, precision: Precision) -> KernelSet:
    """Return the kernels of a unit."""
    task, body = load_task(task_name), with_headers((FOLDER / f"{task_name}.cu").read_text())
    found = _DEFINITION.findall(body)
    variants = tuple((kind, name) for only, kind, name in found if only in ("", precision.name))
    contract = task.contract
    names = ", ".join([*(a.name for a in contract.arguments), "workspace", "stream"])
    parameters = ", ".join([*(a.declaration(precision) for a in contract.arguments), "void* workspace"])
    selecting = contract.model_copy(update={"arguments": (*contract.arguments, scalar(SELECTOR, DType.I32))})
    branches = "\n".join(f"    if ({SELECTOR} == {i}) return {name}({names});" for i, (_, name) in enumerate(variants))
    sizes = ", ".join(a.name for a in contract.sizes)
    source = f"""{with_headers('#include "prelude.cuh"')}
typedef {DType.STORAGE.resolve(precision).c_name} T;
#define WORKSPACE_BYTES() static size_t wanted_workspace({", ".join(f"int {a.name}" for a in contract.sizes)})
#define HONEST(name) [[maybe_unused]] static cudaError_t name({parameters}, cudaStream_t stream)
#define MISTAKE(name) HONEST(name)
#define FP32_MISTAKE(name) HONEST(name)
#define BF16_HONEST(name) HONEST(name)
{body}
{contract.workspace_prototype()} {{
    return wanted_workspace({sizes});
}}
{selecting.prototype(precision)} {{
{branches}
    return cudaErrorInvalidValue;
}}
"""
    return KernelSet(task, precision, variants, source)


@dataclass(frozen=True)
class Selected:
    """A runner whose calls go to one kernel of a set: for the judge it is a runner of the plain task."""

    runner: Runner
    index: int

    def load_case(self, case: Case, arrays: Any, *, new_pointers: bool = True) -> None:
        chosen = case.model_copy(update={"scalars": {**case.scalars, SELECTOR: self.index}})
        self.runner.load_case(chosen, arrays, new_pointers=new_pointers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)

    def __enter__(self) -> Selected:
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.close()


@dataclass(frozen=True)
class SelectingDevice:
    """A device for `verify` whose runners run one kernel of a set."""

    device: Device
    kernels: KernelSet
    index: int

    @property
    def name(self) -> str:
        return self.device.name

    def open(self, build: Build, task: Task, precision: Precision) -> Selected:
        return Selected(self.device.open(build, self.kernels.selecting, precision), self.index)


def smallest_first(task: Task, cases: Sequence[Case]) -> list[Case]:
    """Return cases by rising cost."""
    return sorted(cases, key=lambda case: task.complexity(case.sizes))
