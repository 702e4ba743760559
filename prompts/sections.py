"""The titles of a prompt's sections, and how to read a prompt back into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..tools.records import Finding
from .brief import AGENTS, AgentName, Attempt, Plan

CONTRACT: Final = "Contract"
HARDWARE: Final = "Hardware"
KERNEL: Final = "Kernel"
"""The best kernel so far."""
PROFILE: Final = "Profile"
DIAGNOSIS: Final = "Diagnosis"
TIMES: Final = "Times"
"""What the best kernel takes at each timed size."""
HISTORY: Final = "History"
VARIANT: Final = "Variant"
"""Which place among the strategies this run begins with."""
PLAN: Final = "Plan"
CANDIDATE: Final = "Candidate"
"""The source to compile or to repair."""
BUILD: Final = "Build options"
ERROR: Final = "Error"
RULES: Final = "Rules"
COMPLAINT: Final = "Your previous answer"
ANSWER_FORMAT: Final = "Answer format"

TITLES: Final = {
    name: value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str) and value
}
"""Constant name → title, for the templates."""

_FENCE = re.compile(r"^(`{3,})([A-Za-z+]*)\s*$")


def lines_and_fences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with whether it is in a code fence; the line that opens one counts, the one that closes not."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1] == fence and not mark[2]:
            fence = ""
        yield line, bool(fence)


def read_sections(prompt: str) -> dict[str, str]:
    """Split a prompt at its `## title` lines, code fences left whole. What is before the first has the key ``""``."""
    sections: dict[str, list[str]] = {"": []}
    title = ""
    for line, in_fence in lines_and_fences(prompt):
        if not in_fence and line.startswith("## "):
            title = line[3:].strip()
            sections.setdefault(title, [])
        else:
            sections[title].append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in sections.items()}


def read_agent(prompt: str) -> AgentName:
    """Return which agent a prompt addresses.

    Raises:
        ValueError: its first line is not one of ours.
    """
    first = prompt.lstrip().partition("\n")[0].lower()
    for agent in AGENTS:
        if first.startswith(f"# {agent}:"):
            return agent
    raise ValueError(f"not a prompt of an agent: its first line is {first[:80]!r}")


def read_code(section: str) -> str:
    """Return the content of a section's first code fence, with a final newline; empty if there is none."""
    lines = section.splitlines()
    for start, line in enumerate(lines):
        if opening := _FENCE.match(line):
            for end in range(start + 1, len(lines)):
                if lines[end] == opening[1]:
                    return "\n".join(lines[start + 1 : end]) + "\n"
            return "\n".join(lines[start + 1 :]) + "\n"
    return ""


_FINDING = re.compile(
    r"^- `(?P<name>[^`]+)` \| bound (?P<bound>[0-9.einf+]+)"
    r"(?: \| kernel `(?P<kernel>[^`]*)`)?(?: \| line (?P<line>\d+))?$"
)


def write_finding(finding: Finding) -> str:
    """Return a finding as the lines of a prompt: one for machines, then the sentence."""
    head = f"- `{finding.name}` | bound {finding.bound:.4g}"
    head += f" | kernel `{finding.kernel}`" if finding.kernel else ""
    head += f" | line {finding.line}" if finding.line is not None else ""
    lines = [head, f"  {_one_line(finding.sentence)}"]
    if finding.evidence:
        lines.append(f"  Evidence: {_one_line(finding.evidence)}")
    if finding.strategies:
        lines.append(f"  Strategies: {', '.join(finding.strategies)}")
    return "\n".join(lines)


def read_findings(section: str) -> tuple[Finding, ...]:
    """Read the Diagnosis section back into findings, in their order."""
    findings: list[dict[str, object]] = []
    for line in section.splitlines():
        if head := _FINDING.match(line):
            findings.append(
                {
                    "name": head["name"],
                    "bound": float(head["bound"]),
                    "kernel": head["kernel"] or "",
                    "line": int(head["line"]) if head["line"] else None,
                    "sentence": "",
                    "evidence": "",
                }
            )
        elif findings and line.startswith("  Evidence: "):
            findings[-1]["evidence"] = line[12:]
        elif findings and line.startswith("  Strategies: "):
            findings[-1]["strategies"] = tuple(line[14:].split(", "))
        elif findings and line.startswith("  ") and not findings[-1]["sentence"]:
            findings[-1]["sentence"] = line[2:]
    return tuple(Finding.model_validate(finding) for finding in findings)


_ATTEMPT = re.compile(
    r"^- round (?P<round>\d+), attempt (?P<attempt>\d+): `(?P<strategy>[^`]*)` → (?P<status>[a-z_]+)"
    r"(?:, (?P<kind>estimated speedup|speedup) (?P<gain>[0-9.e+-]+))?(?P<best>, a new best)?"
    r"(?:; metric `(?P<metric>[^`]*)`)?(?:; now (?P<bottleneck>\w+))?(?:; (?P<note>.*))?$"
)


def write_attempt(attempt: Attempt) -> str:
    """Return an attempt of the history as one line of a prompt."""
    strategy = _one_line(attempt.strategy).replace("`", "")
    line = f"- round {attempt.round}, attempt {attempt.attempt}: `{strategy}` → {attempt.status}"
    if attempt.speedup is not None:
        line += f", speedup {attempt.speedup:.4g}"
    elif attempt.estimated_speedup is not None:
        line += f", estimated speedup {attempt.estimated_speedup:.4g}"
    line += ", a new best" if attempt.best else ""
    line += f"; metric `{_one_line(attempt.metric).replace('`', '')}`" if attempt.metric else ""
    line += f"; now {attempt.bottleneck}" if attempt.bottleneck else ""
    line += f"; {_one_line(attempt.note)}" if attempt.note else ""
    return line


def read_history(section: str) -> tuple[Attempt, ...]:
    """Read the History section back into attempts (tokens are not told, and come back as 0)."""
    attempts = []
    for line in section.splitlines():
        if found := _ATTEMPT.match(line):
            gain = float(found["gain"]) if found["gain"] else None
            measured = found["kind"] == "speedup"
            attempts.append(
                Attempt(
                    round=int(found["round"]),
                    attempt=int(found["attempt"]),
                    strategy=found["strategy"],
                    metric=found["metric"] or "",
                    status=found["status"],
                    speedup=gain if measured else None,
                    estimated_speedup=None if measured else gain,
                    best=bool(found["best"]),
                    bottleneck=found["bottleneck"] or "",
                    note=found["note"] or "",
                )
            )
    return tuple(attempts)


def read_variant(section: str) -> int:
    """Read the place from the Variant section; 1 if it is empty."""
    found = re.search(r"choose number (\d+)", section)
    return int(found[1]) if found else 1


def read_plan(section: str) -> Plan | None:
    """Read the Plan section back; None if it is empty."""
    values: dict[str, str] = {}
    for line in section.splitlines():
        key, colon, value = line.partition(": ")
        if colon and key.lower().replace(" ", "_") in Plan.model_fields:
            values[key.lower().replace(" ", "_")] = value
    return Plan.model_validate(values) if values.get("strategy") else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
