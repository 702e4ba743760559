"""The gates that only read the source, as one verdict."""

from __future__ import annotations

from ...benchmark.contract import Contract
from ..records import Status, Verdict
from .screen import screen
from .unchanged import unchanged


def source_verdict(source: str, contract: Contract, baseline_source: str = "") -> Verdict | None:
    """Return `forbidden` or `unchanged`, or None if the source may be built. An empty baseline equals nothing."""
    if violations := screen(source, contract):
        more = f" (and {len(violations) - 1} more)" if violations[1:] else ""
        return Verdict(
            status=Status.FORBIDDEN,
            summary=f"not allowed: {violations[0]}{more}",
            detail="\n".join(map(str, violations)),
        )
    if baseline_source and unchanged(source, baseline_source):
        return Verdict(
            status=Status.UNCHANGED, summary="the candidate is the baseline but for comments and white space"
        )
    return None
