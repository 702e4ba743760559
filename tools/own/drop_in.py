"""Back into the user's file: the winner behind the launcher's own signature, and the patch that puts it there."""

from __future__ import annotations

import difflib
import re
from io import StringIO
from pathlib import Path

from tree_sitter import Node

from ...benchmark.contract import Argument, Contract, Precision, Role
from ...benchmark.task import Task
from .cpp import WORD, Function, Source, edited, launches, text, walk, words
from .extract import without, without_empty_scopes
from .launcher import STREAM, WIDE
from .origin import FOLDER, Origin, read_origin

_ELEMENT = {Precision.FP32: "float", Precision.BF16: "__nv_bfloat16"}
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*\n", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def drop_in(task: Task, kernel: str, precision: Precision) -> dict[str, str]:
    """Return `drop_in/<file>` and `<file>.patch` for the winner of a task that `init` made; else nothing.

    A byte order mark and the line endings of Windows stay as the file has them.
    """
    origin = read_origin(task.folder)
    if origin is None:
        return {}
    before = (task.folder / FOLDER / origin.file).read_bytes().decode()
    mark = "\ufeff" if before.startswith("\ufeff") else ""
    original = before.removeprefix(mark).replace("\r\n", "\n")
    after = _replaced(Source(original), origin, task.contract, kernel, precision)
    if "\r\n" in before:
        after = after.replace("\n", "\r\n")
    after = mark + after
    old, new = (StringIO(text).readlines() for text in (before, after))  # as `patch` counts lines: \f ends none
    patch = difflib.unified_diff(old, new, f"a/{origin.file}", f"b/{origin.file}")
    lines = [line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in patch]
    return {f"drop_in/{origin.file}": after, f"{Path(origin.file).stem}.patch": "".join(lines)}


def remarks(task: Task) -> tuple[str, ...]:
    """Return what was not checked of a task that `init` made, for VERIFICATION.md."""
    origin = read_origin(task.folder)
    found = []
    if task.differential:
        found.append(
            "There is no definition of what the kernel computes: outputs were compared with the original kernel's, so "
            "a mistake of the original is kept."
        )
    if origin is not None:
        found.append("`drop_in/` itself was not compiled or run: it holds the verified kernel behind the launcher.")
        if origin.changes:
            found.append(f"The original was not compared as it stands in the file: {'; '.join(origin.changes)}.")
        if origin.scratch:
            found.append(f"{', '.join(origin.scratch)} of the launcher is not used: the drop-in allocates its scratch.")
    return tuple(found)


def _replaced(original: Source, origin: Origin, contract: Contract, kernel: str, precision: Precision) -> str:
    launcher = next(f for f in original.functions if f.qualified == origin.launcher and f.kind == "host")
    space = f"cudamaster_{launcher.name}"
    wide = [p.name for p in launcher.parameters if p.type in WIDE and any(a.name == p.name for a in contract.sizes)]
    body = _body(launcher, origin, contract, space, kernel, wide)
    section = _section(kernel, contract, space, original, quiet=launcher.returns == "void")
    top = _top(launcher.outer)
    edits = [(top.start_byte, top.start_byte, section)]
    if origin.template:
        elements = [_ELEMENT[precision] if a == "T" else a for a in origin.template]
        names = dict(zip((t.name for t in launcher.template), elements, strict=True))
        parameters = ", ".join(WORD.sub(lambda m: names.get(m[0], m[0]), p.written) for p in launcher.parameters)
        head = f"template <>\n{launcher.returns} {launcher.name}<{', '.join(elements)}>({parameters}) "
        edits.append((launcher.outer.end_byte, launcher.outer.end_byte, f"\n\n{head}{body}"))
    else:
        edits.append((launcher.body.start_byte, launcher.body.end_byte, body))
        if not wide:
            edits += [without(node) for node in _unused(original, launcher)]
    return re.sub(r"\n{4,}", "\n\n\n", without_empty_scopes(edited(original.text, edits)))


