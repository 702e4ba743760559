"""VERIFICATION.md: what was checked, on what, and what was not."""

from __future__ import annotations

from ..device.port import DeviceInfo
from ..records import Verdict


def verification_text(
    unit: str,
    device: DeviceInfo,
    verdict: Verdict,
    again: Verdict | None,
    sanitized: bool,
    not_checked: tuple[str, ...],
    *,
    differential: bool = False,
) -> str:
    """Return the account. `again` is the verdict of the re-verification from disk; `sanitized`: nothing was found.

    `differential`: there is no definition, outputs were compared with the original kernel's.
    """
    lines = [f"# {unit}: what was verified", ""]
    where = f"{device.gpu} ({device.arch})" if device.name == "cuda" else f"this machine's CPU, with {device.compiler}"
    lines += [f"- Run on: {where}."]
    lines += [f"- Judged: {verdict.status}. {verdict.summary}"]
    if again:
        lines += [
            f"- Judged once more, from the saved source in a new process with new data: {again.status}. {again.summary}"
        ]
        lines += [f"- {note[:1].upper()}{note[1:]}." for note in again.notes]
    if sanitized:
        lines += ["- Races, out-of-bounds and uninitialised accesses: looked for, none found."]
    missing = list(not_checked)
    if not verdict.checked_with_nvcc:
        missing.append("The source was not compiled with nvcc: only a host compiler has seen it.")
    if device.name == "cpu":
        missing += [
            "It has not run on a GPU: the threads were run by a CPU, which orders memory accesses more strictly.",
            f"No time was measured: the speedup is an estimate of a cost model of {device.gpu}.",
        ]
    lines += ["", "## Not checked", ""] + [f"- {line}" for line in missing or ["Nothing that is known."]]
    lines += [
        "",
        "## Cases",
        "",
        "| set | case | seed | worst error ÷ bound | result |",
        "| --- | --- | --- | --- | --- |",
    ]
    for case in (*verdict.cases, *(again.cases if again else ())):
        result = "ok" if case.ok else case.reason.replace("|", "\\|")
        lines.append(f"| {case.set} | {case.case} | {case.seed} | {case.worst_ratio:.3g} | {result} |")
    reference = (
        "The reference is the original kernel, run on the same data; the bound follows from how its outputs move with "
        "its inputs, and is twice as wide as for a definition."
        if differential
        else "The reference is computed in float64 by the task's definition; the bound is that of its rounding model."
    )
    lines += ["", f"{reference} `bench` in this folder repeats the check on the data in `data/`."]
    return "\n".join(lines) + "\n"
