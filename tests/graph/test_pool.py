"""The local pool: one worker's death costs its own call alone, and stopping loses nothing that is asked to drain."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cudamaster.graph.executor import Call, Died, Here
from cudamaster.graph.pool import Pool
from cudamaster.tests.graph.pool_calls import die, double, drain, fail


def test_a_worker_that_dies_costs_its_own_call_and_is_replaced() -> None:
    calls = [Call(double, (1,)), Call(die, ()), Call(double, (2,)), Call(fail, ()), Call(double, (3,))]
    outcomes = dict(Pool(1).run(calls))
    assert sorted(outcomes) == list(range(5))
    assert outcomes[1] == Died("its process was killed by SIGKILL")
    assert outcomes[3] == Died("it raised RuntimeError: a bug")
    assert [outcomes[place][0] for place in (0, 2, 4)] == [2, 4, 6]
    first, second, third = (outcomes[place][1] for place in (0, 2, 4))
    assert first != second == third, "a worker takes one call after another, and is replaced only when it died"


def test_stopping_lets_the_running_call_end_and_begins_no_more(tmp_path: Path) -> None:
    pool, mark = Pool(1), tmp_path / "begun"
    with ThreadPoolExecutor(1) as thread:
        outcomes = thread.submit(list, pool.run([Call(drain, (mark,)), Call(double, (1,))]))
        while not mark.exists() and not outcomes.done():
            time.sleep(0.01)
        pool.stop()
        assert outcomes.result() == [(0, "drained")]


def test_one_call_after_another_in_this_process_until_stopped() -> None:
    here = Here()
    outcomes = here.run([Call(double, (1,)), Call(double, (2,)), Call(double, (3,))])
    assert next(outcomes) == (0, (2, os.getpid()))
    here.stop()
    assert list(outcomes) == []
    with pytest.raises(RuntimeError, match="a bug"):
        list(Here().run([Call(fail, ())]))
