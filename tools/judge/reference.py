"""A case's data with the right answer: drawn from a seed, kept for a while, and kept on disk where it is dear."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...benchmark.contract import Precision
from ...benchmark.inputs import draw
from ...benchmark.storage import stored
from ...benchmark.task import Case, Expected, Task

_KEPT_BYTES = 256 << 20


@dataclass(frozen=True)
class Instance:
    """The data of a case as they lie in memory, and what must come out."""

    memory: dict[str, NDArray[Any]]
    expected: dict[str, Expected]

    @property
    def nbytes(self) -> int:
        """Size of all arrays, bytes."""
        answers = [a for e in self.expected.values() for a in (e.value, e.bound) if a is not None]
        return sum(a.nbytes for a in (*self.memory.values(), *answers))


_kept: OrderedDict[tuple[str, str, str, int], Instance] = OrderedDict()


def instance(task: Task, case: Case, precision: Precision, seed: int) -> Instance:
    """Return the data and the answer of a case for a seed; the last few are kept in memory."""
    key = (task.sha256, case.model_dump_json(), precision.value, seed)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key]
    arrays = draw(task, case, precision, seed)
    with np.errstate(all="ignore"):
        expected = task.reference(arrays, case, precision)
    made = Instance(stored(arrays, task.contract, precision), expected)
    _kept[key] = made
    while len(_kept) > 1 and sum(i.nbytes for i in _kept.values()) > _KEPT_BYTES:
        _kept.popitem(last=False)
    return made
