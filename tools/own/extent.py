"""How far an index can reach: a polynomial in a function's variables, with each variable put to its bound."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from tree_sitter import Node

from ..polynomial import Poly, add, multiply
from .cpp import text, walk

_CAST = re.compile(r"^\s*(?:static_cast|int|size_t|unsigned|long|int64_t|uint32_t)\b")


def constant(value: int) -> Poly:
    """Return a number as a polynomial."""
    return {(): value} if value else {}


def polynomial(node: Node | None) -> Poly | None:
    """Read an integer expression; None where it is not a polynomial (a load, a call, a division)."""
    if node is None:
        return None
    match node.type:
        case "number_literal":
            digits = re.match(r"\d+", text(node))
            return constant(int(digits[0])) if digits and re.fullmatch(r"\d+[uUlL]*", text(node)) else None
        case "identifier":
            return {(text(node),): 1}
        case "field_expression":
            name = text(node)
            return {(name,): 1} if re.fullmatch(r"(thread|block)(Idx|Dim)\.[xyz]|gridDim\.[xyz]", name) else None
        case "parenthesized_expression":
            return polynomial(node.named_children[0])
        case "cast_expression":
            return polynomial(node.child_by_field_name("value"))
        case "call_expression" if _CAST.match(text(node)):
            arguments = node.child_by_field_name("arguments")
            return polynomial(arguments.named_children[0]) if arguments is not None else None
        case "binary_expression":
            left = polynomial(node.child_by_field_name("left"))
            right = polynomial(node.child_by_field_name("right"))
            sign = text(node.child_by_field_name("operator"))
            if left is None or right is None:
                return None
            if sign == "*":
                return multiply(left, right)
            return add(left, right, 1 if sign == "+" else -1) if sign in ("+", "-") else None
    return None


class Bounds:
    """What the text of a function says of its variables: their definitions, and what they stay below."""

    def __init__(self, body: Node, known: Mapping[str, Poly]) -> None:
        """`known`: largest values of what is given from outside, such as `blockIdx.x`."""
        self.known = dict(known)
        self.defined: dict[str, Poly] = {}
        self.below: dict[str, Poly] = {}
        """From anywhere in the function: `if (i >= n) return` above all."""
        for node in walk(body):
            if node.type == "init_declarator":
                name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
                if name is not None and name.type == "identifier" and (poly := polynomial(value)) is not None:
                    self.defined.setdefault(text(name), poly)
            elif node.type == "binary_expression":
                for variable, most in _guard(node).items():
                    self.below.setdefault(variable, most)

    def largest(self, poly: Poly, at: Node, depth: int = 0) -> Poly | None:
        """Return the largest value that a polynomial has at a place, in what is given from outside; None: not known."""
        if depth > 6:
            return None
        total: Poly = {}
        for product, coefficient in poly.items():
            value = constant(coefficient)
            for name in product:
                most = self._most(name, at, depth)
                if most is None:
                    return None
                if coefficient < 0 and most != {(name,): 1}:
                    most = {}  # a negative term is largest where its variable is smallest; a size stays as it is
                value = multiply(value, most)
            total = add(total, value)
        return total

    def _most(self, name: str, at: Node, depth: int) -> Poly | None:
        if name in self.known:
            return self.known[name]
        for poly in (_bound_around(name, at), self.below.get(name), self.defined.get(name)):
            if poly is not None and (name,) not in poly and (found := self.largest(poly, at, depth + 1)) is not None:
                return found
        return None


def _guard(node: Node) -> dict[str, Poly]:
    """Return what `i < n`, `i <= n`, or `i >= n` (which leaves) allows at most; of a sum its first name may be that."""
    sign = text(node.child_by_field_name("operator"))
    left, right = polynomial(node.child_by_field_name("left")), polynomial(node.child_by_field_name("right"))
    if sign not in ("<", ">=", "<=") or not left or right is None:
        return {}
    if any(len(product) != 1 or coefficient != 1 for product, coefficient in left.items()):
        return {}
    if sign == ">=" and not any(right):  # `i >= 0` keeps nothing below anything
        return {}
    first, *others = (product[0] for product in left)
    most = right if sign == "<=" else add(right, constant(1), -1)
    return {first: most, **{name: {} for name in others}}


def _bound_around(name: str, at: Node) -> Poly | None:
    """Return the bound of a variable in the innermost `if`, `for` or `while` whose body holds a place."""
    child, parent = at, at.parent
    while parent is not None:
        condition = parent.child_by_field_name("condition")
        inside = child in (parent.child_by_field_name("consequence"), parent.child_by_field_name("body"))
        if parent.type in ("if_statement", "for_statement", "while_statement") and condition is not None and inside:
            for node in walk(condition):
                if node.type == "binary_expression" and name in (guard := _guard(node)):
                    return guard[name]
        child, parent = parent, parent.parent
    return None


def evaluate(poly: Poly, values: Mapping[str, int]) -> int:
    """Return the value at these sizes."""
    return sum(c * math.prod(values[name] for name in product) for product, c in poly.items())


def expression(poly: Poly, order: Sequence[str]) -> str:
    """Write a polynomial as a shape, e.g. `rows * cols + 1`, its names in this order."""
    terms = []
    for product, coefficient in sorted(poly.items(), key=lambda term: (-len(term[0]), term[0])):
        names = sorted(product, key=order.index)
        body = " * ".join(([str(abs(coefficient))] if abs(coefficient) != 1 or not product else []) + names)
        terms.append(("- " if coefficient < 0 else "+ ") + body)
    return " ".join(terms).removeprefix("+ ") or "0"
