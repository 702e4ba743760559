"""Phases are noted by path, in all threads, and only while somebody records."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from cudamaster.tools.phases import phase, recorded_phases


def test_phases_are_noted_by_path() -> None:
    with recorded_phases() as seconds:
        with phase("time"):
            for _ in range(3):
                with phase("load"):
                    pass
        with phase("load"):
            pass
    assert seconds.keys() == {"time", "time/load", "load"}
    assert seconds["time"] >= seconds["time/load"] >= 0


def test_each_thread_has_its_own_path() -> None:
    def work(_: int) -> None:
        with phase("data"), phase("draw"):
            pass

    with recorded_phases() as seconds, phase("verify"), ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(8)))
    assert seconds.keys() == {"verify", "data", "data/draw"}


def test_nothing_is_noted_before_or_after() -> None:
    with phase("early"):
        pass
    with recorded_phases() as seconds:
        pass
    with phase("late"):
        pass
    assert seconds == {}


def test_a_phase_that_fails_is_noted_and_left() -> None:
    with recorded_phases() as seconds:
        with pytest.raises(KeyError), phase("one"):
            raise KeyError
        with phase("two"):
            pass
    assert seconds.keys() == {"one", "two"}
