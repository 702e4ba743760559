"""Source text without what doesn't matter: comments, the content of literals, white space."""

from __future__ import annotations

import re

_PIECES = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<raw>     R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)" )
  | (?P<string>  "(?:\\.|[^"\\\n])*" )
  | (?P<char>    (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)


def code_only(source: str, *, literals: bool = False) -> str:
    """Return the source with comments and, without `literals`, the content of literals blanked; all stays in its place.

    The file name of an `#include "…"` stays. A backslash at a line's end, which can split a word, becomes two spaces
    joined to the next line's text; the line count is kept by moving the newlines behind the joined line.
    """

    def blank(match: re.Match[str]) -> str:
        text = match[0]
        if literals and not match["comment"]:
            return text
        if match.lastgroup == "string" and re.search(r"#\s*include\s*$", source[: match.start()].rpartition("\n")[2]):
            return text
        return re.sub(r"[^\n]", " ", text) if match["comment"] else '"' + re.sub(r"[^\n]", " ", text[1:-1]) + '"'

    source = _join_lines(source)
    return _PIECES.sub(blank, source)


def _join_lines(source: str) -> str:
    """Join lines that end in a backslash, as the compiler does, and put the lost newlines behind them."""
    lines, joined, owed = source.replace("\r\n", "\n").split("\n"), [], 0
    text = ""
    for line in lines:
        text += line
        if text.endswith("\\"):
            text, owed = text[:-1], owed + 1
            continue
        joined += [text, *[""] * owed]
        text, owed = "", 0
    return "\n".join([*joined, *([text] if text else [])])


def line_of(source: str, position: int) -> int:
    """Return the 1-based line of a position."""
    return source.count("\n", 0, position) + 1


_TOKEN = re.compile(r"[A-Za-z_]\w*|\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*|[^\s\w]")


def tokens(source: str) -> list[str]:
    """Return the tokens of the code, literals included, comments and white space gone: what `unchanged` compares."""
    pieces, at = [], 0
    joined = _join_lines(source)
    for match in _PIECES.finditer(joined):
        pieces += _TOKEN.findall(joined[at : match.start()])
        if not match["comment"]:
            pieces.append(match[0])
        at = match.end()
    return pieces + _TOKEN.findall(joined[at:])
