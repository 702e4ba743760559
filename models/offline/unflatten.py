"""A kernel over one long index that is split with `/` and `%`, written over the two indices that it means."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from .emit import on_host
from .loops import ParallelLoop, parallel_loops
from .syntax import (
    Kernel,
    Launch,
    Poly,
    add,
    declared_name,
    edited,
    multiply,
    parsed,
    polynomial,
    substitute,
    text,
    walk,
)


def unflattened(kernel: Kernel) -> Kernel | None:
    """Rewrite `i < rows * W` with `i / W` and `i % W` in it as rows along y and columns along x.

    The launches are left as they were: whoever takes the result must set grids and blocks. None: no such kernel.
    """
    source = kernel.source
    loop = next((item for item in parallel_loops(kernel) if item.form == "guard"), None)
    if loop is None or loop.declaration is None or kernel.cooperates or not kernel.launches:
        return None
    width = _width(kernel, loop)
    if width is None or not all(_whole_rows(kernel, launch, loop, width) for launch in kernel.launches):
        return None
    index, bound = loop.variable, text(loop.bound)
    row, col = source.unique("flat_row"), source.unique("flat_col")
    first = "\n    ".join(_split(n) for n in loop.body)
    name, by = re.escape(index), re.escape(width)
    body = re.sub(rf"(?<![\w.])(\(?){name}\s*/\s*{by}(\)?)(?!\w)", _balanced(row), first)
    body = re.sub(rf"(?<![\w.])(\(?){name}\s*%\s*{by}(\)?)(?!\w)", _balanced(col), body)
    body = substitute(body, {index: f"({row} * {width} + {col})"})
    # A variable that only gives one of the two another name would look like an index of its own.
    alias = re.compile(rf"^[ \t]*const [\w ]+ (\w+) = (?:\([\w ]+\))?\(?({row}|{col})\)?;\n?", re.M)
    named = dict(alias.findall(body))
    body = substitute(alias.sub("", body), named)
    # A bound in parentheses: it may be a product.
    head = (
        f"const long long {col} = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
        f"    const long long {row} = blockIdx.y * (long long)blockDim.y + threadIdx.y;\n"
        f"    if ({row} >= ({bound}) / {width} || {col} >= {width}) return;\n    "
    )
    start, end = loop.declaration.start_byte, max(loop.node.end_byte, loop.body[-1].end_byte)
    between = [n for n in kernel.statements if loop.declaration.end_byte <= n.start_byte < loop.node.start_byte]
    before = "".join(f"{text(n)}\n    " for n in between)
    return parsed(edited(source.text, [(start, end, before + head + body)])).kernel(kernel.name)


def _split(node: Node) -> str:
    """Return a statement's code, a declaration of several constants as several."""
    declarators = node.children_by_field_name("declarator") if node.type == "declaration" else []
    if len(declarators) < 2 or any(d.type != "init_declarator" for d in declarators) or "*" in text(node):
        return text(node)
    kind = text(node)[: declarators[0].start_byte - node.start_byte].rstrip()
    return "\n    ".join(f"{kind} {text(d)};" for d in declarators)


def _balanced(name: str) -> Callable[[re.Match[str]], str]:
    """Return a replacement that keeps a parenthesis that the match took without its partner."""

    def put(match: re.Match[str]) -> str:
        left, right = match.groups()
        return name if left and right else f"{left}{name}{right}"

    return put


def _width(kernel: Kernel, loop: ParallelLoop) -> str | None:
    """Return the one scalar that the index is divided by, if it is also taken modulo that."""
    found: dict[str, set[str]] = {"/": set(), "%": set()}
    for node in loop.inside:
        if node.type == "binary_expression" and text(node.child_by_field_name("left")) == loop.variable:
            operator = text(node.child_by_field_name("operator"))
            if operator in found:
                found[operator].add(text(node.child_by_field_name("right")))
    if len(found["/"]) != 1 or found["/"] != found["%"] or loop.variable in kernel.assigned:
        return None
    width = found["/"].pop()
    scalars = {p.name for p in kernel.parameters if not p.pointer} - kernel.assigned
    alone = re.fullmatch(r"\w+|\([^()]*\)", width) is not None
    return width if alone and set(re.findall(r"[A-Za-z_]\w*", width)) <= scalars and width != "()" else None


def _whole_rows(kernel: Kernel, launch: Launch, loop: ParallelLoop, width: str) -> bool:
    """Return whether a launch's number of elements is a multiple of the width."""
    scope = _host_scope(launch)
    passed = {p.name: polynomial(n, scope) for p, n in zip(kernel.parameters, launch.arguments, strict=False)}
    total: Poly = {}
    for key, value in kernel.poly(loop.bound).items():
        term: Poly = {(): value}
        for atom in key:
            term = multiply(term, passed.get(atom, {(atom,): 1}))
        total = add(total, term)
    told = on_host(kernel, launch, width)
    by: Poly = passed.get(width) or {(re.sub(r"^\((.*)\)$", r"\1", re.sub(r"\s", "", told or "?")),): 1}
    if len(by) != 1 or next(iter(by.values())) != 1:
        return False
    return bool(total) and all(set(next(iter(by))) <= set(key) for key in total)


def _host_scope(launch: Launch) -> dict[str, Node]:
    """Return the constants of the function that launches."""
    found = {}
    for node in walk(launch.host) if launch.host is not None else ():
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None:
            found[declared_name(node)] = value
    return found
