"""Two processes take turns; what the candidate can fake is looked at from other sides."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Case, Expected
from cudamaster.tools.device.cuda.gains import mean_gain
from cudamaster.tools.device.cuda.samples import CaseTimes, SideTimes, schedule
from cudamaster.tools.device.cuda.timing import _enough, compare_on_gpu
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.device.port import CallFailed, CallResult
from cudamaster.tools.device.runner.client import RunnerProcess
from cudamaster.tools.records import Interval, Speedup

from ..runner.conftest import GOOD, make_arrays, make_case, make_task

Start = Callable[..., RunnerProcess]


def taking(microseconds: float, body: str = GOOD, wall: float | None = None) -> str:
    claims = f'setenv("FAKE_US", "{microseconds}", 1);'
    if wall is not None:
        claims += f' setenv("FAKE_WALL_US", "{wall}", 1);'
    return f"{{ {claims} {body.strip()[1:]}"


def compared(start: Start, baseline: str, candidate: str, *cases: Case, min_bytes: int = 0, **options: Any) -> Speedup:
    task = dataclasses.replace(make_task(), min_bytes=lambda s, p: min_bytes, complexity=lambda s: s["N"])
    sources = {"baseline": baseline, "candidate": candidate}
    return compare_on_gpu(
        lambda side: start(sources[side]), task, Precision.FP32,
        [(case, make_arrays(n := case.sizes["N"]), truth(n)) for case in cases or (make_case(1000),)], gpu_model(),
        lambda _: 1980.0, **options,
    )  # fmt: skip


def truth(n: int) -> dict[str, Expected]:
    y = 2.5 * np.arange(n) + 3
    return {"y": Expected(y, np.full(n, 1e-3)), "z": Expected(np.full(n, 10.5)), "extra": Expected(np.full(n, 20.0))}


def test_speedup_floor_and_efficiency(start: Start) -> None:
    speedup = compared(start, taking(100), taking(25), make_case(1000), make_case(3000))
    assert speedup.geomean.value == pytest.approx(4)
    assert speedup.geomean.low == pytest.approx(4, rel=0.02)  # no better than the clock
    assert speedup.weighted == pytest.approx(4)
    assert [c.floor_us for c in speedup.cases] == [2.5, 2.5]
    assert speedup.efficiency == pytest.approx(0.1)
    assert speedup.notes == ()
    methods = {(t.library, t.method) for t in speedup.timings}
    assert len(methods) == 6
    assert all(t.sm_clock_mhz == 1980 for t in speedup.timings)


def test_a_claim_below_the_floor_is_suspect(start: Start) -> None:
    speedup = compared(start, taking(100), taking(2.0))
    assert any(n.startswith("suspect: 2.00 us is below 0.9 of the floor 2.50 us") for n in speedup.notes)
    assert not any(n.startswith("suspect") for n in compared(start, taking(100), taking(2.3)).notes)


def test_bytes_set_the_floor_beyond_what_the_l2_keeps(start: Start) -> None:
    # 1000 floats are written: they may stay in the L2 and don't count.
    reads = 480_000_000
    speedup = compared(start, taking(900), taking(200), min_bytes=reads + 3 * 4000)
    assert speedup.cases[0].floor_us == pytest.approx(reads / (gpu_model().dram_gbps * 1e3))


def test_scattered_times_are_noisy(start: Start) -> None:
    there = with_offsets(start, [0.0] * 8, [0.0, 20.0] * 4)
    assert any(n.startswith("noisy:") for n in compared(there, offset(1), offset(1) + "//").notes)


def test_work_that_the_events_did_not_see_is_suspect(start: Start) -> None:
    notes = compared(start, taking(1000), taking(50, wall=900)).notes
    assert any("claims 50.0 us per call, the host's clock saw 900 us" in n for n in notes)


def test_a_forged_clock_is_suspect(start: Start) -> None:
    slow = GOOD.replace("{\n", "{ usleep(3000);\n", 1)
    notes = compared(start, taking(1000), taking(50, slow)).notes
    assert any("the driver saw about" in n for n in notes)


@pytest.mark.parametrize(
    ("lazy", "says"),
    [
        (
            GOOD.replace("{", "{ static int c; if (c++ < 1)", 1),
            "were not written",
        ),
        (
            GOOD.replace("{", "{ static int c; if (c++ > 9) alpha *= 1.00001;", 1),
            "times the bound",
        ),
        (
            GOOD.replace("{", "{ static int c; if (c++ > 9) y[n] = 1;", 1),
            "memory after",
        ),
        (
            GOOD.replace("{", "{ if (x[0] != 0) alpha *= 1.001;", 1),
            "differ from the baseline's",
        ),
    ],
)
def test_a_candidate_that_slackens_while_it_is_timed_is_suspect(start: Start, lazy: str, says: str) -> None:
    notes = compared(start, taking(100), taking(50, lazy)).notes
    assert any(n.startswith("suspect: in a timed call") and says in n for n in notes)


def test_each_timed_call_gets_other_data_and_a_checked_one_the_cases_own(start: Start) -> None:
    runner, n = start(taking(10)), 1000
    runner.load_case(make_case(n), make_arrays(n))
    runner.call()
    own = truth(n)["y"].value.astype(np.float32)

    def left(turn: float | None) -> np.ndarray:
        assert not isinstance(runner.time("cold", 3, 0, turn=turn), CallResult)
        result = runner.last_outputs()
        assert result.damage == ()
        np.testing.assert_array_equal(result.outputs["z"], np.full(n, 10.5, np.float32))
        return result.outputs["y"]

    np.testing.assert_array_equal(left(0.0), own)
    turned = left(0.25)
    np.testing.assert_array_equal(turned[250:], np.roll(own, -250)[250:])
    assert set(turned[:250]) < set(own)
    assert turned.sum() != own.sum()
    turned = left(None)
    assert turned.tobytes() != left(None).tobytes()
    assert runner.call().outputs["y"].tobytes() == own.tobytes()


def test_threads_that_timed_calls_leave_behind_are_suspect(start: Start) -> None:
    body = GOOD.replace("{", "{ static int c; if (c++ == 5) { pthread_t t; pthread_create(&t, 0, wait_on, 0); }", 1)
    wait = "#include <pthread.h>\nstatic void* wait_on(void*) { for (;;) sleep(1); }"
    notes = compared(lambda body: start(body, before=wait), taking(100), taking(50, body)).notes
    assert any("threads were started and are still there after the call" in n for n in notes)


def test_a_failing_side_is_named(start: Start) -> None:
    with pytest.raises(CallFailed) as caught:
        compared(start, taking(100), "{ return 1; }")
    assert (caught.value.library, caught.value.result.status) == ("candidate", "launch_error")
    with pytest.raises(CallFailed) as caught:
        compared(start, "{ abort(); }", taking(100))
    assert (caught.value.library, caught.value.result.status) == ("baseline", "crash")
    late = GOOD.replace("{\n", "{ static int c; if (c++ > 20) abort();\n", 1)
    with pytest.raises(CallFailed) as caught:
        compared(start, taking(100), late)
    assert caught.value.result.status == "crash"


def test_longer_calls_and_bigger_data_are_timed_less_often() -> None:
    plans = [schedule(us, 0) for us in (3, 500, 5_000, 50_000)]
    counts = [p.processes * p.turns * p.calls for p in plans]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] >= 2  # what a single process says has no interval
    assert schedule(500, 1 << 30).processes < schedule(500, 0).processes


def offset(launches: int) -> str:
    """A process in which every launch takes longer by so much as its environment says, empty ones too."""
    return f"""{{ char t[32]; snprintf(t, 32, "%f", 20 + {launches} * atof(getenv("FAKE_OFFSET_US")));
      setenv("FAKE_US", t, 1); {GOOD.strip()[1:]}"""


def with_offsets(start: Start, baseline: Sequence[float], candidate: Sequence[float]) -> Start:
    left = {offset(1): list(baseline), offset(1) + "//": list(candidate)}
    return lambda body, **more: start(
        body, before="#include <stdio.h>", environment={"FAKE_OFFSET_US": str(left[body].pop(0))}
    )


def test_what_a_process_adds_to_every_launch_is_taken_off() -> None:
    def side(offsets_us: Sequence[float]) -> SideTimes:
        return SideTimes(
            cold=[(20.0 + more,) * 24 for more in offsets_us], empty=[(2.5 + more,) * 120 for more in offsets_us]
        )

    times = CaseTimes(make_case(1000), side([0.0, 0.1, 0.2, 0.0] * 2), side([0.2, 0.1, 0.1, 0.2] * 2))
    gain = mean_gain([times])
    assert gain.value == pytest.approx(1, abs=1e-6)
    assert gain.high < 1.01, "no more than the clock's step"


def test_a_forged_empty_launch_gains_next_to_nothing(start: Start) -> None:
    there = with_offsets(start, [0.0] * 8, [5.0] * 8)
    speedup = compared(there, offset(1), offset(1) + "//")
    assert speedup.geomean.value == pytest.approx(20 / 25, rel=0.02)


def test_each_library_has_its_own_schedule(start: Start) -> None:
    speedup = compared(start, taking(30_000), taking(50))
    cold = {t.library: t.samples for t in speedup.timings if t.method == "cold"}
    assert cold == {"baseline": 2, "candidate": 3 * 24}
    assert speedup.geomean.value == pytest.approx(600, rel=1e-3)


def test_only_results_near_one_need_all_pairs(start: Start) -> None:
    samples = {}
    for candidate_us in (105, 50):
        speedup = compared(start, taking(100), taking(candidate_us))
        samples[candidate_us] = {t.samples for t in speedup.timings if t.method == "cold"}
    assert samples == {105: {8 * 24}, 50: {3 * 24}}


@pytest.mark.parametrize(("to_beat", "pairs"), [(3.0, 2), (1.92, 2), (1.5, 2), (1.0, 2), (None, 3)])
def test_a_gain_is_known_well_enough_once_it_is_above_or_below_the_one_to_beat(
    start: Start, to_beat: float | None, pairs: int
) -> None:
    speedup = compared(start, taking(100), taking(50), to_beat=to_beat)
    assert {t.samples for t in speedup.timings if t.method == "cold"} == {pairs * 24}


def test_a_gain_that_may_or_may_not_be_above_the_one_to_beat_needs_all_pairs() -> None:
    gain = Interval(value=2.0, low=1.92, high=2.08)
    assert [_enough(gain, pairs=3, to_beat=beat) for beat in (1.8, 1.95, 1.97, 2.2)] == [True, False, False, True]
    rough = Interval(value=2.0, low=1.6, high=2.4)
    assert [_enough(rough, pairs=3, to_beat=beat) for beat in (1.0, 3.0)] == [False, True]


@pytest.mark.parametrize(("late", "suspect"), [((1,), False), ((0, 1, 2), True)])
def test_what_a_busy_host_does_to_a_process_or_two_is_no_suspicion(
    start: Start, late: Sequence[int], suspect: bool
) -> None:
    """The host's clock saw more than a candidate claims: in one of its first processes, or in most."""
    count = iter(range(100))
    body = taking(4_000).replace("{", '{ setenv("FAKE_WALL_US", getenv("WALL_US"), 1);', 1)

    def opened(text: str) -> RunnerProcess:
        if text != body:
            return start(text)
        return start(text, environment={"WALL_US": "9000" if next(count) in late else "4100"})

    speedup = compared(opened, taking(4_000), body)
    assert any(note.startswith("suspect: claims") for note in speedup.notes) == suspect
    assert {t.samples for t in speedup.timings if (t.method, t.library) == ("cold", "candidate")} == {5}


def test_the_gpu_is_held_while_a_pair_is_timed_and_not_while_it_starts(start: Start) -> None:
    seen = []

    @contextlib.contextmanager
    def hold() -> Iterator[None]:
        seen.append("held")
        yield
        seen.append("free")

    def opened(text: str) -> RunnerProcess:
        seen.append("start")
        return start(text)

    compared(opened, taking(100), taking(50), hold=hold)
    assert seen == ["start", "start", "held", "free"] * 3


def test_cases_timed_in_different_processes_share_a_mean(start: Start) -> None:
    body = '{ setenv("FAKE_US", n > 2000 ? "30000" : "100", 1);' + GOOD.strip()[1:]
    speedup = compared(start, body, taking(50), make_case(1000), make_case(3000))
    assert [c.ratio.value for c in speedup.cases] == pytest.approx([2, 600], rel=1e-3)
    assert speedup.geomean.value == pytest.approx((2 * 600) ** 0.5, rel=1e-3)
