"""The port of what advances many runs at a time: processes on this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from langgraph.runtime import RunControl


class Call(NamedTuple):
    """A function of a module's top level, called as `function(*arguments, control=…)`, here or in another process."""

    function: Callable[..., Any]
    """Returns what can be pickled. It stops early when its control is asked to drain."""
    arguments: tuple[Any, ...]


class Died(NamedTuple):
    """What came of a call whose process ended under it, or that raised."""

    why: str


class Executor(Protocol):
    """Carries out calls, any number at a time; one that dies costs no other."""

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Yield the place of each call with what it returned, or `Died`, as it ends; one never begun is left out.

        It may be asked again, for other calls, when it has come to its end.
        """

    def stop(self) -> None:
        """Begin no more calls, and ask those that run to stop between two steps: nothing is lost."""


class Here:
    """Carries out one call after another in this process."""

    def __init__(self) -> None:
        self._control = RunControl()

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """As the port says; what a call raises is raised here."""
        for place, call in enumerate(calls):
            if self._control.drain_requested:
                return
            yield place, call.function(*call.arguments, control=self._control)

    def stop(self) -> None:
        """As the port says."""
        self._control.request_drain()
