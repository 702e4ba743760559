from __future__ import annotations

import numpy as np
import pytest
from cudamaster.tools.device.cuda.bootstrap import interval, median_interval, ratio_draws


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def blocks(center: float, seed: int, turn_noise: float = 0.0) -> list[list[float]]:
    noise = rng(seed)
    return [list(center * (1 + turn_noise * noise.normal()) * (1 + 0.01 * noise.normal(size=8))) for _ in range(8)]


def test_equal_sides_cover_one_about_as_often_as_they_should() -> None:
    covered = 0
    for seed in range(60):
        value, draws = ratio_draws(blocks(100, seed, 0.005), blocks(100, 1000 + seed, 0.005), rng(seed))
        found = interval(value, draws)
        covered += found.low <= 1 <= found.high
    assert covered >= 52


def test_a_true_ratio_is_found() -> None:
    value, draws = ratio_draws(blocks(200, 1), blocks(100, 2), rng())
    found = interval(value, draws)
    assert found.low <= 2 <= found.high
    assert found.high - found.low < 0.05


def test_variation_between_turns_widens_the_interval() -> None:
    def width(turn_noise: float) -> float:
        value, draws = ratio_draws(blocks(100, 1, turn_noise), blocks(100, 2, turn_noise), rng())
        found = interval(value, draws)
        return found.high - found.low

    assert width(0.03) > 2 * width(0.0)


def test_turns_of_unequal_number_and_length() -> None:
    value, _ = ratio_draws([[4.0, 4.0], [4.0]], [[2.0, 2.0], [2.0, 2.0], [2.0]], rng())
    assert value == 2


def test_an_interval_holds_its_value() -> None:
    found = interval(5.0, np.array([1.0, 2.0, 3.0]))
    assert (found.value, found.high) == (5.0, 5.0)
    assert median_interval([3.0], rng()).value == pytest.approx(3.0)
