"""The documentation holds: its commands exist, what can be run runs, its drawing is the graph's, the site builds."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from cudamaster.cli import app
from cudamaster.graph.build import build_graph
from cudamaster.tests.docs.pages import PAGES, ROOT, Block, blocks, name
from cudamaster.tools.device.port import DeviceUnavailable
from cudamaster.tools.device.select import get_device

COMMAND: Any = typer.main.get_command(app)
pages = pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in PAGES])


def commands(block: Block) -> list[list[str]]:
    """Return the `cudamaster` commands of a console block, in words, without redirections and comments."""
    found = []
    for line in block.text.splitlines():
        for piece in re.split(r"\|\||&&|[|;]", re.sub(r"\d?>(&\d| ?\S+)", "", line)):
            if re.search(r"(^|[ '\"])cudamaster ", piece) and not piece.startswith(("echo ", "pip ", "#")):
                for quote in ("'", '"'):  # a command within a quoted one
                    piece = piece.replace(quote, " ") if piece.count(quote) % 2 else piece
                words = shlex.split(piece.replace("'", " "), comments=True)
                found.append(words[words.index("cudamaster") + 1 :])
    return found


@pages
def test_every_command_in_the_pages_exists_with_its_options(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDAMASTER_HOME", "unused")  # set by --home, too
    for block in blocks(page):
        for words in commands(block) if block.kind == "console" else []:
            parse(words, f"{name(page)}:{block.line}")


def parse(words: list[str], where: str) -> None:
    """Parse a command line without doing what it says."""
    command = COMMAND
    path = ["cudamaster"]
    while getattr(command, "commands", None):
        while words and words[0].startswith("-"):  # settings of the whole program
            assert any(words[0] in p.opts for p in command.params), f"{where}: no option {words[0]}"
            words = words[2:] if words[0] != "--version" else words[1:]
        if not words:
            return
        assert words[0] in command.commands, f"{where}: no command {' '.join([*path, words[0]])}"
        command = command.commands[words[0]]
        path.append(words[0])
        words = words[1:]
    try:
        command.make_context(" ".join(path), list(words))
    except Exception as error:
        told = error.format_message() if hasattr(error, "format_message") else repr(error)
        pytest.fail(f"{where}: {' '.join([*path, *words])}: {told}")


@pages
def test_marks_are_known(page: Path) -> None:
    for block in blocks(page):
        assert block.mark == "" or block.mark == "gpu" or re.match(r"(needs|not run): \S", block.mark), (
            f"{name(page)}:{block.line}: {block.mark}"
        )


def test_the_drawing_is_the_graphs_own() -> None:
    (drawing,) = [b.text.strip() for b in blocks(ROOT / "docs/langgraph.md") if b.kind == "mermaid"]
    assert drawing == build_graph().get_graph().draw_mermaid().strip(), "docs/langgraph.md: paste the new drawing"


def test_every_exit_code_is_documented() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    for code in (0, 1, 2, 3, 4, 130):
        assert re.search(rf"^\| {code} \| \S", text, re.MULTILINE), code


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("builds")


def script(page: Path, gpu: bool) -> str:
    """Return a shell script of all blocks of a page that can run here, in order."""
    parts = ["set -e", 'cudamaster() { command cudamaster "$@"; }']
    for block in blocks(page):
        if not block.is_run or (block.needs_gpu and not gpu):
            continue
        parts.append(f"echo '--- {name(page)}:{block.line}'; cd \"$HERE\"")
        parts.append(block.text if block.kind == "console" else f"python - <<'PROGRAM'\n{block.text}PROGRAM")
    return "\n".join(parts)


def has_gpu() -> bool:
    try:
        get_device("cuda")
    except DeviceUnavailable:
        return False
    return True


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=name(page)) for page in PAGES if any(b.is_run for b in blocks(page))]
)
def test_what_the_pages_say_can_be_done(page: Path, tmp_path: Path, builds: Path) -> None:
    home = tmp_path / ".cudamaster"
    home.mkdir()
    (home / "builds").symlink_to(builds)
    environment = {
        **{k: v for k, v in os.environ.items() if k != "CUDAMASTER_HOME"},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "HERE": str(tmp_path),
        "EXAMPLES": str(ROOT / "examples"),
        "NO_COLOR": "1",
    }
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash], input=script(page, has_gpu()), cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    assert "Traceback" not in done.stdout, done.stdout[-4000:]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the documentation's tools are in the extra `docs`")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-4000:]
    reference = (tmp_path / "site/reference/cli/index.html").read_text()
    assert "--max-usd" in reference
    assert "cudamaster.graph.api.optimize" in (tmp_path / "site/reference/python/index.html").read_text()
