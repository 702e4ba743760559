"""Tasks by name and by folder: a folder that cannot be used says why, in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import UnknownTask, choose_units, lasting_name, load_task
from cudamaster.benchmark.task import NoBaseline, Unit

TASK = """
from cudamaster.benchmark.contract import Contract, array_out, size
from cudamaster.tools.own.task import own_task
TASK = own_task(__file__, Contract(entry="f", arguments=(array_out("y", "{shape}"), size("n"))), small=[{{"n": 4}}],
                timed=[{{"n": 64}}], complexity="n")
"""


def folder(path: Path, text: str = TASK.format(shape="n"), *kernels: str) -> str:
    path.mkdir(parents=True)
    (path / "task.py").write_text(text)
    for kernel in kernels:
        (path / f"{kernel}.cu").write_text("// a kernel\n")
    return str(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = (", "SyntaxError: '\\(' was never closed"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError"),
        ("X = 1", "defines no TASK"),
        ("TASK = 3", "defines no TASK"),
        (TASK.format(shape="m * 2"), "shape 'm \\* 2': 'm' is neither a size \\(n\\)"),
        (TASK.format(shape="n ** 2"), "is neither a size"),
        (TASK.format(shape="import os"), "shape 'import os' is no expression"),
    ],
)
def test_a_task_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, told: str) -> None:
    name = folder(tmp_path / "mine", text)
    with pytest.raises(UnknownTask, match=f"mine/task.py cannot be used: .*{told}"):
        load_task(name)


def test_a_folder_without_a_task_and_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownTask, match=r"holds no task\.py: `cudamaster init"):
        load_task(str(tmp_path))
    with pytest.raises(UnknownTask, match=r"there is no task folder \./nothing"):
        load_task("./nothing")
    with pytest.raises(UnknownTask, match="did you mean gelu"):
        load_task("gellu")


def test_a_folder_is_called_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert lasting_name("gelu") == "gelu"
    assert {lasting_name("mine"), lasting_name("./mine/")} == {str(tmp_path / "mine")}


def test_units_are_chosen_by_name(tmp_path: Path) -> None:
    assert choose_units(["gelu", "gelu"], [Precision.BF16]) == [Unit(task="gelu", precision=Precision.BF16)]
    assert len(choose_units([])) == len(choose_units([], list(Precision))) >= 100 - 2 * 24
    with pytest.raises(UnknownTask, match="gelu"):
        choose_units(["gellu"], [Precision.FP32])


def test_units_of_folders_are_those_that_have_a_kernel(tmp_path: Path) -> None:
    one = folder(tmp_path / "a/mine", TASK.format(shape="n"), "fp32")
    units = choose_units([one, one, "gelu"])
    assert [unit.name for unit in units] == ["mine-fp32", "gelu-fp32", "gelu-bf16"]
    assert [Unit.model_validate(json.loads(unit.model_dump_json())) for unit in units] == units
    with pytest.raises(NoBaseline, match="no kernel in bf16"):
        choose_units([one], [Precision.BF16])
    two = folder(tmp_path / "b/mine", TASK.format(shape="n"), "fp32")
    with pytest.raises(UnknownTask, match="two of the tasks are called mine-fp32"):
        choose_units([one, two])
