"""What a launcher's parameters are for, read from its kernels: roles, shapes, which numbers are sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from ...benchmark.contract import Role
from ..polynomial import Poly, add
from .cpp import Function, Parameter, Source, calls, launches, text, walk
from .extent import Bounds, constant, evaluate, expression, polynomial
from .launcher import INTEGERS, REALS, Launcher

_PRIMES = (101, 103, 107, 109, 113, 127, 131)
"""Stand-ins for the sizes when two reaches are compared."""
_LAUNCH_NAME = re.compile(r"block|thread|tile|warp")
"""Names of numbers that shape a launch and no array."""
_SIZE_NAME = re.compile(
    r"[a-z][a-z0-9]?|nnz|n_\w+|num_?\w*|\w*(size|len|length|count|dim|width|height|rows?|cols?|elements|batch|channels)s?"
)


@dataclass(frozen=True)
class Guess:
    """What was found out about one parameter, and how sure it is."""

    role: Role
    shape: str = ""
    """Arrays: the number of elements, in the sizes."""
    below: str = ""
    """Arrays of indices: what they stay below."""
    value: float = 0.0
    """Scalars: what they are."""
    why: str = ""
    """What it was read from; it stands beside the value in task.py."""


@dataclass
class _Use:
    """What is done to one array."""

    read: bool = False
    written: bool = False
    cleared: bool = False
    reaches: list[Poly | None] = field(default_factory=list)
    """Largest index of each access; None where it cannot be told."""
    indexes: str = ""
    """The array that its values index."""


@dataclass(frozen=True)
class _Frame:
    """A function with what its parameters are in the launcher's terms."""

    function: Function
    arrays: dict[str, tuple[str, Poly | None]]
    """Its name for an array → the launcher's, and where in it it begins; None where that cannot be told."""
    known: dict[str, Poly]
    """Largest values of its numbers and of the built-in variables."""


def guess(source: Source, launcher: Launcher, original: Source | None = None) -> dict[str, Guess]:
    """Return a guess for each parameter but the stream. In `original`, variables of main may name its scalars."""
    integers = [p.name for p in launcher.plain if not p.pointer and p.type in INTEGERS]
    arrays = [p.name for p in launcher.plain if p.pointer]
    uses = {name: _Use() for name in arrays}
    limits: set[str] = set()
    start = _Frame(launcher.function, {name: (name, {}) for name in arrays}, {n: {(n,): 1} for n in integers})
    todo, seen = [start], 0
    while todo and seen < 64:
        frame = todo.pop()
        seen += 1
        bounds = Bounds(frame.function.body, frame.known)
        for most in bounds.below.values():
            if (reach := bounds.largest(most, frame.function.body)) is not None:
                limits |= {name for product in reach for name in product}
        _note_accesses(frame, bounds, uses)
        todo += _callees(source, frame, bounds)

    reached = {name: _furthest(use.reaches, integers) for name, use in uses.items()}
    shaping = limits | {n for reach in reached.values() if reach for product in reach for n in product}
    named = {n for n in integers if _SIZE_NAME.fullmatch(n.lower()) and not _LAUNCH_NAME.search(n.lower())}
    sizes = [n for n in integers if n in shaping | named] or integers[:1]
    found: dict[str, Guess] = {}
    for p in launcher.plain:
        if not p.pointer:
            is_size = p.name in sizes
            why = "bounds an index" if p.name in shaping else "by its name" if is_size else "shapes nothing"
            if is_size:
                found[p.name] = Guess(Role.SIZE, why=why)
            else:
                value, how = _value(p, original)
                found[p.name] = Guess(Role.SCALAR, value=value, why=f"{why}; {value:g} {how}")
            continue
        role, why = _role(uses[p.name], p.const)
        reach = reached[p.name]
        if reach is not None:
            shape, how = expression(add(reach, constant(1)), integers), "from its indices"
        else:
            shape, how = " * ".join(sizes) or "1", "its indices tell nothing: all sizes multiplied"
        found[p.name] = Guess(role, shape, why=f"{why}; {how}")
    for name, use in uses.items():
        if use.indexes and found[name].role is Role.IN:
            below = found[use.indexes].shape
            found[name] = replace(found[name], below=below, why=f"{found[name].why}; indexes {use.indexes}")
    return found


def _value(parameter: Parameter, original: Source | None) -> tuple[float, str]:
    """Return a value for a scalar, and where it is from: a variable of its name elsewhere in the file, or its name."""
    for node in walk(original.root) if original is not None else ():
        if node.type == "init_declarator" and text(node.child_by_field_name("declarator")) == parameter.name:
            number = re.fullmatch(r"(-?\d+\.?\d*(?:[eE]-?\d+)?)[fF]?", text(node.child_by_field_name("value")))
            if number:
                return float(number[1]), "as elsewhere in the file"
    low = parameter.name.lower()
    if parameter.type not in REALS:
        return (256.0 if _LAUNCH_NAME.search(low) else 1.0), "by its name"
    return (1e-5 if "eps" in low else 0.0 if "beta" in low else 0.5), "by its name"


