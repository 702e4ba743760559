from __future__ import annotations

import numpy as np
import pytest
from cudamaster.tools.profile.otsu import histogram, otsu
from hypothesis import given
from hypothesis import strategies as st


def test_two_clusters_are_cut_between() -> None:
    found = otsu([1, 2, 3, 80, 85, 90])
    assert found.threshold == 41.5
    assert (found.below, found.above) == (3, 3)
    assert found.separation > 0.98


@given(st.lists(st.floats(0, 100), min_size=2, max_size=30).filter(lambda v: max(v) - min(v) > 1e-6))
def test_no_other_cut_separates_better(values: list[float]) -> None:
    found = otsu(values)
    ordered = np.sort(np.array(values))

    def between(cut: int) -> float:
        low, high = ordered[:cut], ordered[cut:]
        return len(low) * len(high) / len(ordered) ** 2 * float(low.mean() - high.mean()) ** 2

    best = max(between(cut) for cut in range(1, len(ordered)))
    assert between(found.below) >= best * (1 - 1e-6) - 1e-12
    assert 0 <= found.separation <= 1 + 1e-9
    assert sum(bar.count for bar in found.histogram) == len(values)


def test_equal_values_can_not_be_cut() -> None:
    with pytest.raises(ValueError, match="two different values"):
        otsu([5.0, 5.0, 5.0])
    with pytest.raises(ValueError, match="two different values"):
        otsu([])


def test_values_outside_the_range_count_at_the_ends() -> None:
    bars = histogram([-5, 0, 50, 100, 130], bins=4)
    assert [bar.count for bar in bars] == [2, 0, 1, 2]
    assert (bars[0].low, bars[-1].high) == (0, 100)
    with pytest.raises(ValueError, match="at least one bar"):
        histogram([1], bins=0)
