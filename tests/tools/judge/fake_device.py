"""A device without a compiler: a "kernel" is a Python function on memory. Cheap enough to try every way of cheating."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
from cudamaster.benchmark.contract import Precision, Role
from cudamaster.benchmark.inputs import draw
from cudamaster.benchmark.storage import from_storage, numpy_type, to_storage
from cudamaster.benchmark.task import Case, CaseSet, Task
from cudamaster.tools.device.port import CallResult, DeviceInfo
from cudamaster.tools.judge.poison import holds_poison
from cudamaster.tools.records import Build, Candidate, CaseGain, EstimatedSpeedup


@dataclass
class Call:
    """What a fake kernel sees: the arrays as they lie in memory, and which buffers they lie in."""

    task: Task
    case: Case
    precision: Precision
    memory: dict[str, np.ndarray]
    buffers: int
    """Grows with every `new_pointers`: equal numbers mean equal addresses."""

    def numbers(self) -> dict[str, np.ndarray]:
        """Return the inputs as float64 or int64."""
        return {
            a.name: from_storage(self.memory[a.name], a.dtype.resolve(self.precision))
            for a in self.task.contract.inputs
        }

    def write(self, outputs: dict[str, np.ndarray]) -> None:
        """Round numbers to the storage type and write them to the outputs."""
        for argument in self.task.contract.outputs:
            if argument.name in outputs:
                self.memory[argument.name][...] = to_storage(
                    outputs[argument.name], argument.dtype.resolve(self.precision)
                )


Kernel = Callable[[Call], CallResult | None]


def honest(call: Call) -> None:
    """Compute the reference in float64 and round it once."""
    arrays = call.numbers()
    with np.errstate(all="ignore"):
        expected = call.task.reference(arrays, call.case, call.precision)
    call.write({name: e.value for name, e in expected.items()})


class FakeRunner:
    """Runs one kernel on memory of its own, as a runner process would."""

    def __init__(self, kernel: Kernel, task: Task, precision: Precision) -> None:
        self.kernel, self.task, self.precision = kernel, task, precision
        self.buffers = 0
        self.closed = False

    def load_case(self, case, arrays, *, new_pointers=True):
        self.buffers += new_pointers
        self.case = case
        self.inputs = {name: array.copy() for name, array in arrays.items()}

    def call(self, poison=0xFF, positions=None):
        memory = {name: array.copy() for name, array in self.inputs.items()}
        for argument in self.task.contract.outputs:
            if argument.role is Role.OUT:
                dtype = numpy_type(argument.dtype.resolve(self.precision))
                count = argument.elements(self.case.sizes)
                filled = np.frombuffer(bytes([poison]) * count * dtype.itemsize, dtype).copy()
                memory[argument.name] = filled.reshape(argument.extents(self.case.sizes))
        result = self.kernel(Call(self.task, self.case, self.precision, memory, self.buffers))
        if result is not None:
            return result
        changed = [
            f"input {a.name!r} was changed"
            for a in self.task.contract.inputs
            if a.role is Role.IN and memory[a.name].tobytes() != self.inputs[a.name].tobytes()
        ]
        outputs, unwritten = {}, {}
        for argument in self.task.contract.outputs:
            name = argument.name
            unwritten[name] = int(np.count_nonzero(holds_poison(memory[name], poison)))
            outputs[name] = memory[name].ravel()[positions[name]] if name in (positions or {}) else memory[name]
        return CallResult("ok", outputs=outputs, unwritten=unwritten, damage=tuple(changed))

    def hold(self):
        return nullcontext()

    def close(self):
        self.closed = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@dataclass
class FakeDevice:
    """Opens the same kernel for every build."""

    kernel: Kernel = honest
    name: str = "cpu"
    builds: list[Candidate] = field(default_factory=list)
    opened: int = 0

    def info(self):
        return DeviceInfo(name="cpu", gpu="none", arch="sm_90", multiprocessors=1)

    def build(self, candidate, task, precision):
        self.builds.append(candidate)
        if "syntax error" in candidate.source:
            return Build(ok=False, failure="source", log="x.cu(3): note: hm\nx.cu(3): error: expected a ';'")
        return Build(ok=True, library=__file__)

    def open(self, build, task, precision):
        self.opened += 1
        return FakeRunner(self.kernel, task, precision)

    def checked_cases(self, task):
        return tuple(c for c in task.in_set(CaseSet.SMALL, CaseSet.HIDDEN) if task.complexity(c.sizes) <= 100_000)

    def timed_cases(self, task):
        return task.in_set(CaseSet.PAPER)

    def compare(self, baseline, candidate, task, precision, cases, to_beat=None):
        from cudamaster.tools.records import Interval

        ratio = Interval(value=2.0, low=2.0, high=2.0)
        gains = tuple(
            CaseGain(
                case=c.name, set=c.set, complexity=task.complexity(c.sizes), baseline_us=2, candidate_us=1, ratio=ratio
            )
            for c in cases
        )
        return EstimatedSpeedup(cases=gains, geomean=2.0, weighted=2.0)

    def profile(self, build, task, precision, case):
        raise NotImplementedError

    def sanitize(self, build, task, precision, cases):
        return ()


def drawn(task: Task, case: Case, precision: Precision, seed: int):
    """Return the numbers and the expected outputs of a case."""
    arrays = draw(task, case, precision, seed)
    with np.errstate(all="ignore"):
        return arrays, task.reference(arrays, case, precision)
