"""Kernels that follow one another on the same grid, in one launch."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..emit import indented
from ..inline import inlined
from ..macros import expanded
from ..rule import Rule, Setting
from ..syntax import (
    Access,
    Kernel,
    Launch,
    Poly,
    Source,
    calls,
    code_only,
    declared_name,
    edited,
    real,
    reread,
    squeezed,
    statements,
    substitute,
    text,
    walk,
)


class FuseLaunches(Rule):
    """Two launches with one configuration, whose threads or blocks depend on themselves alone: one launch does both."""

    name: ClassVar[str] = "fuse_launches"
    answers: ClassVar[tuple[str, ...]] = ("fusible_launches", "launch_or_sync_bound")
    worth: ClassVar[float] = 1.45
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "the kernels run one after another over the same grid, and what a block needs of the kernel before is what the "
        "same block wrote: one launch with a barrier between the parts saves the others"
    )
    effect: ClassVar[str] = "one launch less for every pair"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Fuse the first run of launches that qualifies."""
        spelled = reread(source, inlined(expanded(source.text)))
        for start in range(len(source.launches)):
            run = _run(source, spelled, start)
            if len(run) > 1 and (changed := self._fused(source, spelled, run)) is not None:
                return changed
        return None

    @staticmethod
    def _fused(source: Source, spelled: Source, run: list[tuple[Launch, bool]]) -> str | None:
        parameters: dict[str, tuple[str, str]] = {}
        body: list[str] = []
        edits: list[tuple[int, int, str]] = []
        last = 0
        for launch, barrier in run:
            kernel = source.kernel(launch.kernel)
            assert kernel is not None
            given = []
            for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
                passed = squeezed(argument)
                declared = " ".join(_unrestricted(text(parameter.node)).split())
                if passed not in parameters:
                    name = parameter.name
                    while name in {n for n, _ in parameters.values()}:
                        name += "_"
                    parameters[passed] = name, re.sub(rf"\b{re.escape(parameter.name)}$", name, declared)
                else:
                    name, before = parameters[passed]
                    renamed = re.sub(rf"\b{re.escape(parameter.name)}$", name, declared)
                    if re.sub(r"\s|\bconst\b", "", before) != re.sub(r"\s|\bconst\b", "", renamed):
                        return None
                    parameters[passed] = name, before if "const" not in before else renamed
                given.append(parameters[passed][0])
            body += (["__syncthreads();"] if barrier else []) + [f"{kernel.name}({', '.join(given)});"]
            for node in kernel.node.children:
                if node.type == "__global__":
                    edits.append((node.start_byte, node.end_byte, "static __device__ __forceinline__"))
                if node.type == "launch_bounds":
                    edits.append((node.start_byte, node.end_byte, ""))
            for parameter in kernel.parameters:
                if _unrestricted(text(parameter.node)) != text(parameter.node):
                    node = parameter.node
                    edits.append((node.start_byte, node.end_byte, _unrestricted(text(node))))
            last = max(last, kernel.outer.end_byte)
        if _leave_early(spelled, run):
            launch = run[0][0]
            guard, variable = _guard(source, launch)
            first = source.kernel(launch.kernel)
            if not guard or first is None:
                return None
            names = {
                p.name: parameters[squeezed(a)][0] for p, a in zip(first.parameters, launch.arguments, strict=True)
            }
            body.insert(0, substitute(guard, {**names, variable: source.unique(variable)}))
        name = source.unique("fused_kernel")
        listed = ", ".join(declared for _, declared in parameters.values())
        edits.append((last, last, f"\n\n__global__ void {name}({listed}) {{\n{indented(chr(10).join(body), 4)}\n}}"))
        launches = [launch for launch, _ in run]
        setup = ", ".join(text(n) for n in launches[0].configuration)
        arguments = ", ".join(_as_written(passed, launches) for passed in parameters)
        node = launches[0].node
        edits.append((node.start_byte, node.end_byte, f"{name}<<<{setup}>>>({arguments})"))
        edits.append((launches[0].statement.end_byte, launches[-1].statement.end_byte, ""))
        return edited(source.text, edits)


