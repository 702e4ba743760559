from __future__ import annotations

import math

from cudamaster.evals.report.svg import Axis, log_axis, number
from hypothesis import given
from hypothesis import strategies as st

positive = st.floats(1e-6, 1e9)


@given(st.lists(positive, min_size=1, max_size=20), st.integers(2, 9))
def test_a_logarithmic_axis_holds_its_values_and_few_round_ticks(values: list[float], most: int) -> None:
    axis = log_axis(values, 10.0, 400.0)
    assert all(10.0 <= axis.at(value) <= 400.0 for value in values)
    assert [axis.at(v) for v in sorted(values)] == sorted(axis.at(v) for v in values)
    ticks = axis.ticks(most)
    assert len(ticks) <= most + 1
    for tick in ticks:
        digit = tick / 10 ** math.floor(math.log10(tick) + 1e-9)
        assert min(abs(digit - d) for d in (1, 2, 3, 5)) < 1e-6
        assert 10.0 <= axis.at(tick) <= 400.0


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_a_linear_axis_has_equal_steps(low: float, span: float) -> None:
    axis = Axis(low, low + span, 0.0, 100.0)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(-0.01 <= axis.at(tick) <= 100.01 for tick in ticks)


def test_numbers_are_short() -> None:
    told = [number(v) for v in (0.00012, 1.0, 12.34, 999.6, 1234.0, 45_000.0, 2.5e6, 7e9, 1e12)]
    assert told == ["0.00012", "1", "12.3", "1000", "1234", "45k", "2.5M", "7G", "1T"]
