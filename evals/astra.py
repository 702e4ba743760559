"""The three kernels that Astra optimised too, with the figures that were published for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ..benchmark.contract import Precision
from ..benchmark.task import Unit
from .suite import UnitResult


class Published(NamedTuple):
    """Speedups over a naive baseline as arXiv 2603.07169 (RTX 4090) quotes them; None: not quoted in figures."""

    task: str
    astra: float | None
    paper: float | None
    remark: str = ""


PUBLISHED: Final = (
    Published("rms_norm", 1.78, 2.44, "Astra's kernel adds a residual too"),
    Published("silu_and_mul", 3.58, 3.67),
    Published("merge_attn_states", None, None, "the paper: equal or better than Astra"),
)


class Row(NamedTuple):
    """One kernel; `ours` by precision, as gains over our own naive baseline."""

    published: Published
    ours: Mapping[Precision, float | None]


def astra_table(results: Mapping[Unit, UnitResult]) -> list[Row]:
    """Return the rows of those kernels that the suite has; other GPUs and baselines, so no figure to figure contest."""
    rows = []
    for published in PUBLISHED:
        found = {p: results.get(Unit(task=published.task, precision=p)) for p in Precision}
        if any(found.values()):
            rows.append(Row(published, {p: result.gain for p, result in found.items() if result is not None}))
    return rows