def _run(source: Source, spelled: Source, start: int) -> list[tuple[Launch, bool]]:
    """Return the launches from one on that can be one launch, each with whether a barrier must come before it."""
    run: list[tuple[Launch, bool]] = []
    for launch in source.launches[start:]:
        kernel, seen = source.kernel(launch.kernel), spelled.kernel(launch.kernel)
        if kernel is None or seen is None or kernel.template is not None or len(kernel.launches) != 1:
            break
        if any(c.type == "__shared__" for c in walk(kernel.body)) or any(launch.kernel == la.kernel for la, _ in run):
            break
        if not run:
            run.append((launch, False))
            continue
        first = run[0][0]
        if [squeezed(n) for n in first.configuration] != [squeezed(n) for n in launch.configuration]:
            break
        if not _follow(run[-1][0], launch):
            break
        # Threads that leave a part early would meet the others of their block at the wrong barrier. If the same threads
        # leave every part, and do so before anything else, they can leave the whole.
        if _leave_early(spelled, run) and len({_passed(spelled, la) for la in [launch, *(la for la, _ in run)]}) != 1:
            break
        needs = []
        for other, _ in run:
            earlier = spelled.kernel(other.kernel)
            assert earlier is not None
            needs.append(_dependence(earlier, other, seen, launch))
        if any(n is None for n in needs):
            break
        run.append((launch, any(bool(n) for n in needs)))
    return run


def _leave_early(source: Source, run: list[tuple[Launch, bool]]) -> bool:
    """Return whether threads leave a part that has barriers."""
    kernels = [source.kernel(launch.kernel) for launch, _ in run]
    return any(k is None or (_barriers(k) and "return_statement" in [n.type for n in walk(k.body)]) for k in kernels)


def _guard(source: Source, launch: Launch) -> tuple[str, str]:
    """Return the code `const T c = …; if (c >= bound) return;` that a kernel starts with, and c; else empty strings.

    It is the only place where the kernel's threads leave it.
    """
    kernel = source.kernel(launch.kernel)
    listed = kernel.statements[:2] if kernel is not None else ()
    if kernel is None or [n.type for n in listed] != ["declaration", "if_statement"]:
        return "", ""
    leaves = statements(listed[1].child_by_field_name("consequence"))
    declarators = listed[0].children_by_field_name("declarator")
    returns = sum(1 for n in walk(kernel.body) if n.type == "return_statement")
    named = {text(n) for n in walk(listed[1]) if n.type == "identifier"}
    scalars = {p.name for p in kernel.parameters if not p.pointer} - kernel.assigned
    if [n.type for n in leaves] != ["return_statement"] or returns != 1 or len(declarators) != 1:
        return "", ""
    variable = declared_name(declarators[0])
    if not named <= scalars | {variable} or variable in kernel.assigned or calls(listed[0]) or "[" in text(listed[0]):
        return "", ""
    return f"{text(listed[0])}\n{text(listed[1])}", variable


def _passed(source: Source, launch: Launch) -> str:
    """Return a kernel's guard in terms of what its launch passes; something unique if it has none."""
    kernel = source.kernel(launch.kernel)
    guard, variable = _guard(source, launch)
    if kernel is None or not guard:
        return launch.kernel
    given = {p.name: f"({squeezed(a)})" for p, a in zip(kernel.parameters, launch.arguments, strict=True)}
    return re.sub(r"\s+", " ", substitute(guard, {**given, variable: "@"}))


def _unrestricted(declared: str) -> str:
    return re.sub(r"\s*\b__restrict(__)?\b\s*", " ", declared)


def _as_written(passed: str, launches: list[Launch]) -> str:
    for launch in launches:
        for node in launch.arguments:
            if squeezed(node) == passed:
                return text(node)
    return passed


