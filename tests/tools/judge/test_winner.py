"""The second look at winners: repeated calls, sizes in no list, a profiler's clock."""

from __future__ import annotations

from random import Random

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.tools.judge.fake_device import Call, FakeDevice, honest
from cudamaster.tools.device.port import Unsupported
from cudamaster.tools.judge.unlisted import tuned_to_sizes, unlisted_cases
from cudamaster.tools.judge.winner import second_look
from cudamaster.tools.records import (
    Build,
    CaseGain,
    Interval,
    LaunchProfile,
    Metric,
    Profile,
    Speedup,
    Status,
    Verdict,
)  # fmt: skip

BUILD = Build(ok=True, library=__file__)
GELU = load_task("gelu")
GOOD = Verdict(status=Status.PASS, summary="right")


def speedup(cases, ratio=4.0, candidate_us=10.0, notes=()) -> Speedup:
    interval = Interval(value=ratio, low=ratio, high=ratio)
    gains = tuple(
        CaseGain(
            case=c.name, set=c.set, complexity=GELU.complexity(c.sizes), baseline_us=ratio * candidate_us,
            candidate_us=candidate_us, ratio=interval,
        )
        for c in cases
    )  # fmt: skip
    return Speedup(cases=gains, geomean=interval, weighted=ratio, notes=notes)


class Measuring(FakeDevice):
    """A fake GPU: it times, and has a profiler."""

    profiled_us = 9.0
    elsewhere = 4.0
    notes: tuple[str, ...] = ()

    def compare(self, baseline, candidate, task, precision, cases, to_beat=None):
        return speedup(cases, self.elsewhere, notes=self.notes)

    def profile(self, build, task, precision, case):
        if not self.profiled_us:
            raise Unsupported("no profiler here")
        metrics = {"duration_us": Metric(value=self.profiled_us, unit="us")}
        launch = LaunchProfile(kernel="k", grid=(1, 1, 1), block=(1, 1, 1), metrics=metrics)
        return Profile(device="cuda", gpu="none", case=case.name, launches=(launch,))


def looked_at(device: FakeDevice) -> Verdict:
    gain = speedup(device.timed_cases(GELU))
    return second_look(GOOD, gain, BUILD, BUILD, GELU, Precision.FP32, device)


def test_an_honest_winner_stays_one_with_notes():
    verdict = looked_at(Measuring(honest))
    assert verdict.passed
    said = "; ".join(verdict.notes)
    assert "10 calls with the same data gave the same bits" in said
    assert "sizes in no list gain as much: 4x" in said
    assert "times agree with a profiler's" in said
    assert len(verdict.cases) == 2


def test_a_loser_is_not_looked_at():
    lost = Verdict(status=Status.WRONG, summary="wrong")
    assert second_look(lost, None, BUILD, BUILD, GELU, Precision.FP32, FakeDevice()) is lost


def test_a_call_that_goes_wrong_at_last_is_found():
    calls = []

    def tires(call: Call) -> None:
        calls.append(1)
        if len(calls) % 10 != 9:
            honest(call)

    verdict = looked_at(Measuring(tires))
    assert verdict.status is Status.WRONG
    assert "called 10 times with the same data" in verdict.summary


def test_answers_that_differ_in_their_last_bits_are_told():
    calls = []

    def wavers(call: Call) -> None:
        honest(call)
        calls.append(1)
        out = call.memory["out"]
        out[0] = out[0] * (1 + len(calls) % 2 * 1e-7)

    assert "gave 2 answers, all within the error bounds" in looked_at(Measuring(wavers)).notes[0]


def test_wrong_at_a_size_in_no_list_is_wrong():
    listed = {case.sizes["N"] for case in GELU.cases}

    def knows_the_list(call: Call) -> None:
        if call.case.sizes["N"] in listed:
            honest(call)

    verdict = looked_at(Measuring(knows_the_list))
    assert verdict.status is Status.WRONG
    assert "never written" in verdict.summary


def test_much_less_at_sizes_in_no_list_is_told():
    device = Measuring(honest)
    device.elsewhere = 1.5
    verdict = looked_at(device)
    assert verdict.passed
    assert any(note.startswith("tuned to sizes: 1.5x at N=") for note in verdict.notes)


@pytest.mark.parametrize(("profiled_us", "status"), [(24.0, Status.PASS), (26.0, Status.SUSPECT), (0.0, Status.PASS)])
def test_a_claim_far_below_a_profilers_count_is_suspect(profiled_us, status):
    device = Measuring(honest)
    device.profiled_us = profiled_us
    verdict = looked_at(device)
    assert verdict.status is status
    if not profiled_us:
        assert any("no profiler here" in note for note in verdict.notes)


def test_a_suspicion_at_sizes_in_no_list_counts():
    device = Measuring(honest)
    device.notes = ("suspect: in a timed call nothing was written",)
    assert looked_at(device).status is Status.SUSPECT


@pytest.mark.parametrize("name", task_names())
def test_every_task_has_sizes_between_those_that_are_timed(name):
    task = load_task(name)
    timed = task.in_set(CaseSet.PAPER)
    for seed in range(20):
        found = unlisted_cases(task, timed, Random(seed))
        assert found or name == "fft", name
        for one in found:
            assert one.case.sizes not in [case.sizes for case in task.cases]
            assert task.legal(one.case)
            assert min(one.case.sizes.values()) >= 0
            costs = sorted(task.complexity(c.sizes) for c in timed if c.name in one.neighbours)
            assert task.complexity(one.case.sizes) <= 1.2 * costs[-1]


def test_the_least_of_the_neighbours_counts():
    timed = sorted(GELU.in_set(CaseSet.PAPER), key=lambda c: c.sizes["N"])
    found = unlisted_cases(GELU, timed, Random(1))
    there = speedup([one.case for one in found], 3.3)
    assert tuned_to_sizes(found, there, speedup(timed, 4.0)) == ()
    assert len(tuned_to_sizes(found, there, speedup(timed, 4.2))) == 2
