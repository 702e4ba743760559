"""Gate 2: is the candidate the baseline again, but for comments and white space?"""

from __future__ import annotations

from ..records import Build, Status, Verdict
from .code import tokens
from .machine_code import same_program


def unchanged(source: str, baseline_source: str) -> bool:
    """Return True if both sources have the same tokens."""
    return tokens(source) == tokens(baseline_source)


def unchanged_build(verdict: Verdict, build: Build, baseline: Build) -> Verdict:
    """Return the verdict on a build that passed: `unchanged` if it is the baseline's machine code under other names."""
    if not verdict.passed or not same_program(build, baseline):
        return verdict
    summary = "the candidate compiles to the same machine code as the baseline"
    return verdict.model_copy(update={"status": Status.UNCHANGED, "summary": summary})
