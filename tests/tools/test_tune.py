"""The search keeps the quickest version, spends more calls on fewer, and never trades one for what is as good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Task
from cudamaster.tools import tune as tool
from cudamaster.tools.device.port import Sampler
from cudamaster.tools.records import Build, Candidate
from cudamaster.tools.tunables import tunables

SOURCE = "constexpr int rows = 8;  // tune: 8 4 16 2\n"


class Timed:
    """A device on which a version takes what its constant says; `fails` and `breaks` are values that do not."""

    name = "cuda"

    def __init__(self, us: dict[int, Sequence[float]], fails: frozenset[int], breaks: frozenset[int]) -> None:
        self.us, self.fails, self.breaks = us, fails, breaks
        self.rungs: list[tuple[list[int], int]] = []

    def build(self, candidate: Candidate, task: Task, precision: Precision) -> Build:
        rows = tunables(candidate.source)[0].value
        return Build(ok=rows not in self.breaks, library=str(rows), log="")

    @contextmanager
    def sampling(self, builds: Sequence[Build], task: Task, precision: Precision) -> Iterator[Sampler]:
        rows = [int(build.library) for build in builds]

        def sample(numbers: Sequence[int], calls: int) -> dict[int, tuple[float, ...]]:
            self.rungs.append(([rows[number] for number in numbers], calls))
            return {number: tuple(self.us[rows[number]]) for number in numbers if rows[number] not in self.fails}

        yield sample


def search(
    monkeypatch: pytest.MonkeyPatch,
    us: dict[int, Sequence[float]],
    fails: frozenset[int] = frozenset(),
    breaks: frozenset[int] = frozenset(),
) -> tuple[int, Timed, str]:
    device = Timed(us, fails, breaks)
    monkeypatch.setattr(tool, "get_device", lambda name: device)
    asked = {"source": SOURCE, "names": ["rows"], "task": "relu", "precision": "fp32"}
    answer = tool.tune.invoke(asked)
    assert answer["status"] == "ok"
    (found,) = tunables(answer["source"])
    assert answer["build"]["library"] == str(found.value)
    return found.value, device, answer["found"]


def test_the_better_half_goes_on_with_twice_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    best, device, said = search(monkeypatch, {8: [10.0], 4: [9.0], 16: [5.0], 2: [20.0]})
    assert best == 16
    assert device.rungs == [([8, 4, 16, 2], 6), ([8, 4, 16], 12), ([8, 16], 24)]
    assert said == "rows=16 of 4 versions: 100.0% quicker than the first guess"


def test_all_sizes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    best, _, _ = search(monkeypatch, {8: [10.0, 10.0], 4: [5.0, 30.0], 16: [9.0, 9.0], 2: [30.0, 4.0]})
    assert best == 16


def test_what_is_as_good_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    best, _, said = search(monkeypatch, {8: [10.0], 4: [9.8], 16: [10.0], 2: [11.0]})
    assert best == 8
    assert said == "rows=8 of 4 versions: as it was"


def test_versions_that_fail_or_do_not_build_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {8: [10.0], 4: [9.0], 16: [5.0], 2: [4.0]}
    best, _, _ = search(monkeypatch, times, fails=frozenset({16}), breaks=frozenset({2}))
    assert best == 4


@pytest.mark.parametrize("how", ["fails", "breaks"])
def test_a_source_that_fails_is_left_to_the_judge(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    best, _, _ = search(monkeypatch, {8: [10.0], 4: [9.0], 16: [5.0], 2: [4.0]}, **{how: frozenset({8})})
    assert best == 8
