"""Several libraries are timed beside each other, a few calls each, under the GPU's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from cudamaster.tools.device.cuda.sample import sampling_on_gpu
from cudamaster.tools.device.runner.client import RunnerProcess
from cudamaster.tools.device.runner.shared_inputs import shared

from ..runner.conftest import GOOD, make_arrays, make_case

Start = Callable[..., RunnerProcess]


def taking(us: float) -> str:
    """Return a candidate that says of its calls that they last so long."""
    return GOOD.replace("{\n", f'{{ setenv("FAKE_US", "{us}", 1);\n', 1).replace(
        "#include", "#include <stdlib.h>\n#include", 1
    )


def test_each_library_has_a_time_at_each_case(start: Start) -> None:
    held: list[str] = []

    @contextmanager
    def hold() -> Iterator[None]:
        held.append("held")
        yield

    sources = [taking(30.0), taking(10.0), taking(20_000.0)]

    def opened(number: int) -> RunnerProcess:
        assert not held, "processes start before the GPU is held"
        return start(sources[number])

    data = [(make_case(size), shared(make_arrays(size))) for size in (100, 200)]
    with sampling_on_gpu(opened, 3, data, hold) as sample:
        assert sample([0, 1, 2], 6) == {0: (30.0, 30.0), 1: (10.0, 10.0), 2: (20_000.0, 20_000.0)}
        assert sample([0, 1], 12) == {0: (30.0, 30.0), 1: (10.0, 10.0)}
    assert held == ["held"] * 2


def test_one_that_fails_costs_the_others_nothing(start: Start) -> None:
    broken = GOOD.replace("return 0", "return 1")
    data = [(make_case(100), shared(make_arrays(100)))]
    runners: list[RunnerProcess] = []

    def opened(number: int) -> RunnerProcess:
        runners.append(start(broken if number else taking(5.0)))
        return runners[-1]

    with sampling_on_gpu(opened, 2, data) as sample:
        assert sample([0, 1], 6) == {0: (5.0,)}
    assert all(runner.dead for runner in runners), "all processes were ended"


def test_processes_end_when_one_does_not_start(start: Start) -> None:
    runners: list[RunnerProcess] = []

    def opened(number: int) -> RunnerProcess:
        if number:
            raise OSError("no memory")
        runners.append(start(GOOD))
        return runners[-1]

    with pytest.raises(OSError, match="no memory"), sampling_on_gpu(opened, 2, []):
        pass
    assert runners[0].dead
