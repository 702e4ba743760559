"""What every finding is: a rule that looks at a call and says one thing, with evidence and a bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from ..records import Finding
from .subject import Kernel, Subject


class Rule(ABC):
    """One deterministic finding.

    The class docstring is its page in the catalogue: what it means, when it applies, how the bound comes about.
    A rule whose metrics are absent finds nothing: it never guesses.
    """

    name: ClassVar[str]
    """The file's name."""
    strategies: ClassVar[tuple[str, ...]] = ()
    """What to do about it, most rewarding first."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Metrics that it reads (a finding may need only some)."""
    tensor_cores: ClassVar[bool] = False
    """Following it moves the work to tensor cores, so that their rate limits the gain."""
    stalls: ClassVar[tuple[str, ...]] = ()
    """Stall reasons that it explains, so that nobody names them a second time."""

    @abstractmethod
    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield what applies. Bounds above the subject's cap are cut to it afterwards."""

    def finding(
        self,
        sentence: str,
        evidence: str,
        bound: float,
        kernel: Kernel | None = None,
        line: int | None = None,
        strategies: tuple[str, ...] | None = None,
    ) -> Finding:
        """Make the record; the location defaults to the kernel's own line."""
        return Finding(
            name=self.name,
            sentence=sentence,
            evidence=evidence,
            kernel=kernel.name if kernel else "",
            line=line if line is not None else (kernel.line if kernel else None),
            bound=bound if math.isfinite(bound) else 1e6,
            strategies=self.strategies if strategies is None else strategies,
        )


def times(value: float) -> str:
    """Return a factor for a sentence: `1.4`, `32`, `1,024`."""
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage for a sentence."""
    return f"{100 * fraction:.0f} %"