def _follow(first: Launch, second: Launch) -> bool:
    """Return whether nothing but the check of an error stands between two launches."""
    a, b = first.statement, second.statement
    if a.type != "expression_statement" or b.type != "expression_statement" or a.parent is None or b.parent is None:
        return False
    if a.parent.id != b.parent.id:
        return False
    between = [n for n in real(a.parent.named_children) if a.end_byte <= n.start_byte and n.end_byte <= b.start_byte]
    after = [n for n in walk(a.parent) if n.type == "identifier" and n.start_byte >= b.start_byte]
    return all(checks_error(n) or _error_of(n) not in {"", *map(text, after)} for n in between)


def _error_of(node: Node) -> str:
    """Return the variable that a statement declares for a launch's error, else an empty string."""
    found = re.fullmatch(r"(?:const)?cudaError_t(\w+)=cuda(?:GetLast|PeekAtLast)Error\(\);", squeezed(node))
    return found[1] if found is not None and node.type == "declaration" else ""


def checks_error(node: Node) -> bool:
    """Return whether a statement of the host only looks for an error."""
    code = squeezed(node)
    if node.type == "if_statement":
        inner = statements(node.child_by_field_name("consequence"))
        return [n.type for n in inner] == ["return_statement"] and "cudaSuccess" in code
    # A declaration must stay: what follows may use its variable.
    return node.type == "expression_statement" and bool(re.fullmatch(r"\w+=cuda(GetLast|PeekAtLast)Error\(\);", code))


def _dependence(one: Kernel, first: Launch, two: Kernel, second: Launch) -> bool | None:
    """Return whether the second part must wait for the first at a barrier; None if it may need more than that."""
    places: list[dict[str, list[Access]]] = []
    written: list[set[str]] = []
    for kernel, launch in ((one, first), (two, second)):
        passed = {p.name: squeezed(a) for p, a in zip(kernel.parameters, launch.arguments, strict=True)}
        found: dict[str, list[Access]] = {passed[p.name]: [] for p in kernel.parameters if p.pointer}
        for access in kernel.accesses:
            found[passed[access.root]].append(access)
        places.append(found)
        written.append({passed[r] for r in kernel.written_roots})
    shared = (written[0] & set(places[1])) | (written[1] & set(places[0]))
    if any(not re.fullmatch(r"\w+", passed) for found in places for passed in found):
        return None
    if not shared:
        return _barriers(one) or _barriers(two)
    # A place for each block, or for each thread along x: other blocks have others.
    width = one.source.block_of(first)[0]
    flat = one.source.grid_of(first)[1:] == (1, 1)
    alone: list[Poly] = [{("blockIdx.x",): 1}]
    if width is not None:
        alone.append({("blockIdx.x",): width, ("threadIdx.x",): 1})
    indices = [access.index for root in shared for found in places for access in found.get(root, [])]
    block_only = flat and any(all(index == form for index in indices) for form in alone)
    counted = all(len(places[side].get(root, [])) > 0 for root in shared for side in (0, 1))
    if block_only and counted:
        return True
    same = all(
        len({str(sorted(a.index.items())) for found in places for a in found.get(root, [])}) == 1 for root in shared
    )
    own = all(
        any("threadIdx" in atom for key in a.index for atom in key)
        for root in shared
        for found in places
        for a in found.get(root, [])
    )
    if not (same and own and counted) or one.meets or two.meets:
        return None
    named = {a for r in shared for found in places for x in found.get(r, []) for key in x.index for a in key}
    if all(
        any(f"threadIdx.{axis}" in atom for atom in named)
        for axis in "xyz"
        for kernel in (one, two)
        if kernel.uses(f"threadIdx.{axis}")
    ):
        return _barriers(one) or _barriers(two)
    return None


def _barriers(kernel: Kernel) -> bool:
    code = code_only(text(kernel.body))
    names = set(re.findall(r"\b(\w+)\s*\(", code))
    return any("__sync" in n or "__sync" in text(kernel.source.functions.get(n)) for n in names)
