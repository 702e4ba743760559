"""The C interface of a task: ordered arguments, their shapes and types, and the prototypes that follow from them."""

from __future__ import annotations

import ast
import math
import operator
import threading
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Precision(StrEnum):
    """Storage precision of a unit: what `DType.STORAGE` stands for."""

    FP32 = "fp32"
    BF16 = "bf16"


class DType(StrEnum):
    """Element type of an argument. `STORAGE` is float or bf16, as the unit's precision says."""

    STORAGE = "storage"
    F32 = "f32"
    BF16 = "bf16"
    I32 = "i32"

    def resolve(self, precision: Precision) -> DType:
        """Return the concrete type in a unit of this precision."""
        if self is not DType.STORAGE:
            return self
        return DType.F32 if precision is Precision.FP32 else DType.BF16

    @property
    def itemsize(self) -> int:
        """Bytes per element (a concrete type only)."""
        return {DType.F32: 4, DType.BF16: 2, DType.I32: 4}[self]

    @property
    def c_name(self) -> str:
        """The C++ name (a concrete type only)."""
        return {DType.F32: "float", DType.BF16: "__nv_bfloat16", DType.I32: "int"}[self]


class Role(StrEnum):
    """What an argument is for. A size is an `int` that shapes are written in; a scalar is an `int` or a `float`."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"
    SIZE = "size"
    SCALAR = "scalar"

    @property
    def is_array(self) -> bool:
        """True for device pointers."""
        return self in (Role.IN, Role.OUT, Role.INOUT)


_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def evaluate(expression: str, sizes: Mapping[str, int]) -> int:
    """Evaluate a shape expression such as `"rows + 1"` or `"M * K"` (only + - * // , names and whole numbers).

    Raises:
        ValueError: the expression uses anything else, or a name that is not a size.
    """

    def walk(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=name) if name in sizes:
                return sizes[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](walk(left), walk(right))
        raise ValueError(
            f"shape {expression!r}: {ast.unparse(node)!r} is neither a size ({', '.join(sizes)}) nor + - * //"
        )

    return walk(_parsed(expression))


_one_at_a_time: Final = threading.Lock()


@cache
def _parsed(expression: str) -> ast.expr:
    """Parse a shape expression, once: CPython 3.11 now and then raises SystemError where two threads parse at once."""
    try:
        with _one_at_a_time:
            return ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise ValueError(f"shape {expression!r} is no expression") from None


class Argument(BaseModel):
    """One argument of the entry function."""

    model_config = ConfigDict(frozen=True)

    name: str
    role: Role
    dtype: DType = DType.STORAGE
    shape: tuple[str, ...] = ()
    """Arrays only: extents, each an expression in the sizes, slowest axis first; row-major."""
    nullable: bool = False
    """Arrays only: a null pointer is legal and means that the array is not wanted."""
    doc: str = ""

    def extents(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape in elements at these sizes."""
        return tuple(evaluate(extent, sizes) for extent in self.shape)

    def elements(self, sizes: Mapping[str, int]) -> int:
        """Return the number of elements at these sizes."""
        return math.prod(self.extents(sizes))

    def declaration(self, precision: Precision) -> str:
        """Return the C++ parameter, e.g. `const float* x`."""
        name = self.dtype.resolve(precision).c_name
        if not self.role.is_array:
            return f"{name} {self.name}"
        return f"{'const ' if self.role is Role.IN else ''}{name}* {self.name}"


def array_in(name: str, *shape: str, dtype: DType = DType.STORAGE, doc: str = "") -> Argument:
    """An input array."""
    return Argument(name=name, role=Role.IN, dtype=dtype, shape=shape, doc=doc)


def array_out(name: str, *shape: str, dtype: DType = DType.STORAGE, nullable: bool = False, doc: str = "") -> Argument:
    """An output array: every element is overwritten, whatever it held before."""
    return Argument(name=name, role=Role.OUT, dtype=dtype, shape=shape, nullable=nullable, doc=doc)


def array_inout(name: str, *shape: str, dtype: DType = DType.STORAGE, doc: str = "") -> Argument:
    """An array that is read and overwritten in place."""
    return Argument(name=name, role=Role.INOUT, dtype=dtype, shape=shape, doc=doc)


def size(name: str, doc: str = "") -> Argument:
    """An `int` that shapes are written in."""
    return Argument(name=name, role=Role.SIZE, dtype=DType.I32, doc=doc)


def scalar(name: str, dtype: DType = DType.F32, doc: str = "") -> Argument:
    """A `float` or `int` parameter by value (never bf16: it keeps full precision in both units)."""
    return Argument(name=name, role=Role.SCALAR, dtype=dtype, doc=doc)


class Contract(BaseModel):
    """The interface that the baseline and every candidate of a task share.

    A library exports two C functions: the entry, named like the task, which enqueues all work on `stream`
    and returns the first error; and `<task>_workspace_bytes`, which says how much scratch memory the entry wants.
    """

    model_config = ConfigDict(frozen=True)

    entry: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    arguments: tuple[Argument, ...]

    @model_validator(mode="after")
    def _shapes_are_written_in_sizes(self) -> Self:
        ones = {a.name: 1 for a in self.sizes}
        for a in self.arrays:
            a.extents(ones)
        return self

    @property
    def sizes(self) -> tuple[Argument, ...]:
        """The size arguments, in order: what `<task>_workspace_bytes` takes."""
        return tuple(a for a in self.arguments if a.role is Role.SIZE)

    @property
    def arrays(self) -> tuple[Argument, ...]:
        """The array arguments, in order."""
        return tuple(a for a in self.arguments if a.role.is_array)

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Arrays with content before the call (in and inout)."""
        return tuple(a for a in self.arguments if a.role in (Role.IN, Role.INOUT))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Arrays that the call writes (out and inout)."""
        return tuple(a for a in self.arguments if a.role in (Role.OUT, Role.INOUT))

    @property
    def workspace_entry(self) -> str:
        """Name of the function that returns the workspace size in bytes."""
        return f"{self.entry}_workspace_bytes"

    def prototype(self, precision: Precision) -> str:
        """Return the C++ prototype of the entry function."""
        parameters = [a.declaration(precision) for a in self.arguments]
        parameters += ["void* workspace", "size_t workspace_bytes", "cudaStream_t stream"]
        return f'extern "C" cudaError_t {self.entry}({", ".join(parameters)})'

    def workspace_prototype(self) -> str:
        """Return the C++ prototype of the workspace function."""
        return f'extern "C" size_t {self.workspace_entry}({", ".join(f"int {a.name}" for a in self.sizes)})'

    def bytes_of(self, argument: Argument, precision: Precision, sizes: Mapping[str, int]) -> int:
        """Return the size of one array in bytes."""
        return argument.elements(sizes) * argument.dtype.resolve(precision).itemsize
