"""What to compute: the task, its cases and its reference."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from .contract import Contract, Precision

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Drawn: TypeAlias = "dict[str, NDArray[Any]]"
"""What a task's generator draws: input arrays by name, float64 or whole numbers."""
Outputs: TypeAlias = "dict[str, Expected]"
"""What a task's reference returns: the expected outputs by name."""


class NoBaseline(LookupError):
    """The task has no kernel in this precision."""


class CaseSet(StrEnum):
    """Which set a case belongs to."""

    SMALL = "small"
    """Fast, odd and awkward shapes: the first gate, and all that the cpu device runs."""
    PAPER = "paper"
    """The paper's sizes: what is timed and scored."""
    LARGE = "large"
    """Sizes that fill a big GPU, well past a 60 MB L2."""
    HIDDEN = "hidden"
    """Never shown to a model: other sizes and other parameter values."""


class Case(BaseModel):
    """One size with its parameters and the distribution of its data. The seed is chosen when it runs."""

    model_config = ConfigDict(frozen=True)

    set: CaseSet
    sizes: dict[str, int]
    scalars: dict[str, float] = {}
    distribution: str = "uniform"
    exact: bool = False
    """The data make every intermediate representable in any order of operations: compared bit for bit."""
    null: tuple[str, ...] = ()
    """Nullable arrays passed as null pointers."""

    @property
    def name(self) -> str:
        """A readable identity, e.g. `N=65536 uniform`: cases that differ have names that do."""
        values = ",".join(f"{k}={exact(v)}" for k, v in {**self.sizes, **self.scalars}.items())
        return " ".join([values, self.distribution, *(f"{n}=null" for n in self.null)])


def exact(value: float) -> str:
    """Return the shortest text of a number that reads back as the same one: `1048577`, `0.5`, `1e-05`."""
    if isinstance(value, int):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value or value != value else repr(value)


@dataclass(frozen=True)
class Expected:
    """The right answer for one output array, flattened or in its shape.

    `value` is float64 (or int for index arrays) from the definition of the task, never from the baseline.
    `bound` is the largest legal |output − value| per element, the final rounding to the output type included;
    None demands equality with `value` rounded to the output type. NaN and infinities must match exactly.
    """

    value: NDArray[Any]
    bound: NDArray[np.float64] | None = None
    positions: NDArray[np.int64] | None = None
    """Of a sample: the places of `value` and `bound` in the flattened output, ascending. None: the whole output."""

    def at(self, positions: NDArray[np.int64]) -> Expected:
        """Return this as the sample at these positions."""
        return replace(self, positions=positions.reshape(-1))


Arrays = Mapping[str, "NDArray[Any]"]
"""Input arrays by name. Floating arrays are float64 with values exactly representable in the storage type."""


@dataclass(frozen=True)
class Task:
    """What to compute, on what, and how a result is judged. One folder of the benchmark defines one."""

    name: str
    category: str
    formula: str
    """One line of mathematics, as a person would write it."""
    contract: Contract
    cases: tuple[Case, ...]
    generate: Callable[[Case, Precision, np.random.Generator], dict[str, NDArray[Any]]]
    """Draw the input arrays of a case: float64 (rounded to the storage type by the caller) or int32."""
    reference: Callable[[Arrays, Case, Precision], dict[str, Expected]]
    """Return the expected outputs by name, in float64, with their error bounds."""
    complexity: Callable[[Mapping[str, int]], int]
    """T(N) of the paper's score: operations of the naive algorithm, 64-bit."""
    min_flops: Callable[[Mapping[str, int]], int]
    """Proven lower bound of floating-point operations; 0 where unknown."""
    min_bytes: Callable[[Mapping[str, int], Precision], int]
    """Proven lower bound of bytes moved to or from device memory: each input read once, each output written once."""
    waste: str
    """One sentence: what the baseline wastes."""
    sample: Callable[[Arrays, Case, Precision, np.random.Generator], dict[str, Expected]] | None = None
    """The expected outputs at some positions only, for cases whose whole reference is dear (see `sampling`)."""
    strategies: tuple[str, ...] = ()
    """Known good strategies, most rewarding first."""
    reference_operations: Callable[[Mapping[str, int]], int] | None = None
    """Operations of the reference, where they are far fewer than `complexity`: for estimates of time."""
    legal: Callable[[Case], bool] = lambda case: True
    """Which positive sizes and scalars a kernel must handle; by default all."""
    notes: str = ""
    """Where and why the contract differs from the paper's."""
    folder: Path = field(default=Path(), compare=False)
    tensor_cores: bool = False
    """The work is a matrix product that tensor cores can do in bf16."""
    differential: bool = False
    """There is no definition: the reference runs the original kernel. Every result says so."""

    def source(self, precision: Precision) -> str:
        """Return the baseline's CUDA source.

        Raises:
            NoBaseline: a task of the user's own has no kernel in this precision.
        """
        file = self.folder / f"{precision}.cu"
        if not file.is_file():
            there = ", ".join(sorted(path.stem for path in self.folder.glob("*.cu"))) or "none"
            raise NoBaseline(f"task {self.name} has no kernel in {precision} ({file} is missing; there is: {there})")
        return file.read_text()

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The precisions that there is a baseline in."""
        return tuple(p for p in Precision if (self.folder / f"{p}.cu").is_file())

    def in_set(self, *sets: CaseSet) -> tuple[Case, ...]:
        """Return the cases of these sets, in order."""
        return tuple(c for c in self.cases if c.set in sets)

    @cached_property
    def sha256(self) -> str:
        """Identity of the task's definition: the hash of its Python file and its baselines."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.glob("*")):
            if path.suffix in (".py", ".cu", ".json"):
                digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()


class Unit(BaseModel):
    """One task in one precision: what a run optimises."""

    model_config = ConfigDict(frozen=True)

    task: str
    """A name in the benchmark, or the path of a folder."""
    precision: Precision

    @property
    def name(self) -> str:
        """E.g. `dot_product-fp32`."""
        return f"{Path(self.task).name}-{self.precision}"
