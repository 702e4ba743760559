"""Pointers that alias nothing said to be so, and what is only read made const: loads through the read-only path."""

from __future__ import annotations

import re
from typing import ClassVar

from ..rule import Rule, Setting, distinct_arguments
from ..syntax import Kernel, Source, edited, id_of, text, walk


def _read_and_written(kernel: Kernel, name: str) -> bool:
    """Return whether a kernel reads what it writes through a pointer, as far as anybody can tell.

    What one thread writes another may read behind a barrier. With __restrict__ the compiler may load it in front of
    the barrier: no other pointer of that thread writes there.
    """
    if name not in kernel.written_roots:
        return False
    stores = [a.node for a in kernel.accesses if a.root == name and a.written and not a.read]
    stored = {id_of(node) for store in stores for node in walk(store)}
    loads = any(a.root == name and a.read for a in kernel.accesses)
    named = (n for n in walk(kernel.body) if n.type == "identifier" and text(n) == name)
    return loads or any(id_of(n) not in stored and not kernel.only_offset(n) for n in named)


class Restrict(Rule):
    """`const T* __restrict__` for inputs, `T* __restrict__` for outputs."""

    name: ClassVar[str] = "restrict_readonly"
    answers: ClassVar[tuple[str, ...]] = ("narrow_loads", "stall_mix")
    worth: ClassVar[float] = 1.03
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "the compiler must assume that a store changes what is loaded next: with const and __restrict__ it may load "
        "early, keep values in registers and use the read-only path"
    )
    effect: ClassVar[str] = "fewer and earlier loads"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Qualify the pointers of every kernel where no launch can alias them."""
        edits = []
        for kernel in source.kernels:
            if distinct_arguments(kernel) and not re.search(r"\bvolatile\b", text(kernel.node)):
                edits += self._qualified(kernel)
        return edited(source.text, edits)

    def _qualified(self, kernel: Kernel) -> list[tuple[int, int, str]]:
        edits = []
        for parameter in kernel.parameters:
            declared = text(parameter.node)
            if not parameter.pointer or declared.count("*") != 1:
                continue
            if not parameter.const and _read_and_written(kernel, parameter.name):
                continue
            new = declared if parameter.restrict else re.sub(r"\*\s*", "* __restrict__ ", declared, count=1)
            if (
                not parameter.const
                and parameter.name not in kernel.written_roots
                and self._only_loads(kernel, parameter.name)
            ):
                new = f"const {new}"
            if new != declared:
                edits.append((parameter.node.start_byte, parameter.node.end_byte, new))
        return edits

    @staticmethod
    def _only_loads(kernel: Kernel, name: str) -> bool:
        """Return whether no local pointer is made from a pointer (it would have to become const too)."""
        return not any(
            kind.endswith("*") and name in text(kernel.locals.get(local)) for local, kind in kernel.declared.items()
        )
