"""The templates of the pages, with the style sheet and the script put into them: one file each, no network."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from ... import __version__


def render(template: str, **values: Any) -> str:
    """Return a page."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> jinja2.Environment:
    here = files(__package__)
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (here / name).read_text()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.globals |= {
        "style": Markup((here / "style.css").read_text()),
        "script": Markup((here / "page.js").read_text()),
        "version": __version__,
    }
    environment.filters |= {"factor": factor, "diff": _diff}
    return environment


def factor(value: float | None) -> str:
    """Return a gain as people write it."""
    return "–" if value is None else f"{value:.3g}x"


def _diff(text: str) -> Markup:
    kinds = {"+": "add", "-": "del", "@": "at"}
    lines = []
    for line in text.splitlines():
        kind = kinds.get(line[:1])
        lines.append(f'<span class="{kind}">{escape(line)}</span>' if kind else str(escape(line)))
    return Markup("\n".join(lines))
