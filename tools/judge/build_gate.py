"""What a build means for the verdict: whose fault a failure is, and whether the library is what was asked for."""

from __future__ import annotations

from pathlib import Path

from ...benchmark.contract import Contract
from ..records import Build, Status, Verdict
from .symbols import symbol_faults

_NOT_THE_CANDIDATE = {"unsupported": Status.UNSUPPORTED, "infra": Status.INFRA_ERROR}


def build_verdict(build: Build, contract: Contract) -> Verdict | None:
    """Return the verdict on a failed or unfit build, or None if it may run."""
    if not build.ok:
        status = _NOT_THE_CANDIDATE.get(build.failure, Status.BUILD_ERROR)
        return Verdict(status=status, summary=_first_error(build.log), detail=build.log)
    if faults := symbol_faults(Path(build.library), contract):
        status = Status.FORBIDDEN if any("may not" in fault for fault in faults) else Status.BUILD_ERROR
        return Verdict(status=status, summary=faults[0], detail="\n".join(faults))
    return None


def _first_error(log: str) -> str:
    """Return the first line of a compiler's log that names an error, else the first line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line.lower()), lines[0] if lines else "the build failed without a word"
    )
