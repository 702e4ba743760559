from __future__ import annotations

from pathlib import Path

from cudamaster.tools.profile.catalogue import catalogue
from cudamaster.tools.profile.findings import RULES, STALL_MIX

PAGE = Path(__file__).parents[3] / "docs" / "diagnosis.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == catalogue(), "run: python -m cudamaster.tools.profile.catalogue docs/diagnosis.md"


def test_every_finding_has_a_section_with_a_meaning() -> None:
    text = catalogue()
    for rule in (*RULES, STALL_MIX):
        section = text.split(f"### {rule.name}\n")[1].split("\n### ")[0]
        assert "The bound" in " ".join(section.split()), rule.name
