"""Which function of a file launches the kernels, and whether it can be called with plain pointers and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...benchmark.contract import DType
from .cpp import Function, Parameter, Source, calls, launches, line
from .errors import NotATask
from .proposal import proposal

ELEMENTS = {
    "float": DType.F32,
    "__nv_bfloat16": DType.BF16,
    "nv_bfloat16": DType.BF16,
    "int": DType.I32,
    "int32_t": DType.I32,
    "std::int32_t": DType.I32,
}
"""Element types of arrays that a contract can have."""

INTEGERS = frozenset({
    "int", "int32_t", "std::int32_t", "unsigned", "unsigned int", "uint32_t", "std::uint32_t", "size_t", "std::size_t",
    "long", "long long", "int64_t", "std::int64_t", "uint64_t", "std::uint64_t", "unsigned long", "bool", "short",
    "unsigned long long", "long int", "ptrdiff_t", "std::ptrdiff_t",
})  # fmt: skip
WIDE = frozenset(t for t in INTEGERS if "64" in t or "long" in t or "size_t" in t or "ptrdiff" in t)
"""Integers that hold more than the contract's `int`."""
REALS = frozenset({"float", "double"})
STREAM = "cudaStream_t"


@dataclass(frozen=True)
class Launcher:
    """A host function that launches the kernels, with what its template parameters stand for."""

    function: Function
    arguments: tuple[str, ...]
    """Template arguments in order; `T` in the place of the element type that the precision decides."""
    storage: str = ""
    """Name of the template parameter that stands for the element type; empty: there is none."""

    @property
    def plain(self) -> tuple[Parameter, ...]:
        """Its parameters without the stream."""
        return tuple(p for p in self.function.parameters if p.type != STREAM)

    @property
    def stream(self) -> str:
        """Name of its stream parameter; empty: it has none."""
        return next((p.name for p in self.function.parameters if p.type == STREAM), "")

    def element(self, parameter: Parameter) -> DType:
        """Return the element type of a pointer."""
        return DType.STORAGE if parameter.type == self.storage else ELEMENTS[parameter.type]

    def call(self, values: Mapping[str, str], element: str) -> str:
        """Return a call of it; `values` by parameter, `element` is what the storage type stands for."""
        template = ", ".join(element if a == "T" else a for a in self.arguments)
        arguments = ", ".join(values[p.name] for p in self.function.parameters)
        return f"{self.function.qualified}{f'<{template}>' if self.arguments else ''}({arguments})"


def launching(source: Source) -> list[Function]:
    """Return the host functions that launch kernels, themselves or through other host functions of the file."""
    hosts = [f for f in source.functions if f.kind == "host"]
    found = {f.name for f in hosts if launches(f.body)}
    while True:
        more = {f.name for f in hosts if f.name not in found and any(name in found for name, _ in calls(f.body))}
        if not more:
            return [f for f in hosts if f.name in found]
        found |= more


def find_launcher(source: Source, file: str, *, name: str = "", template: Mapping[str, str] | None = None) -> Launcher:
    """Return the launcher to use: the one named, or the only one that others do not call.

    Raises:
        NotATask: there is none, there are several, or it takes what a contract cannot give.
    """
    usable = [f for f in launching(source) if f.name != "main"]
    if name:
        wanted = [f for f in source.named(name) if f.kind == "host"]
        if not wanted:
            there = ", ".join(f.qualified for f in usable) or "none"
            raise NotATask(f"{file} has no host function {name!r} (launchers in it: {there})")
        if wanted[0] not in usable:
            raise NotATask(f"{file}:{line(wanted[0].node)}: {name} launches no kernel of this file")
        return _checked(wanted[0], file, template or {})
    clean = [f for f in usable if not _objections(f)]
    called = {callee for f in clean for callee, _ in calls(f.body)}
    clean = [f for f in clean if f.name not in called]
    if len(clean) == 1:
        return _checked(clean[0], file, template or {})
    if len(clean) > 1:
        several = "\n".join(f"  --launcher {f.qualified:24} {f.signature}" for f in clean)
        raise NotATask(f"{file} has {len(clean)} launchers; choose one:\n{several}")
    if usable:
        raise NotATask("\n".join(_refusal(f, file) for f in usable))
    raise NotATask(f"{file} has no launcher: a function that launches the kernel.\n{proposal(source)}")


def _checked(function: Function, file: str, template: Mapping[str, str]) -> Launcher:
    if _objections(function):
        raise NotATask(_refusal(function, file))
    storage, arguments = "", []
    if unknown := sorted(set(template) - {parameter.name for parameter in function.template}):
        there = ", ".join(parameter.name for parameter in function.template) or "none"
        raise NotATask(f"{function.name} has no template parameter {unknown[0]!r} (it has: {there})")
    for parameter in function.template:
        value = template.get(parameter.name) or parameter.default
        is_element = parameter.kind == "typename" and any(
            p.type == parameter.name and p.pointer for p in function.parameters
        )
        if is_element and storage:
            raise NotATask(
                f"{file}:{line(function.node)}: {function.name} has arrays of two template types, "
                f"{storage} and {parameter.name}: a contract has one, which the precision decides; fix the other"
            )
        if is_element and parameter.name in template:
            raise NotATask(
                f"{parameter.name} is the type of {function.name}'s arrays: the precision says what it is "
                f"(--precision of `optimize`), so leave --template {parameter.name} out"
            )
        if is_element:
            storage = parameter.name
            arguments.append("T")
        elif value:
            arguments.append(value)
        else:
            raise NotATask(
                f"{file}:{line(function.node)}: {function.name} is a template; say what {parameter.name} is: "
                f"--template {parameter.name}=VALUE"
            )
    return Launcher(function, tuple(arguments), storage)


def _objections(function: Function) -> list[str]:
    """Return what in a launcher's signature a contract cannot give."""
    names = {t.name for t in function.template if t.kind == "typename"}
    found = []
    if function.returns not in ("void", "cudaError_t", "int"):
        found.append(f"it returns {function.returns}; let it return void or cudaError_t and write into a parameter")
    for p in function.parameters:
        if p.pointer and p.written.count("*") + p.written.count("[") > 1:
            found.append(f"`{p.written}` points to pointers: pass one flat array")
        elif p.pointer and p.type not in ELEMENTS and p.type not in names:
            can = "float, __nv_bfloat16 and int"
            found.append(f"`{p.written}`: arrays of {p.type} are not supported, only those of {can}")
        elif not p.pointer and p.type not in INTEGERS | REALS | {STREAM} and p.type not in names:
            advice = "split it: a function that unpacks this, and a launcher that takes pointers and numbers"
            found.append(f"`{p.written}`: a {p.type} cannot be passed through a C interface; {advice}")
        elif not p.name:
            found.append(f"`{p.written}` has no name")
    if not any(p.pointer and not p.const for p in function.parameters):
        found.append("it has no array to write to (every pointer is const)")
    return found


def _refusal(function: Function, file: str) -> str:
    listed = "\n".join(f"  - {objection}" for objection in _objections(function))
    return f"{file}:{line(function.node)}: {function.signature}\ncannot be the launcher:\n{listed}"
