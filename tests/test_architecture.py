"""Arrows go down only: evals → graph → nodes → models, prompts, tools → benchmark."""

from __future__ import annotations

import ast
from pathlib import Path

import cudamaster
import pytest

ROOT = Path(cudamaster.__file__).parent
LAYERS = {"benchmark": 0, "tools": 1, "prompts": 1, "models": 1, "nodes": 2, "graph": 3, "evals": 4}


def imported_packages(path: Path) -> set[str]:
    """Top-level packages of this project that a module imports, at any depth; type-checking ones are left out."""
    package = path.relative_to(ROOT).parent.parts
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            parts = (*base, *(node.module.split(".") if node.module else ()))
            found |= {parts[0]} if parts else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cudamaster."):
            found.add(node.module.split(".")[1])
    return found & set(LAYERS)


MODULES = sorted(p for layer in LAYERS for p in (ROOT / layer).rglob("*.py"))


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_arrows_go_down_only(layer: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {other}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == layer
        for other in sorted(imported_packages(path))
        if LAYERS[other] > LAYERS[layer]
    ]
    assert wrong == []


def test_the_only_modules_at_the_root_are_the_api_and_the_command_line() -> None:
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "cli.py"}


FORBIDDEN = ("/work/", "helper-", "pypi.org", "files.pythonhosted")


def test_no_machine_paths_or_registry_names_in_the_project() -> None:
    kinds = {".py", ".md", ".cu", ".cpp", ".h", ".j2", ".toml", ".json", ".txt"}
    unseen = ("build", "dist", "site")
    wrong = []
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if path.suffix not in kinds or any(part.startswith(".") or part in unseen for part in parts):
            continue
        if path.name != "test_architecture.py":
            text = path.read_text(errors="replace")
            wrong += [f"{'/'.join(parts)}: {word}" for word in FORBIDDEN if word in text]
    assert wrong == []
