"""A case's data with the right answer: drawn from a seed, sampled where the output is big, and kept for a while."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...benchmark.contract import Precision
from ...benchmark.estimate import host_bytes
from ...benchmark.inputs import draw_stored
from ...benchmark.storage import from_storage
from ...benchmark.task import Case, Expected, Task
from ..device.runner.shared_inputs import SharedInputs
from ..phases import phase
from .kept import kept_on_disk
from .memory import must_fit
from .seeds import derive

SAMPLED_ELEMENTS = 2**22
SAMPLED_OPERATIONS = 2**30
"""Above this many elements in all outputs, or operations, a sample is compared, where the task can compute one."""
_KEPT_BYTES = 4 << 30
"""So much is kept in memory, the least recently used go first."""


_SMALL_BYTES = 256 << 20
_PEAK = 4
"""While an instance is made it needs about so many times what it needs then."""
_SHARED_BYTES = 16 << 20
"""Inputs above this lie where every process can map them."""

Key = tuple[str, str, str, int]
"""Task hash, case, precision, seed."""


@dataclass(frozen=True)
class Instance:
    """The data of a case as they lie in memory, and what must come out."""

    memory: Mapping[str, NDArray[Any]]
    expected: dict[str, Expected]

    @property
    def positions(self) -> dict[str, NDArray[np.int64]]:
        """The elements wanted of each output that is sampled."""
        return {name: e.positions for name, e in self.expected.items() if e.positions is not None}

    @property
    def nbytes(self) -> int:
        """Size of all arrays, bytes."""
        answers = [a for e in self.expected.values() for a in (e.value, e.bound, e.positions) if a is not None]
        return sum(a.nbytes for a in (*self.memory.values(), *answers))


class _Recent:
    """The instances used last, up to so many bytes; the newest always stays. Threads may share it."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._bytes = most_bytes, 0
        self._lock = Lock()
        self._kept: OrderedDict[Key, Instance] = OrderedDict()

    def get(self, key: Key) -> Instance | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def newest(self, wanted: tuple[str, str, str]) -> Instance | None:
        """Return the newest instance of a task, case and precision, whatever its seed."""
        with self._lock:
            return next((made for key, made in reversed(self._kept.items()) if key[:3] == wanted), None)

    def put(self, key: Key, made: Instance) -> None:
        with self._lock:
            self._kept[key] = made
            self._bytes += made.nbytes
            while len(self._kept) > 1 and self._bytes > self._most:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


_recent = _Recent(_KEPT_BYTES)


def instance(task: Task, case: Case, precision: Precision, seed: int, *, keep: bool = False) -> Instance:
    """Return the data and the answer of a case for a seed; the last few stay in memory, with `keep` on disk too.

    Raises:
        Unsupported: the machine has too little memory for them.
    """
    key = (task.sha256, case.model_dump_json(), precision.value, seed)
    made = _recent.get(key)
    if made is None:
        sampled = task.sample is not None and _is_big(task, case)
        must_fit(task, case, precision, sampled=sampled)
        make = partial(_make, task, case, precision, seed, sampled)
        with phase("data"):
            made = kept_on_disk(key, make) if keep else make()
            if sum(a.nbytes for a in made.memory.values()) > _SHARED_BYTES:
                made = Instance(SharedInputs(made.memory), made.expected)
        _recent.put(key, made)
    return made


def make_ready(task: Task, precision: Precision, wanted: Sequence[tuple[Case, int, bool]]) -> None:
    """Make the instances of these cases and seeds, so that `instance` need not; the flag is its `keep`.

    Small ones in threads, then large ones one by one: each keeps threads busy, and several may not fit into memory.
    Those that would not all stay in memory are left to `instance`.
    """

    def make(one: tuple[Case, int, bool]) -> None:
        instance(task, one[0], precision, one[1], keep=one[2])

    needs = [host_bytes(task, case, precision, sampled=True) for case, _, _ in wanted]
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        list(pool.map(make, [one for one, need in zip(wanted, needs, strict=True) if need < _SMALL_BYTES]))
    held = 0
    for one, need in zip(wanted, needs, strict=True):
        if need >= _SMALL_BYTES and (held := held + need // _PEAK) < _KEPT_BYTES:
            make(one)


def _make(task: Task, case: Case, precision: Precision, seed: int, sampled: bool) -> Instance:
    with phase("draw"):
        memory = draw_stored(task, case, precision, seed)
    types = {a.name: a.dtype.resolve(precision) for a in task.contract.inputs}
    arrays = {name: from_storage(array, types[name]) for name, array in memory.items()}
    with phase("reference"), np.errstate(all="ignore"):
        if task.sample is not None and sampled:
            return Instance(memory, task.sample(arrays, case, precision, np.random.default_rng(derive(seed, "sample"))))
        return Instance(memory, task.reference(arrays, case, precision))


def kept_instance(task: Task, case: Case, precision: Precision) -> Instance | None:
    """Return the data and the answer of a case of whatever seed was used last; None if none is kept in memory."""
    return _recent.newest((task.sha256, case.model_dump_json(), precision.value))


def _is_big(task: Task, case: Case) -> bool:
    elements = sum(a.elements(case.sizes) for a in task.contract.outputs)
    return elements > SAMPLED_ELEMENTS or task.complexity(case.sizes) > SAMPLED_OPERATIONS
