"""Marked constants are found, changed and put back, and nothing else of a source is."""

from __future__ import annotations

from cudamaster.tools.tunables import MOST, before_tuning, marked, tunables, versions, with_values

SOURCE = """\
constexpr int rows = 8;  // tune: 8 4 16
  static constexpr int step = 2; // tune: 1 2
constexpr int fixed = 3;
constexpr int alone = 5;  // tune: 5
constexpr int late = 1;  // tuned: 1 2
int rows_of(int rows) { return rows; }
"""


def test_only_marked_constants_with_something_to_choose_are_found() -> None:
    assert [(one.name, one.value, one.choices) for one in tunables(SOURCE)] == [
        ("rows", 8, (8, 4, 16)),
        ("step", 2, (1, 2)),
    ]
    assert [one.name for one in tunables(marked("made", (4, 8)))] == ["made"]


def test_values_change_in_their_lines_alone() -> None:
    changed = with_values(SOURCE, {"rows": 16, "fixed": 9})
    assert changed == SOURCE.replace("rows = 8;", "rows = 16;")
    assert with_values(changed, {"rows": 8}) == SOURCE
    assert before_tuning(changed) == SOURCE.replace("step = 2;", "step = 1;")


def test_a_value_that_is_not_among_the_choices_is_one_more() -> None:
    assert versions("constexpr int rows = 5;  // tune: 8 4", ["rows"]) == [{"rows": 5}, {"rows": 8}, {"rows": 4}]


def test_all_combinations_are_tried_and_what_is_there_comes_first() -> None:
    tried = versions(SOURCE, ["step", "rows"])
    assert tried[0] == {"rows": 8, "step": 2}
    assert len(tried) == 6
    assert versions(SOURCE, ["step"]) == [{"step": 2}, {"step": 1}]
    assert versions(SOURCE, []) == [{}]


def test_where_combinations_are_too_many_one_constant_changes_at_a_time() -> None:
    source = "".join(marked(name, range(1, 8)) for name in "abc")
    tried = versions(source, "abc")
    assert len(tried) == MOST
    assert all(sum(value != 1 for value in each.values()) <= 1 for each in tried)
