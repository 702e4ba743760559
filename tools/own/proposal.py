"""The launcher that a file lacks, written from the place where its kernel is launched."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tree_sitter import Node

from .cpp import WORD, Function, Launch, Source, launches, line, text, walk

_ADVICE = """\
Add this to the file (above main, if there is one), check the grid and the block, and run `cudamaster init` again.
main() and everything else stay as they are:
"""


def proposal(source: Source) -> str:
    """Return what to add to a file that launches its kernels only in main(), or not at all."""
    kernels = {f.name: f for f in source.functions if f.kind == "kernel"}
    if not kernels:
        return "It has no __global__ function either: is this the right file?"
    texts = []
    for function in source.functions:
        if function.kind == "host":
            for launch in launches(function.body):
                if launch.kernel in kernels:
                    texts.append(_from_launch(kernels.pop(launch.kernel), launch, function))
    texts = texts or [_from_kernel(kernel) for kernel in kernels.values()]
    return _ADVICE + "\n" + "\n\n".join(texts)


def _head(kernel: Function) -> str:
    template = (
        "template <" + ", ".join(f"{t.kind} {t.name}" for t in kernel.template) + ">\n" if kernel.template else ""
    )
    parameters = [re.sub(r"\s*__restrict(__)?\b", "", p.written) for p in kernel.parameters]
    return f"{template}void launch_{kernel.name}({', '.join([*parameters, 'cudaStream_t stream'])}) {{"


def _from_launch(kernel: Function, launch: Launch, function: Function) -> str:
    """Return a launcher with the grid and block of a launch, its variables turned into the kernel's parameters."""
    renamed = {
        argument: parameter.name
        for argument, parameter in zip(launch.arguments, kernel.parameters, strict=False)
        if WORD.fullmatch(argument)
    }
    local = _locals(function.body, launch.node.start_byte)
    given = {p.name for p in kernel.parameters}
    lines: list[str] = []
    unknown: list[str] = []
    seen: set[str] = set()

    def bring(expression: str) -> None:
        for name in WORD.findall(expression):
            if name in seen or name in renamed:
                continue
            seen.add(name)
            if name in local:
                bring(local[name].partition("=")[2] or local[name].partition(name)[2])
                lines.append("    " + _renamed(local[name], renamed))
            elif name in {p.name for p in function.parameters} and name not in given:
                unknown.append(name)

    configuration = [*launch.configuration[:2], *(launch.configuration[2:3] or ["0"])]
    for expression in configuration:
        bring(expression)
    if any("argv" in made or "argc" in made or ("(" not in made and "=" not in made) for made in lines):
        unknown += [made.strip() for made in lines if "argv" in made or "argc" in made]
        lines = [made for made in lines if "argv" not in made and "argc" not in made]
    shape = ", ".join(_renamed(c, renamed) for c in configuration)
    template = f"<{', '.join(t.name for t in kernel.template)}>" if kernel.template else ""
    arguments = ", ".join(p.name for p in kernel.parameters)
    call = f"    {kernel.name}{template}<<<{shape}, stream>>>({arguments});"
    note = [f"    // say here what {', '.join(dict.fromkeys(unknown))} is"] if unknown else []
    where = f"// from line {line(launch.node)}"
    return "\n".join([where, _head(kernel), *note, *lines, call, "}"])


def _from_kernel(kernel: Function) -> str:
    """Return a launcher for a kernel that nothing launches: one thread per element of its first size."""
    sizes = [p.name for p in kernel.parameters if not p.pointer and p.type not in ("float", "double")]
    count = sizes[0] if sizes else "1 /* elements */"
    template = f"<{', '.join(t.name for t in kernel.template)}>" if kernel.template else ""
    arguments = ", ".join(p.name for p in kernel.parameters)
    call = f"    {kernel.name}{template}<<<({count} + 255) / 256, 256, 0, stream>>>({arguments});"
    return "\n".join([_head(kernel), call, "}"])


def _locals(body: Node, before: int) -> Mapping[str, str]:
    """Return the declarations of variables that stand before a place, by name."""
    found: dict[str, str] = {}
    for node in walk(body):
        if node.type == "declaration" and node.start_byte < before:
            for name in node.children_by_field_name("declarator"):
                if name.type == "init_declarator":
                    declared = text(name.child_by_field_name("declarator")).lstrip("*& ")
                    found[declared] = f"{text(node.child_by_field_name('type'))} {text(name)};"
    return found


def _renamed(expression: str, names: Mapping[str, str]) -> str:
    return WORD.sub(lambda match: names.get(match[0], match[0]), expression)
