"""The original kernel as its own reference: built and run on this machine, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ...benchmark.contract import Precision
from ...benchmark.storage import from_storage, to_storage
from ...benchmark.task import Case, Drawn, Task
from ..device.port import Runner
from ..device.select import get_device
from ..records import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray


Run = Callable[[Mapping[str, "NDArray[Any]"]], Drawn]


@contextmanager
def original(task: Task, case: Case, precision: Precision) -> Iterator[Run]:
    """Yield a function that runs the task's baseline at a case: input arrays in (float64, int64), outputs back alike.

    Raises:
        RuntimeError: it does not build, fails, or leaves part of an output unwritten; the message says what to do.
    """
    device = get_device("auto")
    build = device.build(Candidate(source=task.source(precision)), task, precision)
    if not build.ok:
        raise RuntimeError(f"the original does not build on the {device.name} device: {build.log[-2000:]}")
    with device.open(build, task, precision) as runner:
        yield partial(_call, runner, task, case, precision)


def _call(runner: Runner, task: Task, case: Case, precision: Precision, arrays: Mapping[str, NDArray[Any]]) -> Drawn:
    types = {a.name: a.dtype.resolve(precision) for a in task.contract.arguments}
    runner.load_case(case, {name: to_storage(array, types[name]) for name, array in arrays.items()})
    result = runner.call()
    where = f"the original at {case.name}"
    if result.status != "ok":
        raise RuntimeError(f"{where}: {result.status}: {result.message}")
    if result.damage:
        raise RuntimeError(f"{where}: {'; '.join(result.damage)} (are the shapes in task.py too small?)")
    for argument in task.contract.outputs:
        if count := result.unwritten.get(argument.name, 0):
            raise RuntimeError(
                f"{where}: {count:,} of the {argument.elements(case.sizes):,} elements of {argument.name} were never "
                "written: its shape in task.py is too big, or it is an array_inout"
            )
    return {name: from_storage(array, types[name]) for name, array in result.outputs.items()}
