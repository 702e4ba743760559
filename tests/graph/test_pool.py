"""The local pool: one worker's death costs its own call alone, and stopping loses nothing that is asked to drain."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cudamaster.graph.executor import Call, Died, Here
from cudamaster.graph.pool import FULL_KIB, Pool
from cudamaster.tests.graph.pool_calls import die, double, drain, fail, fill, visible


def test_a_worker_that_dies_costs_its_own_call_and_is_replaced() -> None:
    calls = [Call(double, (1,)), Call(die, ()), Call(double, (2,)), Call(fail, ()), Call(double, (3,))]
    pool = Pool(1)
    outcomes = dict(pool.run(calls[:3]))
    outcomes |= {place + 3: outcome for place, outcome in pool.run(calls[3:])}
    assert sorted(outcomes) == list(range(5))
    assert outcomes[1] == Died("its process was killed by SIGKILL")
    assert outcomes[3] == Died("it raised RuntimeError: a bug")
    assert [outcomes[place][0] for place in (0, 2, 4)] == [2, 4, 6]
    assert outcomes[0][1] != outcomes[2][1], "a dead worker is replaced"


def test_a_worker_takes_one_call_after_another() -> None:
    (_, (_, first)), (_, (_, second)) = Pool(1).run([Call(double, (1,)), Call(double, (2,))])
    assert first == second != os.getpid()


def test_what_the_process_that_starts_workers_holds_is_not_theirs() -> None:
    held = b"1" * ((FULL_KIB + 1024) << 10)
    (_, (_, first)), (_, (_, second)) = Pool(1).run([Call(double, (1,)), Call(double, (2,))])
    assert first == second
    assert len(held) > FULL_KIB << 10


def test_a_worker_that_held_much_memory_is_replaced() -> None:
    pids = [outcome for _, outcome in Pool(1).run([Call(fill, (8,)), Call(fill, (FULL_KIB >> 10,)), Call(fill, (8,))])]
    assert pids[0] == pids[1] != pids[2]


def test_workers_are_spread_over_the_gpus(tmp_path: Path) -> None:
    gpus = [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in ("GPU-a", "GPU-b")]
    outcomes = Pool(4, gpus).run([Call(visible, (tmp_path, 4))] * 4)
    assert sorted(gpu for _, gpu in outcomes) == ["GPU-a", "GPU-a", "GPU-b", "GPU-b"]


def test_a_worker_that_died_is_replaced_by_one_on_its_gpu(tmp_path: Path) -> None:
    gpus = [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in ("GPU-a", "GPU-b")]
    pool = Pool(2, gpus)
    _ = list(pool.run([Call(die, ()), Call(double, (1,))]))
    assert sorted(gpu for _, gpu in pool.run([Call(visible, (tmp_path, 2))] * 2)) == ["GPU-a", "GPU-b"]


def test_stopping_lets_the_running_call_end_and_begins_no_more(tmp_path: Path) -> None:
    pool, mark = Pool(1), tmp_path / "begun"
    with ThreadPoolExecutor(1) as thread:
        outcomes = thread.submit(list, pool.run([Call(drain, (mark,)), Call(double, (1,))]))
        while not mark.exists() and not outcomes.done():
            time.sleep(0.01)
        pool.stop()
        assert outcomes.result() == [(0, "drained")]
    assert list(pool.run([Call(double, (1,))])) == []


def test_a_worker_that_is_stopped_before_it_listens_is_no_death() -> None:
    pool = Pool(1)
    with ThreadPoolExecutor(1) as thread:
        outcomes = thread.submit(list, pool.run([Call(double, (1,))]))
        while not pool._busy and not outcomes.done():
            time.sleep(0.001)
        pool.stop()  # a worker takes a second to import what it needs
        assert all(not isinstance(outcome, Died) for _, outcome in outcomes.result())


def test_one_call_after_another_in_this_process_until_stopped() -> None:
    here = Here()
    outcomes = here.run([Call(double, (1,)), Call(double, (2,)), Call(double, (3,))])
    assert next(outcomes) == (0, (2, os.getpid()))
    here.stop()
    assert list(outcomes) == []
    with pytest.raises(RuntimeError, match="a bug"):
        list(Here().run([Call(fail, ())]))
