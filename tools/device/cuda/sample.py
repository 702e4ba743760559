"""Times a few calls of several libraries: enough to drop what is clearly slower, and no measurement of a gain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from statistics import median
from typing import Final

from ....benchmark.task import Case
from ..port import CallResult, Sampler
from ..runner.client import RunnerProcess
from ..runner.shared_inputs import SharedInputs

_LONG_US: Final = 10_000.0
"""After so much of a library's time at a case no more calls are made."""


@contextmanager
def sampling_on_gpu(
    open_runner: Callable[[int], RunnerProcess],
    libraries: int,
    data: Sequence[tuple[Case, SharedInputs]],
    hold: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[Sampler]:
    """Keep a process for each library, and time these as often as is asked.

    Libraries take two turns at each case, the second in the opposite order. `hold` returns a context that has the GPU
    to itself; processes start and end outside.
    """
    with ThreadPoolExecutor(libraries) as pool:
        starting = [pool.submit(open_runner, number) for number in range(libraries)]
        try:
            wait(starting)
            runners = [start.result() for start in starting]

            def sample(numbers: Sequence[int], calls: int) -> dict[int, tuple[float, ...]]:
                times: dict[int, list[float]] = {number: [] for number in numbers}
                with hold():
                    for case, arrays in data:
                        load = partial(RunnerProcess.load_case, case=case, arrays=arrays)
                        list(pool.map(load, (runners[number] for number in numbers)))
                        turns: dict[int, list[float]] = {number: [] for number in numbers}
                        for number in (*numbers, *reversed(numbers)):
                            turns[number] += _turn(runners[number], calls // 2)
                        for number, samples in turns.items():
                            times[number] += [median(samples)] if samples else []
                return {number: tuple(each) for number, each in times.items() if len(each) == len(data)}

            yield sample
        finally:
            opened = [start.result() for start in starting if start.exception() is None]
            wait([pool.submit(runner.close) for runner in opened])


def _turn(runner: RunnerProcess, calls: int) -> list[float]:
    """Time one call, and as many more as are short enough; nothing comes back where one failed."""
    first = runner.time("cold", 1, 0)
    if isinstance(first, CallResult):
        return []
    more = min(calls - 1, int(_LONG_US / max(first.device_us[0], 1e-3)))
    if more < 1:
        return [*first.device_us]
    timed = runner.time("cold", more, 0)
    return [] if isinstance(timed, CallResult) else [*first.device_us, *timed.device_us]
