"""What MkDocs builds beside the pages that are written: the reference of the command line, and the list of results."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import cudamaster
import typer
from cudamaster.cli import app
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from typer.testing import CliRunner

RESULTS = Path(__file__).parent / "results"
WRITTEN_ELSEWHERE = {"How it judges": [("The judge", "judge.md")], "Guides": [("Evaluations", "evals.md")]}
"""Pages that are in the navigation when they are there."""


@event_priority(100)  # before mkdocstrings reads its settings
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the results, and pages that may be missing, into the navigation; say where the package is."""
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [package_path()]
    for section in config.nav or []:
        for title, entries in section.items():
            if title == "Results":
                entries += [f"results/{path.name}" for path in sorted(RESULTS.glob("*.md"))]
            for name, page in WRITTEN_ELSEWHERE.get(title, []):
                if (Path(config.docs_dir) / page).exists():
                    entries.insert(0, {name: page})
    return config


def package_path() -> str:
    """Return a folder in which `cudamaster` lies under its name, and nothing beside the package: the root has more."""
    root, folder = Path(cudamaster.__file__).parent, Path(tempfile.mkdtemp(prefix="cudamaster-docs-"))
    (folder / "cudamaster").mkdir()
    for path in (root / "__init__.py", root / "cli.py", *(p.parent for p in root.glob("*/__init__.py"))):
        (folder / "cudamaster" / path.name).symlink_to(path)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(folder)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated page."""
    files.append(File.generated(config, "reference/cli.md", content=command_line()))
    return files


def command_line() -> str:
    """Return the reference of every command: what `--help` says."""
    lines = [
        "# Every command and option",
        "",
        "Generated from the program; [the guide](../cli.md) says what they are for.",
    ]
    todo: list[tuple[list[str], Any]] = [([], typer.main.get_command(app))]
    while todo:
        names, command = todo.pop(0)
        told = CliRunner().invoke(app, [*names, "--help"], prog_name="cudamaster", env={"COLUMNS": "100"}).stdout
        lines += ["", f"## {' '.join(['cudamaster', *names])}", "", "```text", told.strip(), "```"]
        children = getattr(command, "commands", {}).values()
        todo = [([*names, child.name], child) for child in children if not child.hidden] + todo
    return "\n".join(lines) + "\n"
