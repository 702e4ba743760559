"""Small local lambdas and load helpers written out where they are called, so that their memory accesses can be seen."""

from __future__ import annotations

import re
from functools import lru_cache

from tree_sitter import Node

from .syntax import assigned_names, declared_name, edited, parsed, real, statements, text, walk


@lru_cache(maxsize=64)
def inlined(source: str) -> str:
    """Write out lambdas and device functions that take a pointer, if they are one `return` each."""
    for _ in range(8):
        changed = _once(source)
        if changed == source:
            return source
        source = changed
    return source


def _once(source: str) -> str:
    tree = parsed(source)
    helpers: dict[str, tuple[list[str], str, Node | None]] = {}
    for name, node in tree.functions.items():
        reads = any(c.type == "__device__" for c in node.children) and "*" in text(
            node.child_by_field_name("declarator")
        )
        if reads and (found := _one_return(node)) is not None:
            helpers[name] = (*found, None)
    for kernel in tree.kernels:
        local = dict(helpers)
        for node in walk(kernel.body):
            if node.type == "lambda_expression" and node.parent is not None and node.parent.type == "init_declarator":
                captured = text(node.child_by_field_name("captures"))
                found = _one_return(node)
                names = {text(n) for n in walk(node) if n.type == "identifier"} - set(found[0] if found else ())
                if found is not None and captured in ("[=]", "[&]") and not names & assigned_names(kernel.body):
                    local[declared_name(node.parent)] = (*found, node.parent.parent)
        for node in walk(kernel.body):
            name = text(node.child_by_field_name("function")) if node.type == "call_expression" else ""
            if name not in local or any(c.type == "kernel_call_syntax" for c in node.children):
                continue
            parameters, value, definition = local[name]
            listed = node.child_by_field_name("arguments")
            given = [text(n) for n in real(listed.named_children)] if listed is not None else []
            if len(given) != len(parameters):
                continue
            bound = {p: g if re.fullmatch(r"\w+", g) else f"({g})" for p, g in zip(parameters, given, strict=True)}
            pattern = rf"(?<![\w.])({'|'.join(map(re.escape, bound))})(?!\w)" if bound else r"(?!)"
            code = re.sub(pattern, lambda m, bound=bound: bound[m[1]], value)  # type: ignore[misc]
            result = edited(source, [(node.start_byte, node.end_byte, code if _whole(code) else f"({code})")])
            return _without_unused(result, name) if definition is not None else result
    return source


def _whole(code: str) -> bool:
    """Return whether an expression needs no parentheses: a call, a name or a subscript."""
    return re.fullmatch(r"\w+(\([^()]*(\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])?", code) is not None


def _one_return(node: Node) -> tuple[list[str], str] | None:
    """Return parameters and value of a function or lambda that is a single `return`."""
    body = statements(node.child_by_field_name("body"))
    if len(body) != 1 or body[0].type != "return_statement" or not body[0].named_children:
        return None
    listed = next((n for n in walk(node.child_by_field_name("declarator") or node) if n.type == "parameter_list"), None)
    names = [declared_name(p) for p in real(listed.named_children)] if listed is not None else []
    return (names, text(body[0].named_children[0])) if all(names) else None


def _without_unused(source: str, name: str) -> str:
    """Drop a lambda that is called no more."""
    for kernel in parsed(source).kernels:
        for node in walk(kernel.body):
            if node.type != "declaration" or not any(n.type == "lambda_expression" for n in walk(node)):
                continue
            named = any(declared_name(c) == name for c in node.children_by_field_name("declarator"))
            if named and len(re.findall(rf"\b{re.escape(name)}\b", text(kernel.node))) == 1:
                return edited(source, [(node.start_byte, node.end_byte, "")])
    return source
