"""The gate that runs: one case, several calls with poisoned outputs, every element compared."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass

from ...benchmark.contract import Precision
from ...benchmark.task import Case, Task
from ..device.port import CallResult, Runner
from ..phases import phase
from ..records import CaseEvidence, Status
from .compare import compare
from .poison import PATTERNS
from .reference import Instance, instance


@dataclass(frozen=True)
class Step:
    """One call: with which of two data sets, in new or in the same buffers, over which fill pattern."""

    data: int
    new_pointers: bool
    pattern: int
    means: str
    """What a failure of this step, and of none before it, points to."""


_FIRST = Step(0, True, PATTERNS[0], "")
_AGAIN = Step(
    0, False, PATTERNS[1], "the first call was right, the same call again is not: something is left over or racy"
)
_NEW_DATA = Step(
    1, False, PATTERNS[1], "the first call was right, the same buffers with new data are not: an answer was kept"
)
_NEW_BUFFERS = Step(
    1, True, PATTERNS[0], "right before, wrong with the same data in other buffers: an address was kept"
)

USUAL = (_FIRST, _NEW_DATA)
THOROUGH = (_FIRST, _AGAIN, _NEW_DATA, _NEW_BUFFERS)
COSTLY = (_FIRST, _AGAIN)
"""One data set only: the reference is dear."""


@dataclass(frozen=True)
class CaseOutcome:
    """Evidence of one case and what it means for the verdict."""

    status: Status
    evidence: CaseEvidence


@dataclass(frozen=True)
class CallsMade:
    """The calls of one case; what they left behind may still be being compared."""

    case: Case
    seed: int
    answers: list[Future[tuple[Status, CaseEvidence]]]

    def outcome(self) -> CaseOutcome:
        """Wait, and return the first failure or that all is right."""
        worst, elements = 0.0, 0
        for answer in self.answers:
            status, evidence = answer.result()
            worst, elements = max(worst, evidence.worst_ratio), evidence.elements
            if status is not Status.PASS:
                return CaseOutcome(status, evidence)
        case = self.case
        return CaseOutcome(
            Status.PASS,
            CaseEvidence(case=case.name, set=case.set, seed=self.seed, ok=True, worst_ratio=worst, elements=elements),
        )


def check_case(
    runner: Runner,
    task: Task,
    precision: Precision,
    case: Case,
    seeds: tuple[int, int],
    steps: tuple[Step, ...] = USUAL,
) -> CaseOutcome:
    """Make the calls of one case and compare what they leave behind: see `make_calls`."""
    with ThreadPoolExecutor(1) as beside:
        return make_calls(runner, task, precision, case, seeds, steps, beside=beside).outcome()


def make_calls(
    runner: Runner,
    task: Task,
    precision: Precision,
    case: Case,
    seeds: tuple[int, int],
    steps: tuple[Step, ...],
    *,
    beside: Executor,
    keep: bool = False,
) -> CallsMade:
    """Make the call of each step, until one is known to have failed, and have the answers compared `beside` them.

    `seeds` are those of the two data sets; with `keep` they stay on disk.

    Raises:
        Unsupported: the device can't run the case.
    """
    answers: list[Future[tuple[Status, CaseEvidence]]] = []
    loaded: int | None = None
    for step in steps:
        data = instance(task, case, precision, seeds[step.data], keep=keep)
        if step.new_pointers or step.data != loaded:
            with phase("load"):
                runner.load_case(case, data.memory, new_pointers=step.new_pointers)
            loaded = step.data
        with phase("call"):
            result = runner.call(step.pattern, data.positions)
        answers.append(beside.submit(judge_call, result, data, task, precision, case, seeds[step.data], step))
        if any(answer.done() and answer.result()[0] is not Status.PASS for answer in answers):
            break
    return CallsMade(case, seeds[0], answers)


def judge_call(
    result: CallResult, data: Instance, task: Task, precision: Precision, case: Case, seed: int, step: Step
) -> tuple[Status, CaseEvidence]:
    """Return the status of one call and its evidence."""

    def evidence(
        reason: str = "", output: str = "", ratio: float = 0.0, bad: int = 0, elements: int = 0
    ) -> CaseEvidence:
        text = f"{reason} [{step.means}]" if reason and step.means else reason
        return CaseEvidence(
            case=case.name, set=case.set, seed=seed, ok=not reason, reason=text, output=output,
            worst_ratio=ratio, bad_elements=bad, elements=elements,
        )  # fmt: skip

    if result.status != "ok":
        return Status(result.status), evidence(result.message or f"the call ended with {result.status}")
    if result.damage:
        return Status.WRONG, evidence("; ".join(result.damage))
    worst, elements = 0.0, 0
    for argument in task.contract.outputs:
        if argument.name in case.null:
            continue
        expected = data.expected[argument.name]
        found = compare(result.outputs[argument.name], expected, argument, precision, case.sizes, step.pattern)
        worst, elements = max(worst, found.worst_ratio), elements + found.elements
        unwritten = result.unwritten.get(argument.name, 0)
        if found.ok and expected.positions is not None and unwritten and step.pattern == PATTERNS[0]:
            # 0xFF is NaN: among what was not looked at, a right answer could hold it only where NaN is expected.
            reason = f"{unwritten:,} elements of {argument.name} were never written (they hold the fill pattern)"
            return Status.WRONG, evidence(reason, argument.name, found.worst_ratio, unwritten, found.elements)
        if not found.ok:
            return Status.WRONG, evidence(
                found.reason, argument.name, found.worst_ratio, found.bad_elements, found.elements
            )
    return Status.PASS, evidence(ratio=worst, elements=elements)
