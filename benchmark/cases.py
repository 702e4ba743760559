"""Short notation for the cases of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from .task import Case, CaseSet


def scalar_of(case: Case, name: str) -> float:
    """Return a `float` scalar of a case as a kernel receives it: rounded to float."""
    return float(np.float32(case.scalars[name]))


def cases(
    set: CaseSet | str,
    distribution: str = "uniform",
    /,
    *,
    exact: bool = False,
    scalars: Mapping[str, float | Sequence[float]] | None = None,
    null: tuple[str, ...] = (),
    **sizes: int | Sequence[int],
) -> tuple[Case, ...]:
    """Return one case for each combination of the sizes and scalars given, the last name varying fastest.

    `cases("paper", M=[256, 1024], N=2048)` makes two cases.
    """
    axes: dict[str, Sequence[float]] = {}
    for name, values in {**sizes, **(scalars or {})}.items():
        axes[name] = values if isinstance(values, Sequence) else [values]
    made = []
    for combination in product(*axes.values()):
        values_of = dict(zip(axes, combination, strict=True))
        made.append(
            Case(
                set=CaseSet(set),
                sizes={name: int(values_of[name]) for name in sizes},
                scalars={name: values_of[name] for name in scalars or {}},
                distribution=distribution,
                exact=exact,
                null=null,
            )
        )
    return tuple(made)
