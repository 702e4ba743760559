"""The index space of a kernel: which variable runs over which thread axis, how far, and what is done at each point."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from tree_sitter import Node

from .loops import for_parts, global_index
from .rule import distinct_arguments
from .syntax import Kernel, comparisons, declared_name, multiply, statements, text, walk
from .values import declares_zero

_TESTS = ("<", "<=", ">", "==")


@dataclass(frozen=True)
class Axis:
    """One index variable: `0 <= variable < bound`, dealt out along a thread axis."""

    variable: str
    type: str
    axis: str
    bound: Node = field(repr=False)


@dataclass(frozen=True)
class Space:
    """A kernel as `for all points: body`. `preamble` holds the declarations that come before the body."""

    kernel: Kernel = field(repr=False)
    axes: tuple[Axis, ...]
    preamble: tuple[Node, ...] = field(repr=False)
    body: tuple[Node, ...] = field(repr=False)
    skipped: tuple[Node, ...] = field(default=(), repr=False)
    """Conditions of points that are left out, where these were asked for."""

    def axis_of(self, variable: str) -> Axis | None:
        """Return the axis of a variable."""
        return next((a for a in self.axes if a.variable == variable), None)


@lru_cache(maxsize=256)
def index_space(kernel: Kernel, every: bool = False) -> Space | None:
    """Read guards and grid-stride loops off a kernel until its body is reached; None if it has no such form.

    `every` reads guards like `i < 1 || i >= n` as well, whose first part goes into `skipped`, and axes that go from
    block to block alone.
    """
    pending: dict[str, tuple[str, str]] = {}
    axes: list[Axis] = []
    preamble: list[Node] = []
    between: list[Node] = []
    skipped: list[Node] = []
    listed = list(kernel.statements)
    while listed:
        node = listed[0]
        last = len(listed) == 1
        if node.type == "declaration":
            declarators = node.children_by_field_name("declarator")
            value = declarators[0].child_by_field_name("value") if len(declarators) == 1 else None
            axis = next((a for a in "xyz" if value is not None and global_index(kernel.poly(value), a)), None)
            if axis is not None and declared_name(declarators[0]) not in kernel.assigned:
                pending[declared_name(declarators[0])] = text(node.child_by_field_name("type")), axis
            elif pending and set(pending) <= {a.variable for a in axes}:
                rest = [n for n in listed if n.type != "declaration"]
                if len(rest) != 1 or listed[-1].type != "for_statement" or not _is_axis(kernel, rest[0]):
                    break
                # Constants in front of the last axis' loop might as well be in it.
                between = listed[:-1]
                listed = listed[-1:]
                continue
            else:
                preamble.append(node)
            listed = listed[1:]
            continue
        if node.type == "if_statement" and node.child_by_field_name("alternative") is None:
            inner = statements(node.child_by_field_name("consequence"))
            leaves = [n.type for n in inner] == ["return_statement"]
            bounds = _bounds(
                node, pending, leaves, skipped if every and leaves else None, {a.variable for a in axes} - set(pending)
            )
            if bounds is None or not (leaves or last) or any(a.variable in dict(bounds) for a in axes):
                break
            for name, bound in bounds:
                axes.append(Axis(name, *pending[name], bound))
            listed = listed[1:] if leaves else list(inner)
            continue
        if last and (found := _is_axis(kernel, node, every)) is not None:
            axes.append(found)
            listed = list(statements(node.child_by_field_name("body")))
            continue
        break
    if not axes or not set(pending) <= {a.variable for a in axes} or len({a.axis for a in axes}) != len(axes):
        return None
    return Space(kernel, tuple(axes), tuple(preamble), (*between, *listed), tuple(skipped))


def points_in_space(kernel: Kernel) -> Space | None:
    """Return the two or three axes of a kernel that does a point a thread, each for itself, in distinct arrays."""
    space = index_space(kernel, every=True)
    if space is None or len(space.axes) not in (2, 3) or kernel.cooperates or kernel.template is not None:
        return None
    apart = kernel.launches and distinct_arguments(kernel) and "volatile" not in text(kernel.node)
    return space if apart else None


def _is_axis(kernel: Kernel, node: Node, blocks: bool = False) -> Axis | None:
    """Read a loop over a global index in steps of the whole grid; with `blocks`, one over the blocks as well."""
    parts = for_parts(node) if node.type == "for_statement" else None
    if parts is None:
        return None
    name, kind, value, sign, bound, step = parts
    start = kernel.poly(value)
    alone = next((a for a in "xyz" if start == {(f"blockIdx.{a}",): 1} and step == {(f"gridDim.{a}",): 1}), None)
    if blocks and alone is not None and sign == "<":
        return Axis(name, kind, alone, bound)
    axis = next((a for a in "xyz" if global_index(start, a)), None)
    size = global_index(start, axis) if axis else None
    if axis is None or size is None or sign != "<" or step != multiply({(size,): 1}, {(f"gridDim.{axis}",): 1}):
        return None
    return Axis(name, kind, axis, bound)


def _bounds(
    node: Node, pending: dict[str, tuple[str, str]], leaves: bool, skipped: list[Node] | None, counted: set[str]
) -> list[tuple[str, Node]] | None:
    """Read `a >= A || b >= B` (leaving) or `a < A && b < B`; None for any other condition.

    Other comparisons of a leaving condition go into `skipped`, if there is a list for them.
    """
    joint, sign = ("||", ">=") if leaves else ("&&", "<")
    parts = comparisons(node.child_by_field_name("condition"), joint)
    found: list[tuple[str, Node]] = []
    for part in parts or ():
        left, right = part.child_by_field_name("left"), part.child_by_field_name("right")
        operator = text(part.child_by_field_name("operator"))
        # A thread may leave for the sake of an index that it has, not of one that its loop counts.
        named = {text(n) for n in walk(part) if n.type == "identifier"}
        if operator == sign and text(left) in pending and right is not None:
            found.append((text(left), right))
        elif skipped is not None and operator in _TESTS and named & set(pending) and not named & counted:
            skipped.append(part)
        else:
            return None
    return found if parts else None


def before_sum(space: Space, loop: Node, total: str) -> list[Node] | None:
    """Return the declarations in front of a loop that adds up to a float `total`, but for the total's own.

    None if the total does not start at zero, or if there is more than declarations.
    """
    before = list(space.body[: space.body.index(loop)])
    start = next((n for n in before if n.type == "declaration" and declares_zero(n, total)), None)
    if start is None or space.kernel.declared.get(total) != "float":
        return None
    before.remove(start)
    return before if all(n.type == "declaration" for n in before) else None
