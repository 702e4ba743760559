"""What a rule is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from tree_sitter import Node

from .syntax import Kernel, Source, declared_name, reread, text, walk

_CASTS = r"(?:reinterpret_cast|static_cast)\s*<[^>]*>|\([\w\s]+\*+\s*\)"


@dataclass(frozen=True)
class Setting:
    """What a rule may know beside the source."""

    multiprocessors: int = 132
    precision: str = "fp32"
    on_gpu: bool = False
    """Candidates run on a GPU, which has tensor cores and lets launches overlap."""
    narrow: int = 0
    """How often the rule's result failed: each step gives up something (a wide access, a big block)."""


class Rule(ABC):
    """One strategy: when it applies, what it changes, what it should gain. Never by the name of anything."""

    name: ClassVar[str]
    answers: ClassVar[tuple[str, ...]]
    """Names of the findings that it mends."""
    worth: ClassVar[float]
    """The gain to hope for where nothing was diagnosed: sets the order among rules."""
    metric: ClassVar[str]
    """The metric that should move."""
    why: ClassVar[str]
    effect: ClassVar[str]
    steps: ClassVar[int] = 1
    """How many narrower forms it has, the full one included."""

    @abstractmethod
    def once(self, source: Source, setting: Setting) -> str | None:
        """Return the source with a change; None, or the same text, where there is none that is proved safe."""

    def changes(self, source: Source, setting: Setting) -> str | None:
        """Return the source changed until the rule finds no more to do; None if there is none."""
        first = source.text
        while (changed := self.once(source, setting)) not in (None, source.text):
            source = Source(str(changed))
        return source.text if source.text != first else None


class KernelRule(Rule):
    """A rule that looks at one kernel, and at its launches."""

    def once(self, source: Source, setting: Setting) -> str | None:
        """Rewrite the first kernel that qualifies."""
        for kernel in reread(source, self.spelled(source.text)).kernels:
            for form in self.forms(kernel):
                changed = self.rewrite(form, setting) if form is not None else None
                if changed is not None:
                    return changed
        return None

    def spelled(self, code: str) -> str:
        """Return the source in the spelling that the rule understands."""
        return code

    def forms(self, kernel: Kernel) -> tuple[Kernel | None, ...]:
        """Return a kernel in all the ways in which the rule can read it."""
        return (kernel,)

    @abstractmethod
    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Return the source with this kernel rewritten; None if the rule does not apply or can't be proved safe."""


@lru_cache(maxsize=256)
def distinct_arguments(kernel: Kernel) -> bool:
    """Return whether no launch passes memory that is written under one name through another one as well.

    The arrays of the contract are distinct; parts of the workspace with variables of their own are taken as such.
    """
    if not kernel.launches:
        return False
    for launch in kernel.launches:
        seen: dict[str, list[str]] = {}
        for parameter in (p for p in kernel.parameters if p.pointer):
            root = _root(launch.argument(kernel, parameter.name), launch.host)
            seen.setdefault(root, []).append(parameter.name)
        for names in seen.values():
            if len(names) > 1 and any(n in kernel.written_roots for n in names):
                return False
    return True


def _root(expression: str, host: Node | None, depth: int = 0) -> str:
    """Return the array that a pointer expression of the host function names.

    A variable that starts at an offset into another one is an array of its own: it was given a name to be one.
    """
    stripped = re.sub(_CASTS, "", expression)
    found = re.search(r"[A-Za-z_]\w*", stripped)
    name = found[0] if found else expression
    if host is not None and depth < 8:
        for node in walk(host):
            if node.type == "init_declarator" and declared_name(node) == name:
                value = re.sub(rf"{_CASTS}|[()]", "", text(node.child_by_field_name("value")))
                if re.fullmatch(r"\s*\w+\s*", value) and value.strip() != name:
                    return _root(value.strip(), host, depth + 1)
    return name
