"""The `.cu` file of a task: what the launcher needs, and the two functions of the contract around it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...benchmark.contract import Contract, Precision
from .cpp import edited, text
from .extract import Extract
from .launcher import WIDE

_ELEMENT = {Precision.FP32: "float", Precision.BF16: "__nv_bfloat16"}


def entry_name(launcher: str) -> str:
    """Return the name of the contract's entry for a launcher."""
    return f"run_{launcher}"


def adapted(extract: Extract, contract: Contract, precision: Precision, scratch: Mapping[str, str], title: str) -> str:
    """Return the source of the task's baseline in one precision.

    `scratch`: launcher's parameters that the workspace stands for, with their elements in C++.
    """
    launcher = extract.launcher
    head = [f"// {title}"] + [f"// Changed: {change}." for change in extract.changes]
    element = _ELEMENT[precision]
    needed = "#include <cuda_bf16.h>\n" if "bfloat16" in extract.text + element else ""
    needed += "#include <cuda_runtime.h>\n"
    includes = "".join(line + "\n" for line in needed.splitlines() if line not in extract.text)
    offsets, total = _workspace(extract, scratch, element)
    sizes = ", ".join(f"int {a.name}" for a in contract.sizes)
    workspace = f'extern "C" size_t {contract.workspace_entry}({sizes}) {{\n    return {total};\n}}'
    prototype = contract.prototype(precision)
    if _can_be_inlined(extract, scratch):
        function = launcher.function
        body = text(function.body).rstrip()[:-1].rstrip()
        ending = "\n    return cudaGetLastError();\n}" if function.returns == "void" else "\n}"
        entry = f"{workspace}\n\n{prototype} {body}{ending}"
        source = edited(extract.text, [(function.outer.start_byte, function.outer.end_byte, entry)])
        source = re.sub(r'extern\s+"C"\s+(?=extern\s+"C")', "", source)
    else:
        values = {p.name: p.name for p in launcher.plain} | offsets
        if launcher.stream:
            values[launcher.stream] = "stream"
        call = launcher.call(values, element)
        if launcher.function.returns == "cudaError_t":
            lines = [f"const cudaError_t error = {call};", "return error != cudaSuccess ? error : cudaGetLastError();"]
        else:
            lines = [f"{call};", "return cudaGetLastError();"]
        body = "".join(f"    {line}\n" for line in lines)
        source = f"{extract.text}\n{workspace}\n\n{prototype} {{\n{body}}}\n"
    return "\n".join(head) + "\n" + includes + source


def _can_be_inlined(extract: Extract, scratch: Mapping[str, str]) -> bool:
    """Tell whether the launcher's body can stand in the entry as it is: easier to read, for models above all."""
    function = extract.launcher.function
    body = text(function.body)
    plain = not function.template and not function.scope and not scratch and extract.launcher.stream == "stream"
    simple = all(p.type not in WIDE and p.type not in ("double", "bool") for p in extract.launcher.plain)
    returns = not re.search(r"\breturn\b", body) if function.returns == "void" else function.returns == "cudaError_t"
    alone = len(re.findall(rf"\b{function.name}\b", extract.text)) == 1
    at_top = function.outer.parent is not None and function.outer.parent.type in (
        "translation_unit",
        "linkage_specification",
    )
    return plain and simple and returns and alone and at_top


def _workspace(extract: Extract, scratch: Mapping[str, str], element: str) -> tuple[dict[str, str], str]:
    """Return where each scratch array lies in the workspace, as C++, and the workspace's size in bytes."""
    launcher = extract.launcher
    offsets: dict[str, str] = {}
    pieces: list[str] = []
    for p in launcher.plain:
        if p.name in scratch:
            kind = element if p.type == launcher.storage else p.type
            start = " + ".join(pieces) or "0"
            offsets[p.name] = f"reinterpret_cast<{kind}*>(static_cast<char*>(workspace) + {start})"
            pieces.append(f"(({_wide(scratch[p.name])}) * sizeof({kind}) + 255) / 256 * 256")
    return offsets, " + ".join(pieces) or "0"


def _wide(elements: str) -> str:
    """Return a size expression in C++, computed in size_t."""
    return re.sub(r"[A-Za-z_]\w*", lambda m: f"static_cast<size_t>({m[0]})", elements).replace("//", "/")
