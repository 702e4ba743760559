from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "data" / "ncu"


@pytest.fixture
def sample() -> Callable[[str], str]:
    """Text of a report recorded on an H200 (see tests/data/ncu/README.md)."""
    return lambda name: (SAMPLES / f"{name}.csv").read_text()
