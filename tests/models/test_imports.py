"""What the command line needs at once must not pull in the heavy packages."""

from __future__ import annotations

import subprocess
import sys

LIGHT = (
    "ask",
    "budget",
    "errors",
    "factory",
    "journal",
    "mailbox_file",
    "parse",
    "prices",
    "question",
    "reply",
    "retry",
)
HEAVY = ("langchain_core", "langchain_openai", "langgraph", "openai", "numpy", "jinja2", "tenacity", "tree_sitter")


def test_modules_without_a_client_are_light() -> None:
    names = [f"cudamaster.models.{name}" for name in LIGHT] + [
        "cudamaster.prompts.render",
        "cudamaster.prompts.sections",
    ]
    code = f"import sys, {', '.join(names)}; print([n for n in {HEAVY!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