def _section(kernel: str, contract: Contract, space: str, original: Source, *, quiet: bool) -> str:
    """Return the winner in a namespace of its own; its macros do not touch those of the file."""
    includes = "".join(dict.fromkeys(m[0].strip() + "\n" for m in _INCLUDE.finditer(kernel)))
    inner = re.sub(r"^// (?:--- (?:from|end of) |Changed: )[^\n]*\n", "", _INCLUDE.sub("", kernel), flags=re.MULTILINE)
    inner = re.sub(r"^// [^\n]* in the form that task\.py describes\.\n", "", inner)
    entries = (contract.entry, contract.workspace_entry)
    for name in entries:
        inner = re.sub(rf'extern\s+"C"\s+(?=(?:cudaError_t|size_t)\s+{name}\b)', "[[maybe_unused]] static ", inner)
    # A namespace does not keep two functions of one name apart: cudaStream_t belongs to the global one, and a call
    # with such an argument looks there too.
    twice = {f.name for f in Source(kernel).functions} & words(original.text) - set(entries)
    inner = WORD.sub(lambda m: f"{m[0]}_optimized" if m[0] in twice else m[0], inner)
    if quiet:  # a caller of a void launcher asks for the error itself
        inner = inner.replace("cudaGetLastError", "cudaPeekAtLastError")
    macros = list(dict.fromkeys(_MACRO.findall(inner)))
    before = "".join(f'#pragma push_macro("{m}")\n#undef {m}\n' for m in macros)
    after = "".join(f'#pragma pop_macro("{m}")\n' for m in macros)
    return (
        f"// --- Optimised by CUDAMaster; VERIFICATION.md says what was checked.\n{includes}{before}"
        f"namespace {space} {{\n\n{inner.strip()}\n\n}}  // namespace {space}\n{after}"
        "// --- end of the optimised part\n\n"
    )


def _body(launcher: Function, origin: Origin, contract: Contract, space: str, kernel: str, wide: list[str]) -> str:
    """Return the launcher's new body."""
    by_name = {p.name: p for p in launcher.parameters}
    stream = next((p.name for p in launcher.parameters if p.type == STREAM), "nullptr")

    def value(a: Argument) -> str:
        plain = a.role.is_array or by_name[a.name].type == a.dtype.c_name
        return a.name if plain else f"static_cast<{'int' if a.role is Role.SIZE else a.dtype.c_name}>({a.name})"

    values = [value(a) for a in contract.arguments]
    sizes = ", ".join(value(a) for a in contract.sizes)
    lines = []
    if _needs_no_workspace(kernel, contract):
        lines.append(f"cudaError_t error = {space}::{contract.entry}({', '.join([*values, 'nullptr', '0', stream])});")
    else:
        lines += [
            f"const size_t workspace_bytes = {space}::{contract.workspace_entry}({sizes});",
            "void* workspace = nullptr;",
            "cudaError_t error = cudaSuccess;",
            f"if (workspace_bytes != 0) error = cudaMallocAsync(&workspace, workspace_bytes, {stream});",
            f"if (error == cudaSuccess) error = {space}::{contract.entry}("
            f"{', '.join([*values, 'workspace', 'workspace_bytes', stream])});",
            f"if (workspace != nullptr) cudaFreeAsync(workspace, {stream});",
        ]
    if origin.waits:
        lines.append("if (error == cudaSuccess) error = cudaDeviceSynchronize();")
    if launcher.returns == "void":
        lines.append(f"{origin.check}(error);" if origin.check else "(void)error;")
    else:
        lines.append("return static_cast<int>(error);" if launcher.returns == "int" else "return error;")
    if not wide:
        return "{\n" + "".join(f"    {line}\n" for line in lines) + "}"
    if launcher.returns == "void":
        lines.append("return;")
    fits = " && ".join(f"{name} <= 2147483647" for name in wide)
    inner = "".join(f"        {line}\n" for line in lines)
    rest = text(launcher.body)[1:].lstrip("\n")
    return f"{{\n    if ({fits}) {{  // what was verified; the original takes the rest\n{inner}    }}\n{rest}"


def _needs_no_workspace(kernel: str, contract: Contract) -> bool:
    entry = next((f for f in Source(kernel).functions if f.name == contract.workspace_entry), None)
    return entry is not None and re.fullmatch(r"\{\s*return\s+0\w*\s*;\s*\}", text(entry.body)) is not None


def _top(node: Node) -> Node:
    """Return the top-level thing that holds a node, with the comments right above it."""
    while node.parent is not None and node.parent.parent is not None:
        node = node.parent
    previous = node.prev_sibling
    while previous is not None and previous.type == "comment" and node.start_point[0] - previous.end_point[0] <= 1:
        node, previous = previous, previous.prev_sibling
    return node


def _unused(original: Source, launcher: Function) -> list[Node]:
    """Return the kernels that only this launcher launched."""
    launched = {launch.kernel for launch in launches(launcher.body)}
    found = []
    for kernel in original.functions:
        if kernel.kind != "kernel" or kernel.name not in launched:
            continue
        others = {
            word
            for item in original.items
            if not _holds(item.node, kernel.node) and not _holds(item.node, launcher.node)
            for word in words(text(item.node))
        }
        if kernel.name not in others:
            found.append(kernel.outer)
    return found


def _holds(outer: Node, inner: Node) -> bool:
    return any(node == inner for node in walk(outer))
