"""The package as users install it: the listed packages, the wheel's content, what a bare import pulls in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build sdist and, from it, the wheel, outside the tree; return the folder that holds both."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for path in tracked():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, copy / path)
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", out, copy]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.mark.slow
def test_the_wheel_holds_every_source_and_data_file(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"cudamaster/{path}"
        for path in tracked()
        if path.suffix in SOURCES and path.parts[0] not in NOT_PACKAGED and path.name != "langgraph.json"
    }
    assert sorted(wanted - inside) == []
    assert not [name for name in inside if name.startswith(("cudamaster/tests", "cudamaster/docs"))]


@pytest.mark.slow
def test_the_sdist_holds_what_the_documentation_speaks_of(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {str(path) for path in tracked() if path.parts[0] in ("docs", "examples", "tests")}
    assert sorted(wanted - inside) == []
    assert {"README.md", "mkdocs.yml", "langgraph.json", "Makefile"} <= inside


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_installed_wheel_works_outside_the_tree(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:  # what an installer does with a pure wheel
        archive.extractall(site)
    work = tmp_path / "work"
    work.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(site), "CUDAMASTER_HOME": str(work / "home")}

    def cudamaster(*arguments: str) -> str:
        program = "import sys; from cudamaster.cli import main; sys.argv[0] = 'cudamaster'; main()"
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    where = subprocess.run(
        [sys.executable, "-c", "import cudamaster; print(cudamaster.__file__)"], cwd=work, env=environment,
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert Path(where.strip()).is_relative_to(site)
    assert "dot_product" in cudamaster("tasks")
    told = json.loads(cudamaster("optimize", "dot_product", "--device", "cpu", "--rounds", "1", "--json"))
    assert told["status"] == "improved"
    assert Path(told["result"], "VERIFICATION.md").is_file()
    shutil.copy(ROOT / "examples/torch_extension/csrc/rms_norm.cu", work)
    shutil.copy(ROOT / "examples/torch_extension/csrc/rms_norm.h", work)
    made = json.loads(cudamaster("init", "rms_norm.cu", "--device", "cpu", "--json"))
    assert made["checked"].startswith("ran on the cpu device")


def test_a_bare_import_pulls_in_nothing_heavy() -> None:
    heavy = {"langgraph", "langchain_core", "numpy", "scipy", "openai"}
    code = f"import sys, cudamaster, cudamaster.cli; print(*sorted({heavy!r} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""
