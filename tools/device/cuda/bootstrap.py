"""Intervals from repeated measurements, by resampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...records import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DRAWS: Final = 2000
Blocks = Sequence[Sequence[float]]
"""Samples of one side in the order measured, one list per turn at the GPU."""


def interval(value: float, draws: NDArray[np.float64]) -> Interval:
    """Return the value with the middle 95 % of the draws, widened where needed to hold the value."""
    import numpy as np

    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(value=value, low=min(value, float(low)), high=max(value, float(high)))


def median_interval(samples: Sequence[float], rng: np.random.Generator) -> Interval:
    """Return the median of the samples with its interval."""
    import numpy as np

    array = np.asarray(samples, dtype=np.float64)
    draws = np.median(array[rng.integers(0, len(array), (DRAWS, len(array)))], axis=1)
    return interval(float(np.median(array)), draws)


def ratio_draws(baseline: Blocks, candidate: Blocks, rng: np.random.Generator) -> tuple[float, NDArray[np.float64]]:
    """Return baseline's median ÷ candidate's median, and resampled values of it.

    Turns are drawn first, in pairs, then samples within each: what varies from turn to turn (clocks, placement in
    memory) is in the interval, not just what varies from call to call.
    """
    import numpy as np

    turns = min(len(baseline), len(candidate))
    picks = rng.integers(0, turns, (DRAWS, turns))
    medians = []
    for blocks in (baseline, candidate):
        length = min(len(block) for block in blocks[:turns])
        table = np.array([list(block)[:length] for block in blocks[:turns]], dtype=np.float64)
        within = rng.integers(0, length, (DRAWS, turns, length))
        drawn = table[picks[:, :, None], within]
        medians.append(np.median(drawn.reshape(DRAWS, -1), axis=1))
    whole = [float(np.median([sample for block in blocks for sample in block])) for blocks in (baseline, candidate)]
    return whole[0] / whole[1], medians[0] / medians[1]
