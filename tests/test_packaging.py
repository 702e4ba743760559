"""The package as users install it: the listed packages, the wheel's content, what a bare import pulls in."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import cudamaster
import pytest

ROOT = Path(cudamaster.__file__).parent
NOT_PACKAGED = {"tests", "docs", "examples", "build", "dist", "site"}
SOURCES = {".py", ".cu", ".cuh", ".h", ".cpp", ".j2", ".json"}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def test_the_listed_packages_are_the_packages_of_the_tree() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {p.parent for p in tracked() if p.name == "__init__.py" and p.parts[0] not in NOT_PACKAGED}
    assert set(settings["packages"]) == {".".join(["cudamaster", *folder.parts]) for folder in folders}


@pytest.mark.slow
def test_the_wheel_holds_every_source_and_data_file(tmp_path: Path) -> None:
    copy = tmp_path / "source"  # a build leaves its own folders behind
    for path in tracked():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, copy / path)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", tmp_path, copy]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"cudamaster/{path}"
        for path in tracked()
        if path.suffix in SOURCES and path.parts[0] not in NOT_PACKAGED and path.name != "langgraph.json"
    }
    assert sorted(wanted - inside) == []
    assert not [name for name in inside if name.startswith(("cudamaster/tests", "cudamaster/docs"))]


def test_a_bare_import_pulls_in_nothing_heavy() -> None:
    heavy = {"langgraph", "langchain_core", "numpy", "scipy", "openai"}
    code = f"import sys, cudamaster, cudamaster.cli; print(*sorted({heavy!r} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""