def _role(use: _Use, const: bool) -> tuple[Role, str]:
    if const:
        return Role.IN, "const"
    if not use.read and not use.written:
        return Role.OUT, "not const, and what is done with it cannot be told"
    if not use.written:
        return Role.IN, "never written"
    if use.cleared:
        return Role.OUT, "cleared, then written"
    return (Role.INOUT, "read and written") if use.read else (Role.OUT, "only written")


def _furthest(reaches: list[Poly | None], integers: list[str]) -> Poly | None:
    known = [reach for reach in reaches if reach is not None]
    if not known or any(name not in integers for reach in known for product in reach for name in product):
        return None
    values = dict(zip(integers, _PRIMES, strict=False))
    return max(known, key=lambda reach: evaluate(reach, values)) if len(integers) <= len(_PRIMES) else None


def _aliases(frame: _Frame) -> dict[str, tuple[str, Poly | None]]:
    """Return local names for (parts of) the arrays: the launcher's name, and the offset."""
    found = dict(frame.arrays)
    for node in walk(frame.function.body):
        if node.type != "init_declarator":
            continue
        declarator, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
        if declarator is None or value is None or declarator.type != "pointer_declarator":
            continue
        name = next((text(n) for n in walk(declarator) if n.type == "identifier"), "")
        if root := _root(value, found):
            found.setdefault(name, root)
    return found


def _root(node: Node, aliases: dict[str, tuple[str, Poly | None]]) -> tuple[str, Poly | None] | None:
    """Return the array and the offset that a pointer expression such as `&in[k]` or `in + row * cols` stands for."""
    match node.type:
        case "identifier":
            return aliases.get(text(node))
        case "parenthesized_expression":
            return _root(node.named_children[0], aliases)
        case "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and (base := _root(left, aliases)) is not None:
                return _moved(base, polynomial(right))
            if right is not None and (base := _root(right, aliases)) is not None:
                return _moved(base, polynomial(left))
        case "pointer_expression" if text(node).startswith("&"):
            inner = node.child_by_field_name("argument")
            if inner is not None and inner.type == "subscript_expression":
                argument = inner.child_by_field_name("argument")
                if argument is not None and (base := _root(argument, aliases)) is not None:
                    return _moved(base, polynomial(_index(inner)))
        case "call_expression" | "cast_expression":  # another element type: where it points is known, how far is not
            for child in walk(node):
                if child.type == "identifier" and text(child) in aliases:
                    return aliases[text(child)][0], None
    return None


def _moved(base: tuple[str, Poly | None], by: Poly | None) -> tuple[str, Poly | None]:
    return base[0], None if base[1] is None or by is None else add(base[1], by)


def _index(node: Node) -> Node | None:
    indices = node.child_by_field_name("indices")
    return indices.named_children[0] if indices is not None and indices.named_children else None


def _note_accesses(frame: _Frame, bounds: Bounds, uses: dict[str, _Use]) -> None:
    aliases = _aliases(frame)
    for node in walk(frame.function.body):
        place: tuple[str, Poly | None] | None = None
        if node.type == "subscript_expression":
            argument = node.child_by_field_name("argument")
            if argument is not None and (base := _root(argument, aliases)) is not None:
                place = _moved(base, polynomial(_index(node)))
        elif node.type == "pointer_expression" and text(node).startswith("*"):
            argument = node.child_by_field_name("argument")
            place = _root(argument, aliases) if argument is not None else None
        if place is not None:
            read, written = _how(node)
            _note(uses[place[0]], bounds, node, place[1], read=read, written=written)
            for inner in _indices_in(_index(node), frame.function.body, aliases):
                uses[inner].indexes = place[0]
    for name, call in calls(frame.function.body):
        if name.startswith(("atomic", "__st", "__ld")):  # __ldg, __stcs and their like
            target = _arguments(call)[:1]
            if target and (place := _root(target[0], aliases)) is not None:
                _note(uses[place[0]], bounds, call, place[1], read="st" not in name[:4], written=name[:4] != "__ld")
        elif name.startswith(("cudaMemset", "cudaMemcpy")):
            listed = _arguments(call)
            if len(listed) > 2 and (place := _root(listed[0], aliases)) is not None:
                uses[place[0]].cleared = uses[place[0]].written = True
                if (count := _elements(listed[2])) is not None:
                    uses[place[0]].reaches.append(bounds.largest(add(count, constant(1), -1), call))


def _note(use: _Use, bounds: Bounds, at: Node, index: Poly | None, *, read: bool, written: bool) -> None:
    use.read, use.written = use.read or read, use.written or written
    use.reaches.append(bounds.largest(index, at) if index is not None else None)


