"""Sectors, wavefronts and requests equal what Nsight Compute counted on an H200."""

from __future__ import annotations

import pytest

from . import h200
from .conftest import Host

pytestmark = [pytest.mark.xdist_group("cpu-bugs"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def compared(host: Host) -> list[h200.Pair]:
    return list(h200.pairs(h200.counted(host), h200.measured()))


def test_every_recorded_kernel_is_compared(compared: list[h200.Pair]) -> None:
    assert {pair.kernel for pair in compared} == set(h200.measured())
    assert len(h200.measured()) >= 30


def test_units_per_request_are_equal(compared: list[h200.Pair]) -> None:
    assert sum(pair.same_ratio for pair in compared) >= 0.95 * len(compared)


def test_totals_are_near(compared: list[h200.Pair]) -> None:
    assert sum(pair.near for pair in compared) >= 0.9 * len(compared)


def test_every_difference_is_explained_and_no_more(compared: list[h200.Pair]) -> None:
    assert {pair.kernel for pair in compared if pair.cpu != pair.gpu} == set(h200.EXPLAINED)


def test_the_page_is_what_was_counted(compared: list[h200.Pair]) -> None:
    assert h200.PAGE.read_text() == h200.page(compared), "python -m tests.tools.device.cpu.h200 writes it anew"
