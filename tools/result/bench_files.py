"""A small standalone program that checks and times the kernel, with the data that it checks on."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import jinja2
import numpy as np

from ...benchmark.contract import Argument, DType, Precision, Role
from ...benchmark.inputs import draw
from ...benchmark.storage import from_storage, stored, to_storage
from ...benchmark.task import Case, CaseSet, Task

DATA_BYTES: Final = 1 << 20
"""Most bytes of inputs and expected values that a result folder carries."""

SEED: Final = 20260307
"""Of the data in the folder; the judge draws its own."""

_KINDS: Final = {DType.F32: 0, DType.BF16: 1, DType.I32: 2}


def bench_case(task: Task, precision: Precision) -> Case:
    """Return the biggest small case whose data fit, else the smallest of all."""

    def data_bytes(case: Case) -> int:
        inputs = sum(task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.inputs)
        return inputs + sum(16 * a.elements(case.sizes) for a in task.contract.outputs)

    cases = sorted(task.in_set(CaseSet.SMALL) or task.cases, key=data_bytes)
    plain = [c for c in cases if not c.null and data_bytes(c) <= DATA_BYTES]
    return plain[-1] if plain else cases[0]


def bench_files(task: Task, precision: Precision) -> dict[str, bytes]:
    """Return `bench.cpp` and its `data/` files: inputs in storage type, expected values and bounds in float64."""
    case = bench_case(task, precision)
    contract = task.contract
    types = {a.name: a.dtype.resolve(precision) for a in contract.arguments}
    drawn = draw(task, case, precision, SEED)
    expected = task.reference(drawn, case, precision)
    bits = stored(drawn, contract, precision)
    data: dict[str, bytes] = {f"data/{name}.bin": array.tobytes() for name, array in bits.items()}
    for a in contract.outputs:
        if a.name in case.null or a.name not in expected:
            continue
        want = expected[a.name]
        value = np.asarray(want.value, dtype=np.float64)
        if want.bound is None:  # equality with the value rounded to the output type
            value = np.asarray(from_storage(to_storage(value, types[a.name]), types[a.name]), dtype=np.float64)
        bound = np.zeros_like(value) if want.bound is None else np.broadcast_to(want.bound, value.shape)
        data[f"data/{a.name}.expected.bin"] = np.ascontiguousarray(value, dtype=np.float64).tobytes()
        data[f"data/{a.name}.bound.bin"] = np.ascontiguousarray(bound, dtype=np.float64).tobytes()

    def describe(a: Argument) -> dict[str, Any]:
        kind = types[a.name]
        if not a.role.is_array:
            values = {**case.sizes, **case.scalars}
            literal = f"{int(values[a.name])}" if kind is DType.I32 else f"{float(values[a.name])!r}"
            return {"name": a.name, "type": kind.c_name, "value": literal}
        return {
            "name": a.name,
            "type": kind.c_name,
            "kind": _KINDS[kind],
            "count": a.elements(case.sizes),
            "bytes": max(1, contract.bytes_of(a, precision, case.sizes)),
            "input": a.role in (Role.IN, Role.INOUT),
            "output": a.role in (Role.OUT, Role.INOUT),
        }

    template = (files(__package__) / "bench.cpp.j2").read_text()
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    program = environment.from_string(template).render(
        entry=contract.entry,
        prototype=contract.prototype(precision),
        workspace_prototype=contract.workspace_prototype(),
        case=f"{task.name} {precision}, {case.set}: {case.name}",
        scalars=[describe(a) for a in contract.arguments if not a.role.is_array],
        arrays=[describe(a) for a in contract.arrays if a.name not in case.null],
        nulls=[describe(a) for a in contract.arrays if a.name in case.null],
        names=[a.name for a in contract.arguments],
        sizes=[a.name for a in contract.sizes],
    )
    return {"bench.cpp": program.encode(), **data}
