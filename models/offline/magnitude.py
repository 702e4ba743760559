"""How large the whole numbers of a kernel can get, as expressions that the host evaluates at a launch."""

from __future__ import annotations

import re

from tree_sitter import Node

from .loops import for_parts
from .syntax import Kernel, Launch, Source, dim3_parts, real, text, walk

_CONFIGURATION = {"gridDim": 0, "blockIdx": 0, "blockDim": 1, "threadIdx": 1}


class Magnitude:
    """Bounds of the absolute values of integer expressions in one kernel under one launch, as C++ doubles."""

    def __init__(self, source: Source, kernel: Kernel, launch: Launch) -> None:
        self.kernel = kernel
        self.launch = launch
        self.loops = {}
        for node in walk(kernel.body):
            parts = for_parts(node) if node.type == "for_statement" else None
            if parts is not None:
                self.loops[parts[0]] = parts[2], parts[4], node.child_by_field_name("update")
        self.sides = [self._sides(source, which) for which in (0, 1)]
        self.needed: list[str] = []
        """Bounds of what is computed on the way and does not show in the result: a dividend."""

    def _sides(self, source: Source, which: int) -> dict[str, str]:
        node = self.launch.configuration[which]
        parts = dim3_parts(node, self.launch.host)
        sides = [text(node)] if parts is None else [text(p) for p in parts]
        if parts is None and source.constant(node, self.launch.host) is None and node.type == "identifier":
            known = [n for n in walk(self.launch.host) if n.type == "declaration"] if self.launch.host else []
            if any(text(n.child_by_field_name("type")) == "dim3" and text(node) in text(n) for n in known):
                return {}
        return dict(zip("xyz", [*sides, "1", "1"], strict=False))

    def of(self, node: Node | None, depth: int = 0) -> str | None:
        """Return a bound of an expression; None if it can't be told."""
        if node is None or depth > 40:
            return None

        def again(child: Node | None) -> str | None:
            return self.of(child, depth + 1)

        match node.type:
            case "number_literal":
                digits = re.sub(r"(?i)[ul]+$", "", text(node))
                return f"{digits}.0" if re.fullmatch(r"\d+", digits) else None
            case "identifier":
                return self._name(text(node), depth)
            case "field_expression":
                which = _CONFIGURATION.get(text(node.child_by_field_name("argument")))
                side = self.sides[which].get(text(node.child_by_field_name("field"))) if which is not None else None
                return f"(double)({side})" if side is not None else None
            case "parenthesized_expression" if len(node.named_children) == 1:
                return again(node.named_children[0])
            case "cast_expression":
                return again(node.child_by_field_name("value"))
            case "unary_expression" if text(node).startswith("-"):
                return again(node.child_by_field_name("argument"))
            case "conditional_expression":
                sides = [again(node.child_by_field_name(f)) for f in ("consequence", "alternative")]
                return None if None in sides else f"({sides[0]} + {sides[1]})"
            case "binary_expression":
                return self._binary(node, depth)
            case "call_expression" if text(node.child_by_field_name("function")) in ("int", "min", "max"):
                listed = node.child_by_field_name("arguments")
                bounds = [again(n) for n in real(listed.named_children)] if listed is not None else []
                return None if None in bounds or not bounds else "(" + " + ".join(map(str, bounds)) + ")"
        return None

    def _binary(self, node: Node, depth: int) -> str | None:
        left, right = (self.of(node.child_by_field_name(f), depth + 1) for f in ("left", "right"))
        match text(node.child_by_field_name("operator")):
            case "+" | "-" if left and right:
                return f"({left} + {right})"
            case "*" if left and right:
                return f"{left} * {right}"
            case "/" if left and self._exact(node.child_by_field_name("right")):
                return f"{left} / ({right})"
            case "/" | ">>":
                return left
            case "%" if left and right:
                self.needed.append(left)
                return right
            case "&" if left and right:
                return f"({left} + {right})"
            case "<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||":
                return "1.0"
        return None

    def _exact(self, node: Node | None) -> bool:
        """Return whether the bound of a divisor is its very value."""
        if node is None:
            return False
        if node.type == "identifier":
            parameter = self.kernel.parameter(text(node))
            return parameter is not None and not parameter.pointer and text(node) not in self.kernel.assigned
        if node.type == "parenthesized_expression":
            return self._exact(node.named_children[0])
        if node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "*":
            return all(self._exact(node.child_by_field_name(f)) for f in ("left", "right"))
        return node.type == "number_literal"

    def _name(self, name: str, depth: int) -> str | None:
        parameter = self.kernel.parameter(name)
        if parameter is not None:
            if parameter.pointer or name in self.kernel.assigned:
                return None
            return f"(double)({self.launch.argument(self.kernel, name)})"
        if name in self.loops:
            start, bound, update = self.loops[name]
            step = update.child_by_field_name("right") if update is not None else None
            bounds = [self.of(start, depth + 1), self.of(bound, depth + 1)]
            bounds.append(self.of(step, depth + 1) if step is not None else "1.0")
            return None if None in bounds else "(" + " + ".join(map(str, bounds)) + ")"
        value = self.kernel.locals.get(name)
        return self.of(value, depth + 1) if value is not None else None
