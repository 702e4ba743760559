"""One piece of work on the baselines, on kernels that are Python functions and a clock that is a list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from cudamaster.benchmark.task import CaseSet
from cudamaster.evals import measure_baseline as module
from cudamaster.evals.baseline_records import Failed, TimedCase
from cudamaster.evals.measure_baseline import time_baseline
from cudamaster.tests.tools.judge.fake_device import FakeRunner, honest
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.device.port import CallResult, DeviceUnavailable
from cudamaster.tools.device.runner.client import RunnerFault, TimedCalls
from cudamaster.tools.records import Build

CASES = ["N=1024 uniform", "N=4096 uniform"]


class Runner(FakeRunner):
    """A runner with a clock; it notes whether the GPU is held."""

    def __init__(self, machine: Machine, hold: Any, *rest: Any) -> None:
        super().__init__(machine.kernel, *rest)
        self.held, self.cold_us, self.hold, self.dead = machine.held, machine.cold_us, hold, None
        self.timed: list[tuple[str, int]] = []

    def load_case(self, case: Any, arrays: Any, *, new_pointers: bool = True) -> None:
        assert not self.held, "others wait while data are copied"
        super().load_case(case, arrays, new_pointers=new_pointers)

    def call(self, poison: int = 0xFF, positions: Any = None) -> CallResult:
        assert self.held, "a call may disturb a timing"
        result: CallResult = super().call(poison, positions)
        if result.status == "crash":
            self.dead = result
        return result

    def time(self, method: str, repetitions: int, walls: int = 1) -> TimedCalls:
        assert self.held
        self.timed.append((method, repetitions))
        return TimedCalls(tuple(self.cold_us + i for i in range(repetitions)), (), 1.0, repetitions, 0.1)


class Machine:
    """What stands in for a GPU: the kernel it runs, how long that takes, and the runners started."""

    def __init__(self) -> None:
        self.kernel: Any = honest
        self.cold_us = 10.0
        self.held: list[bool] = []
        self.started: list[Runner] = []

    @contextmanager
    def hold(self, *_: Any, **__: Any) -> Iterator[None]:
        assert not self.held
        self.held.append(True)
        yield
        self.held.pop()

    def start(self, *arguments: Any, hold: Any, **_: Any) -> Runner:
        self.started.append(Runner(self, hold, *arguments[2:4]))
        return self.started[-1]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    device = SimpleNamespace(
        facts=SimpleNamespace(uuid="gpu"), gpu=gpu_model(), host_program="host", environment={},
        build=lambda *_: Build(ok=True, library="k.so"),
    )  # fmt: skip
    monkeypatch.setattr(module, "CudaDevice", lambda: device)
    monkeypatch.setattr(module, "gpu_lock", made.hold)
    monkeypatch.setattr(module, "RunnerProcess", made.start)
    return made


def times(found: list[Any]) -> list[tuple[str, float | None, int]]:
    return [(record.status, record.time_us, record.calls) for record in found if isinstance(record, TimedCase)]


@pytest.mark.parametrize(("cold_us", "calls"), [(10.0, 11), (3_000.0, 3), (80_000.0, 1)])
def test_right_baselines_are_timed_less_often_the_longer_they_are(machine: Machine, cold_us: float, calls: int) -> None:
    machine.cold_us = cold_us
    found = time_baseline("relu", "fp32", CaseSet.PAPER, CASES)
    assert [(status, count) for status, _, count in times(found)] == [("pass", calls)] * 2
    assert all(us is not None and cold_us <= us < cold_us + 10 for _, us, _ in times(found))
    assert len(machine.started) == 1
    assert machine.started[0].closed


def test_small_cases_are_judged_and_not_timed(machine: Machine) -> None:
    found = time_baseline("relu", "bf16", CaseSet.SMALL, ["N=1 uniform"])
    assert times(found) == [("pass", None, 0)]
    assert machine.started[0].timed == []


def test_a_wrong_baseline_is_not_timed(machine: Machine) -> None:
    machine.kernel = lambda call: call.write({"out": call.numbers()["in"] + 1})
    found = time_baseline("relu", "fp32", CaseSet.PAPER, CASES)
    assert times(found) == [("wrong", None, 0)] * 2
    assert machine.started[0].timed == []


def test_a_process_that_died_is_started_again_for_the_next_case(machine: Machine) -> None:
    machine.kernel = lambda call: CallResult("crash", "gone") if call.case.sizes["N"] == 1024 else honest(call)
    found = time_baseline("relu", "fp32", CaseSet.PAPER, CASES)
    assert [status for status, _, _ in times(found)] == ["crash", "pass"]
    assert len(machine.started) == 2


def test_a_library_that_dies_as_it_is_loaded_is_a_verdict_for_each_case(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.kernel = lambda _: CallResult("crash", "gone")

    def dead(*arguments: Any, **known: Any) -> Runner:
        runner = machine.start(*arguments, **known)
        runner.dead = CallResult("crash", "it could not be loaded")
        return runner

    monkeypatch.setattr(module, "RunnerProcess", dead)
    found = time_baseline("relu", "fp32", CaseSet.PAPER, CASES)
    assert [status for status, _, _ in times(found)] == ["crash", "crash"]
    assert len(machine.started) == 2


def test_faults_of_the_machine_are_failures_not_verdicts(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise RunnerFault("no context")

    monkeypatch.setattr(module, "RunnerProcess", refuse)
    (failed,) = time_baseline("relu", "fp32", CaseSet.PAPER, CASES)
    assert isinstance(failed, Failed)
    assert "no context" in failed.reason


def test_a_source_that_does_not_build_fails_with_the_log(machine: Machine) -> None:
    module.CudaDevice().build = lambda *_: Build(ok=False, log="k.cu(3): error")  # type: ignore[method-assign]
    (failed,) = time_baseline("relu", "fp32", CaseSet.PAPER, CASES)
    assert isinstance(failed, Failed)
    assert "k.cu(3): error" in failed.reason


def test_a_profile_that_is_not_to_be_had_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from cudamaster.tools import nvcc

    def none(*_: Any, **__: Any) -> Any:
        raise DeviceUnavailable("no GPU answers")

    monkeypatch.setattr(nvcc, "get_device", none)
    (failed,) = module.profile_baseline("relu", "fp32", "cuda")
    assert isinstance(failed, Failed)
    assert "no GPU answers" in failed.reason
