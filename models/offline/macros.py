"""Macros of a file written out where kernels use them: the syntax tree does not look into them."""

from __future__ import annotations

import re
from functools import lru_cache

from .syntax import code_only, edited, parsed, text, walk

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\(([^)]*)\))?[ \t]+([^\n\\]+)$", re.M)


@lru_cache(maxsize=64)
def expanded(source: str) -> str:
    """Replace the file's one-line macros in the bodies of kernels, innermost first; everything else stays."""
    macros = {
        m[1]: (None if m[2] is None else [p.strip() for p in m[3].split(",")], m[4].strip())
        for m in _DEFINE.finditer(source)
    }
    if not macros:
        return source
    for _ in range(8):
        edits = []
        for kernel in parsed(source).kernels:
            for node in walk(kernel.body):
                if node.type == "call_expression":
                    name = text(node.child_by_field_name("function"))
                    listed = node.child_by_field_name("arguments")
                    parameters, body = macros.get(name, (None, ""))
                    given = [text(n) for n in listed.named_children] if listed is not None else []
                    if parameters is not None and len(parameters) == len(given) and not _nested(node, macros):
                        edits.append(
                            (node.start_byte, node.end_byte, _filled(body, dict(zip(parameters, given, strict=True))))
                        )
                elif node.type == "identifier" and text(node) in macros and macros[text(node)][0] is None:
                    edits.append((node.start_byte, node.end_byte, macros[text(node)][1]))
        if not edits:
            break
        source = edited(source, edits)
    return source


def _nested(node: object, macros: dict[str, tuple[list[str] | None, str]]) -> bool:
    """Return whether a macro call holds another one (which is to be written out first)."""
    from tree_sitter import Node

    assert isinstance(node, Node)
    listed = node.child_by_field_name("arguments")
    return listed is not None and any(
        n.type in ("call_expression", "identifier")
        and text(n.child_by_field_name("function") if n.type == "call_expression" else n) in macros
        for n in walk(listed)
    )


def _filled(body: str, values: dict[str, str]) -> str:
    code = code_only(body)
    if not values:
        return body
    pattern = rf"\b({'|'.join(map(re.escape, values))})\b"
    return re.sub(pattern, lambda m: values[m[1]], code)
