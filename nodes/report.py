"""report.md: what happened, round by round, for a person."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..prompts.brief import Attempt, Plan, plans_by_round
from ..tools.records import Diagnosis
from ..tools.result.summary import Figure, Summary


def report_text(
    summary: Summary,
    history: Sequence[Attempt],
    plans: Sequence[Plan],
    before: Diagnosis | None,
    after: Diagnosis | None,
    source_name: str,
) -> str:
    """Return the story of a run: where it began, every round's plan, verdict and gain, and how it ended."""
    lines = [f"# {summary.unit}: {_headline(summary)}", ""]
    lines += [f"Run `{summary.run}` on the {summary.device} device ({summary.gpu}), answered by `{summary.model}`.", ""]
    if summary.reason:
        lines += [f"It ended because {summary.reason}." if summary.status != "failed" else summary.reason, ""]
    lines += ["## The kernel that it began with", "", f"{source_name}."]
    lines += _diagnosis(before)
    best = 1.0
    planned = plans_by_round(history, plans)
    for number, attempts in groupby(history, key=lambda attempt: attempt.round):
        tried = list(attempts)
        lines += ["", f"## Round {number}: {tried[0].strategy or 'no plan'}", ""]
        lines += _reasons(planned.get(number))
        for attempt in tried:
            what = "first version" if attempt.attempt == 0 else f"repair {attempt.attempt}"
            gain = attempt.speedup if attempt.speedup is not None else attempt.estimated_speedup
            outcome = attempt.status if gain is None else f"{attempt.status}, {gain:.3g}x{_kind(attempt)}"
            if gain is not None:
                outcome += " (new best)" if attempt.best else f" (not better than {best:.3g}x)"
                best = gain if attempt.best else best
            note = attempt.note.removeprefix(f"{attempt.status}: ")
            lines.append(f"- {what}: {outcome}. {note}".rstrip())
    lines += ["", "## The end", "", _headline(summary).capitalize() + "."]
    if summary.best:
        lines.append(f"The kernel of round {summary.best.round} won: {summary.best.verified}")
        lines += _diagnosis(after)
    spent = summary.spent
    money = "" if spent.usd is None else f", {spent.usd:.4f} USD"
    estimated = " (tokens estimated)" if spent.tokens_estimated else ""
    lines += [
        "",
        f"{spent.calls} questions, {spent.input_tokens} tokens in, {spent.output_tokens} out{money}{estimated}.",
    ]
    return "\n".join(lines) + "\n"


def _headline(summary: Summary) -> str:
    figure = summary.gain
    if figure is None:
        reached = summary.efficiency or summary.estimated_efficiency
        already = f", at {reached.value:.0%} of the floor as it is" if reached else ""
        return {"failed": "failed", "stopped_budget": "stopped on its budget, nothing won"}.get(
            summary.status, f"nothing better found{already}"
        )
    return f"{factor(figure)} {'faster' if summary.speedup else 'faster by estimate'}"


def factor(figure: Figure) -> str:
    """Return a gain as people write it, with its interval if there is one."""
    interval = f" ({figure.ci95[0]:.3g} to {figure.ci95[1]:.3g})" if figure.ci95 else ""
    return f"{figure.value:.3g}x{interval}"


def _kind(attempt: Attempt) -> str:
    return "" if attempt.speedup is not None else " by estimate"


def _reasons(plan: Plan | None) -> list[str]:
    if plan is None:
        return []
    parts = [plan.reasoning, plan.expected_effect and f"Expected: {plan.expected_effect}"]
    parts += [plan.metric and f"It was to move {plan.metric}"]
    return [" ".join(f"{part.rstrip('.')}." for part in parts if part), ""]


def _diagnosis(diagnosis: Diagnosis | None) -> list[str]:
    if diagnosis is None:
        return []
    lines = ["", f"It is {diagnosis.bottleneck.replace('_', ' ')}."]
    return lines + [f"- {f.sentence} (at most {f.bound:.3g}x)" for f in diagnosis.findings[:5]]
