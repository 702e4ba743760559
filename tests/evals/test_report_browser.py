"""A report of a hundred units in a real browser: no errors, nothing fetched, quickly there, and it can be used."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cudamaster.evals.report.suite_page import suite_page

from .samples import suite_of

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright and a Chromium")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed here")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_hundred_units(browser: Any, size: str, tmp_path: Path) -> None:
    width, height = SIZES[size]
    (tmp_path / "report.html").write_text(suite_page(suite_of(100), "A hundred units"))
    context = browser.new_context(
        viewport={"width": width, "height": height}, is_mobile=size == "phone", has_touch=size == "phone", offline=True
    )
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    ready_ms = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    print(f"\n{size}: interactive after {ready_ms:.0f} ms")
    assert ready_ms < 3000
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page itself never scrolls sideways"

    first = "table.sortable tbody tr:first-child td:first-child"
    page.click("th:has-text('speedup')")
    gains = page.eval_on_selector_all(
        "table.sortable tbody tr td:nth-child(3)", "cells => cells.map(c => +c.dataset.v)"
    )
    assert gains == sorted(gains, reverse=True)
    page.click("th:has-text('unit')")
    page.click("th:has-text('unit')")
    assert page.inner_text(first) == min(unit.name for unit in suite_of(100).suite.units)
    page.fill("input[type=search]", "gelu")
    assert page.locator("table.sortable tbody tr:visible").count() == 2
    page.click("table.sortable tbody tr:visible a")
    assert page.locator("details.unit[open]").count() == 1
    assert page.locator("details.unit[open] ol.rounds > li").count() == 3
    bar = page.locator("figure [data-tip]").first
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    assert page.inner_text("#tip") == bar.get_attribute("data-tip")
    assert said == []
    context.close()
