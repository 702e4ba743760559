"""What expressions depend on, and small readers of declarations and loops."""

from __future__ import annotations

import re

from tree_sitter import Node

from .syntax import Kernel, declared_name, text, walk


def depends(kernel: Kernel, node: Node | None) -> set[str]:
    """Return the names that an expression depends on, through constant locals as well."""
    found: set[str] = set()
    todo = [node] if node is not None else []
    while todo:
        for n in walk(todo.pop()):
            if n.type == "identifier" and text(n) not in found:
                found.add(text(n))
                if text(n) in kernel.locals and "threadIdx" not in text(kernel.locals[text(n)]):
                    todo.append(kernel.locals[text(n)])
    return found


def declared(node: Node) -> set[str]:
    """Return the names that a statement declares."""
    return {declared_name(c) for c in node.children_by_field_name("declarator")}


def declares_zero(node: Node, name: str) -> bool:
    """Return whether a statement declares this one variable, as zero."""
    declarators = node.children_by_field_name("declarator")
    if len(declarators) != 1 or declared_name(declarators[0]) != name:
        return False
    return re.fullmatch(r"\(?0*\.?0*f?\)?", text(declarators[0].child_by_field_name("value"))) is not None


def loop_head(node: Node) -> str:
    """Return the head of a `for` on one line."""
    whole, body = text(node), text(node.child_by_field_name("body"))
    return " ".join(whole[: len(whole) - len(body)].split())
