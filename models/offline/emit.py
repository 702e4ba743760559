"""Pieces of CUDA that rules put into a source."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tree_sitter import Node

from .syntax import Kernel, Launch, Poly, Source, code_only, declared_name, edited, substitute, text, walk

BLOCKS_FOR = """\
// Blocks that give every thread one item; at least one.
static unsigned {name}(long long items, int threads) {{
    const long long blocks = (items + threads - 1) / threads;
    return (unsigned)(blocks < 1 ? 1 : blocks);
}}
"""

BLOCKS_UP_TO = """\
// Blocks that give every thread one item, at most `most`; at least one.
static unsigned {name}(long long items, int threads, int most) {{
    const long long blocks = (items + threads - 1) / threads;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}}
"""

VECTOR = """\
// `Count` elements that are loaded and stored 16 bytes at a time.
template <typename Element, int Count>
struct alignas(16) {name} {{
    Element at[Count];
}};
"""

LOAD_ONCE = """\
// Loads what nothing reads again: its lines make room first, and what is written stays in the L2.
template <typename Value>
static __device__ __forceinline__ Value {name}(const Value* from) {{
    Value value = *from;
    #pragma unroll
    for (int part = 0; sizeof(Value) % 16 == 0 && part < (int)(sizeof(Value) / 16); ++part) {{
        reinterpret_cast<uint4*>(&value)[part] = __ldcs(reinterpret_cast<const uint4*>(from) + part);
    }}
    return value;
}}
"""


def helper_name(source: Source, wanted: str, code: str) -> str:
    """Return the name under which a source has a helper already, else a free one."""
    for match in re.finditer(rf"\b({wanted}\d*)\b", source.text):
        if code.format(name=match[1]) in source.text:
            return match[1]
    return source.unique(wanted)


def with_helper(source: str, name: str, code: str) -> str:
    """Put a helper in front of the first definition, once."""
    block = code.format(name=name)
    if block in source:
        return source
    last = 0
    for node in Source(source).root.children:
        if node.type in (
            "preproc_include",
            "preproc_def",
            "preproc_function_def",
            "alias_declaration",
            "type_definition",
        ):
            last = node.end_byte
    data = source.encode()
    head, tail = data[:last].decode().rstrip("\n"), data[last:].decode().lstrip("\n")
    return f"{head}\n\n{block}\n{tail}" if head else f"{block}\n{tail}"


def include(source: str, header: str) -> str:
    """Include a header, once."""
    line = f"#include <{header}>"
    if line in source:
        return source
    at = source.find("#include")
    return source[:at] + line + "\n" + source[at:] if at >= 0 else f"{line}\n{source}"


def polynomial_text(poly: Poly) -> str:
    """Write a polynomial as a 64-bit expression."""
    terms = []
    for key, value in sorted(poly.items(), key=lambda item: (-len(item[0]), item[0])):
        atoms = [a if re.fullmatch(r"[\w.]+", a) else f"({a})" for a in key]
        factors = ([] if abs(value) == 1 and atoms else [str(abs(value))]) + atoms
        product = " * ".join(factors)
        terms.append(("-" if value < 0 else "+", f"(long long){product}" if atoms else product))
    if not terms:
        return "0"
    first, *rest = terms
    return ("-" if first[0] == "-" else "") + first[1] + "".join(f" {sign} {term}" for sign, term in rest)


def on_host(kernel: Kernel, launch: Launch, expression: str) -> str | None:
    """Rewrite an expression in a kernel's parameters with what the launch passes; None if it holds anything else."""
    known = {p.name for p in kernel.parameters if not p.pointer}
    for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*", expression):
        if name not in known and name not in ("long", "int", "size_t", "unsigned"):
            return None
    values = {}
    for name in known:
        passed = launch.argument(kernel, name)
        values[name] = passed if re.fullmatch(r"\w+", passed) else f"({passed})"
    return substitute(expression, values)


def configuration_edits(
    launch: Launch, *, grid: str | None = None, block: str | None = None
) -> list[tuple[int, int, str]]:
    """Return the edits that change a launch's grid and block."""
    edits = []
    for node, new in zip(launch.configuration[:2], (grid, block), strict=True):
        if new is not None:
            edits.append((node.start_byte, node.end_byte, new))
    return edits


def indented(code: str, spaces: int) -> str:
    """Indent every line that is not empty."""
    return "".join(" " * spaces + line if line.strip() else line for line in code.splitlines(keepends=True))


def dedented(nodes_text: str) -> str:
    """Take the common indentation off all lines but the first (a node's text starts without its own)."""
    lines = nodes_text.splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    if len(lines) > 1 and lines[-1].strip() in ("}", "};"):
        margin = len(lines[-1]) - len(lines[-1].lstrip())
    return (
        "\n".join([lines[0], *(line[min(margin, len(line) - len(line.lstrip())) :] for line in lines[1:])])
        if lines
        else ""
    )


def body_code(nodes: Iterable[Node]) -> str:
    """Return statements as code without indentation."""
    return "\n".join(dedented(text(n)) for n in nodes)


def tidy(source: str) -> str:
    """Drop local variables of host functions that nothing uses any more."""
    while True:
        parsed = Source(source)
        edits = []
        for function in parsed.functions.values():
            if any(c.type in ("__global__", "__device__") for c in function.children):
                continue
            code = code_only(text(function))
            for node in walk(function):
                if node.type != "declaration" or node.parent is None or node.parent.type != "compound_statement":
                    continue
                names = [declared_name(c) for c in node.children_by_field_name("declarator")]
                used = [len(re.findall(rf"\b{re.escape(n)}\b", code)) > 1 for n in names]
                calling = any(n.type == "call_expression" and "cuda" in text(n) for n in walk(node))
                if names and not any(used) and not calling:
                    start = node.start_byte
                    data = source.encode()
                    while start > 0 and data[start - 1 : start] in (b" ", b"\t"):
                        start -= 1
                    edits.append((start - (1 if start else 0), node.end_byte, ""))
        if not edits:
            return source
        source = edited(source, edits)


def fresh(source: Source, code: str) -> str:
    """Give the names marked `@name` in generated code names that the file does not use."""
    names = {name: source.unique(name) for name in re.findall(r"@([A-Za-z_]\w*)", code)}
    return re.sub(r"@([A-Za-z_]\w*)", lambda m: names[m[1]], code)
