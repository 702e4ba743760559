"""The Planner half: the untried rule with the largest diagnosed bound, after those to which it would close the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice

from ...prompts import sections
from ...prompts.brief import Attempt, Plan
from ...tools.records import Finding
from ...tools.tunables import TUNE, tunables
from .catalog import RULES
from .rule import Rule, Setting
from .syntax import Source

NOTHING = "none"
"""The strategy's name when no rule applies."""

HOPELESS = 1.02
"""A finding that promises less than this is no reason to act."""


def plan(prompt: dict[str, str], setting: Setting) -> Plan:
    """Choose a rule from a Planner's prompt."""
    source = Source(sections.read_code(prompt.get(sections.KERNEL, "")))
    findings = sections.read_findings(prompt.get(sections.DIAGNOSIS, ""))
    tried = exhausted(sections.read_history(prompt.get(sections.HISTORY, "")))
    untried = [rule for rule in RULES if rule.name not in tried]
    place = sections.read_variant(prompt.get(sections.VARIANT, ""))
    changed = cache(lambda rule: rule.changes(source, setting))
    ranked = sorted(untried, key=lambda rule: rank(rule, findings), reverse=True)
    applicable = (rule for rule in ranked if changed(rule) is not None)
    if chosen := next(islice(applicable, place - 1, None), None):
        rule = first_of(chosen, untried, changed, setting)
        reasons = [f for f in findings if f.name in rule.answers]
        because = f" Diagnosed: {reasons[0].sentence}" if reasons else ""
        return Plan(
            strategy=rule.name,
            reasoning=f"{rule.why[0].upper()}{rule.why[1:]}.{because}",
            expected_effect=rule.effect,
            metric=rule.metric,
        )
    if setting.on_gpu and TUNE not in tried and tunables(source.text):
        return Plan(
            strategy=TUNE,
            reasoning="No rule is left that was not tried. Constants that were a guess, or were searched before other "
            "changes came, are searched on the device.",
            expected_effect="a better balance of parallelism and work per thread",
            metric="duration_us",
        )
    return Plan(
        strategy=NOTHING,
        reasoning="No rule that has not been tried applies to this kernel, or none can be proved safe here. "
        "The source stays as it is.",
        expected_effect="none",
        metric="duration_us",
    )


def rank(rule: Rule, findings: tuple[Finding, ...]) -> tuple[float, float]:
    """Return a rule's place: the largest bound of the findings that it mends, else its own worth at a discount.

    A diagnosed bound is an upper limit: a rule can hardly gain more than it hopes for, ten times over.
    """
    bounds = [f.bound for f in findings if f.name in rule.answers and f.bound >= HOPELESS]
    if bounds:
        return (min(max(bounds), rule.worth * 10), rule.worth)
    return (rule.worth ** (0.5 if findings else 1.0), rule.worth)


def first_of(chosen: Rule, untried: Sequence[Rule], changed: Callable[[Rule], str | None], setting: Setting) -> Rule:
    """Return a rule, or the one worth most that applies now and no more after it: what closes a way waits.

    `untried` goes by worth; `changed` returns the source that a rule makes now, None where it does not apply.
    """
    after = Source(changed(chosen) or "")
    for rule in untried:
        if rule.worth <= chosen.worth:
            break
        if changed(rule) is not None and rule.changes(after, setting) is None:
            return first_of(rule, untried, changed, setting)
    return chosen


def exhausted(history: tuple[Attempt, ...]) -> set[str]:
    """Return the strategies that were tried and did not become the best: again they would give the same."""
    rounds: dict[int, list[Attempt]] = {}
    for attempt in history:
        rounds.setdefault(attempt.round, []).append(attempt)
    return {a.strategy for attempts in rounds.values() for a in attempts if not any(one.best for one in attempts)}
