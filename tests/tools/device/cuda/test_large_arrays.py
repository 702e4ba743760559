"""Arrays of many pieces move in several threads at once, and every piece counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cudamaster.tools.device.runner.client import RunnerProcess

from ..runner.conftest import GOOD, make_arrays, make_case

Start = Callable[..., RunnerProcess]
N = 2_500_000
"""10 MB an array: ten pieces."""
LATE = 2_100_001
POSITIONS = {name: np.array([0, 1, 1_048_575, 1_048_576, LATE, N - 1]) for name in ("y", "z", "extra")}


def test_samples_come_from_every_piece(start: Start) -> None:
    with start(GOOD) as runner:
        runner.load_case(make_case(N), make_arrays(N))
        result = runner.call(positions=POSITIONS)
    assert result.damage == ()
    assert result.unwritten == {"y": 0, "extra": 0}
    x = np.arange(N, dtype=np.float32)
    assert np.array_equal(result.outputs["y"], 2.5 * x[POSITIONS["y"]] + 3)
    assert set(result.outputs["z"]) == {10.5}


def test_what_was_not_written_is_counted_in_every_piece(start: Start) -> None:
    lazy = GOOD.replace("y[i] = ", "if (i % 1000) y[i] = ")
    with start(lazy) as runner:
        runner.load_case(make_case(N), make_arrays(N))
        assert runner.call(positions=POSITIONS).unwritten == {"y": N // 1000, "extra": 0}


def test_the_first_changed_byte_of_an_input_is_named(start: Start) -> None:
    changed = "".join(f"const_cast<float*>(x)[{i}] = -1;" for i in (LATE, LATE + 1, N - 1))
    with start(GOOD.replace("return 0", f"{changed} return 0")) as runner:
        runner.load_case(make_case(N), make_arrays(N))
        (damage,) = runner.call(positions=POSITIONS).damage
    assert f"input 'x' was changed, first at byte {4 * LATE}" in damage


def test_the_hash_of_outputs_sees_every_piece(start: Start) -> None:
    drifting = GOOD.replace("{\n", "{ static int calls;\n", 1).replace("return 0", f"y[{LATE}] += calls++; return 0")
    with start(GOOD) as good, start(drifting) as bad:
        for runner in (good, bad):
            runner.load_case(make_case(N), make_arrays(N))
        assert len(set(good.repeat(3))) == 1
        assert len(set(bad.repeat(3))) == 3


def test_outputs_alone_are_picked_from_every_piece(start: Start) -> None:
    changed = GOOD.replace("return 0", f"const_cast<float*>(x)[{LATE}] = -1; return 0")
    with start(changed) as runner:
        runner.load_case(make_case(N), make_arrays(N))
        runner.call(positions=POSITIONS)
        sampled = runner.last_outputs(POSITIONS)
        picked = runner.last_outputs(POSITIONS, outputs_only=True)
    assert sampled.damage
    assert picked.damage == ()
    assert picked.unwritten == {}
    assert picked.outputs.keys() == sampled.outputs.keys()
    assert all(np.array_equal(picked.outputs[name], sampled.outputs[name]) for name in sampled.outputs)


def test_a_smaller_case_after_a_larger_one_brings_back_its_own_values(start: Start) -> None:
    with start(GOOD) as runner:
        for size in (N, 1000, 7):
            runner.load_case(make_case(size), make_arrays(size))
            result = runner.call()
            assert result.damage == ()
            assert np.array_equal(result.outputs["y"], 2.5 * np.arange(size, dtype=np.float32) + 3)
