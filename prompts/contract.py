"""A task's interface in words and C++: what each argument is, the two prototypes, the sizes that count."""

from __future__ import annotations

from collections.abc import Iterable

from ..benchmark.contract import Argument, Contract, Precision, Role
from ..benchmark.task import Case

_USE = {Role.IN: "read only", Role.OUT: "written whole", Role.INOUT: "read and overwritten", Role.SIZE: "size"}


def contract_text(contract: Contract, precision: Precision) -> str:
    """Return the contract as C++: a comment for each argument, then the prototypes of entry and workspace function."""
    notes = [note for a in contract.arguments if (note := _note(a))]
    return "\n".join([*notes, f"{contract.prototype(precision)};", f"{contract.workspace_prototype()};"])


def _note(argument: Argument) -> str:
    """Return one line on an argument; none for a size or scalar that explains itself."""
    if not argument.role.is_array:
        return f"// {argument.name}: {argument.doc}" if argument.doc else ""
    shape = " x ".join(argument.shape) or "1"
    facts = [_USE[argument.role], *(["may be null: then not wanted"] if argument.nullable else []), argument.doc]
    return f"// {argument.name}[{shape}]: {'; '.join(filter(None, facts))}"


def sizes_text(cases: Iterable[Case]) -> str:
    """Return the sizes (and scalars) of cases on one line, each once, in order: `N=1024; N=4096`."""
    told = (", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in _values(c)) for c in cases)
    return "; ".join(dict.fromkeys(told))


def _values(case: Case) -> list[tuple[str, float]]:
    return [*case.sizes.items(), *case.scalars.items()]


def read_prototype(contract: str) -> tuple[str, str]:
    """Return the entry's name and prototype from a contract's text; two empty strings if it has none."""
    for line in contract.splitlines():
        if line.startswith('extern "C" cudaError_t ') and "(" in line:
            prototype = line.rstrip().rstrip(";")
            return prototype.partition("(")[0].split()[-1], prototype
    return "", ""
