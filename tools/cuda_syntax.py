"""CUDA C++ as a syntax tree (tree-sitter), and the three things that every reader of one needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def parse(source: str) -> Node:
    """Return the root of a file's tree; what can't be parsed stands in it as ERROR nodes."""
    return _parser().parse(source.encode()).root_node


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, in source order."""
    todo = [node]
    while todo:
        current = todo.pop()
        yield current
        todo.extend(reversed(current.children))


def text(node: Node | None) -> str:
    """Return a node's source text; empty for no node."""
    return node.text.decode() if node is not None and node.text is not None else ""