def _elements(count_bytes: Node) -> Poly | None:
    """Return the number of elements in `n * sizeof(float)`."""
    size = next((n for n in walk(count_bytes) if n.type == "sizeof_expression"), None)
    if size is None or size.parent is None:
        return None
    if size == count_bytes:
        return constant(1)
    sides = [size.parent.child_by_field_name(side) for side in ("left", "right")]
    return (
        polynomial(next((n for n in sides if n is not None and n != size), None))
        if size.parent == count_bytes
        else None
    )


def _indices_in(index: Node | None, body: Node, aliases: dict[str, tuple[str, Poly | None]]) -> set[str]:
    """Return the arrays whose elements an index is made of, in place or through a variable."""
    found: set[str] = set()
    todo = [index] if index is not None else []
    seen: set[str] = set()
    while todo:
        for node in walk(todo.pop()):
            if node.type == "subscript_expression":
                argument = node.child_by_field_name("argument")
                if argument is not None and (base := _root(argument, aliases)) is not None:
                    found.add(base[0])
            elif node.type == "identifier" and text(node) not in seen:
                seen.add(text(node))
                todo += [
                    value
                    for declared in walk(body)
                    if declared.type == "init_declarator"
                    and text(declared.child_by_field_name("declarator")) == text(node)
                    and (value := declared.child_by_field_name("value")) is not None
                ]
    return found


def _how(node: Node) -> tuple[bool, bool]:
    """Tell whether an element is read and whether it is written where it stands."""
    parent, child = node.parent, node
    while parent is not None and parent.type in ("field_expression", "parenthesized_expression"):
        child, parent = parent, parent.parent
    if parent is None:
        return True, False
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        if left is not None and left.start_byte == child.start_byte and left.end_byte == child.end_byte:
            plain = text(parent.child_by_field_name("operator")) in ("=", "")
            return not plain, True
    if parent.type == "update_expression":
        return True, True
    if parent.type == "pointer_expression" and text(parent).startswith("&"):
        return False, False  # an address: what is done with it is seen elsewhere
    return True, False


def _arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [n for n in listed.named_children if n.type != "comment"] if listed is not None else []


def _callees(source: Source, frame: _Frame, bounds: Bounds) -> Iterator[_Frame]:
    """Yield the functions that are launched or called here, in the launcher's terms."""
    aliases = _aliases(frame)
    sites = [(launch.kernel, launch.node, launch.configuration) for launch in launches(frame.function.body)]
    sites += [(name, call, ()) for name, call in calls(frame.function.body)]
    for name, call, configuration in sites:
        for callee in source.functions:
            if callee.name != name or callee is frame.function:
                continue
            arrays: dict[str, tuple[str, Poly | None]] = {}
            known: dict[str, Poly] = {}
            for parameter, argument in zip(callee.parameters, _arguments(call), strict=False):
                if parameter.pointer:
                    if (root := _root(argument, aliases)) is not None:
                        arrays[parameter.name] = (root[0], {} if root[1] == {} else None)
                else:
                    poly = polynomial(argument)
                    if poly is not None and (most := bounds.largest(poly, call)) is not None:
                        known[parameter.name] = most
            if callee.kind == "kernel":
                known |= _launched(frame, bounds, call, configuration)
            else:
                known |= {n: p for n, p in frame.known.items() if "." in n}
            if arrays:
                yield _Frame(callee, arrays, known)


def _launched(frame: _Frame, bounds: Bounds, call: Node, configuration: tuple[str, ...]) -> dict[str, Poly]:
    """Return the largest values of blockIdx and threadIdx, where grid and block are plain."""
    syntax = next((c for c in call.named_children if c.type == "kernel_call_syntax"), None)
    given = [n for n in syntax.named_children if n.type != "comment"] if syntax is not None else []
    known: dict[str, Poly] = {}
    for index, dimension, node in zip(("blockIdx", "threadIdx"), ("gridDim", "blockDim"), given, strict=False):
        for axis, extent in zip("xyz", _axes(frame, node), strict=False):
            poly = polynomial(extent)
            most = bounds.largest(poly, call) if poly is not None else None
            if most is not None:
                known[f"{dimension}.{axis}"] = most
                known[f"{index}.{axis}"] = add(most, constant(1), -1)
    return known


def _axes(frame: _Frame, node: Node) -> list[Node]:
    """Return the extents of a grid or block: of a number itself, of `dim3 grid(a, b)`, of `dim3(a, b)`."""
    if node.type == "identifier":
        for declared in walk(frame.function.body):
            if declared.type != "init_declarator" or text(declared.child_by_field_name("declarator")) != text(node):
                continue
            value = declared.child_by_field_name("value")
            if value is not None and value.type in ("argument_list", "initializer_list"):
                return list(value.named_children)
            return [value] if value is not None else []
    if node.type == "call_expression" and re.match(r"dim3\b", text(node)):
        return _arguments(node)
    return [node]
