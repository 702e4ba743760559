"""Cases: names that tell them apart."""

from __future__ import annotations

from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import Case, CaseSet, exact
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(-(2**62), 2**62) | st.floats(allow_nan=False))
def test_a_number_reads_back_from_its_text(value: float) -> None:
    assert type(value)(exact(value)) == value


def test_sizes_of_one_step_are_two_names() -> None:
    one, other = (Case(set=CaseSet.SMALL, sizes={"N": n}) for n in (2**20, 2**20 + 1))
    assert (one.name, other.name) == ("N=1048576 uniform", "N=1048577 uniform")


def test_no_two_cases_of_a_task_share_a_name() -> None:
    for name in task_names():
        cases = load_task(name).cases
        assert len({(case.set, case.name) for case in cases}) == len(cases), name
