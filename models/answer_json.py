"""JSON as models write it: in prose or fences, with comments, trailing commas or Python's notation."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Final

_LONGEST: Final = 100_000
"""Characters of one object: no honest answer comes near."""


def json_objects(text: str) -> list[dict[str, Any]]:
    """Return every outermost JSON object of a text that can be read, in order; those of an array as well."""
    return [value for piece in _braced(text) if isinstance(value := _read(piece), dict)]


def json_fault(text: str) -> str:
    """Return why the JSON of a text can't be read, in the words of the parser; empty if it has no brace at all."""
    start = text.find("{")
    if start < 0:
        return ""
    if not _braced(text):
        return "its closing brace is missing"
    try:
        json.loads(_braced(text)[-1], strict=False)
    except ValueError as error:
        return str(error)
    return "it is not an object"


def _braced(text: str) -> list[str]:
    """Return the outermost `{…}` pieces; braces within double-quoted strings don't count."""
    pieces: list[str] = []
    depth, start, quoted, escaped = 0, 0, False, False
    for position, char in enumerate(text):
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"' and depth:
            quoted = True
        elif char == "{":
            start = position if depth == 0 else start
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                pieces.append(text[start : position + 1])
    return pieces


def _read(piece: str) -> object:
    """Return the value, by the strictest reading that works; None if none does."""
    if len(piece) > _LONGEST:
        return None
    for variant in (piece, tidy := _tidied(piece), _tidied(piece.translate(_CURLY))):
        try:
            return json.loads(variant, strict=False)
        except (ValueError, RecursionError):
            continue
    for variant in (piece, tidy, _python_words(tidy)):
        try:
            return ast.literal_eval(variant)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


_CURLY: Final = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
_STRING: Final = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\\n])*'"


def _tidied(piece: str) -> str:
    """Drop comments outside strings, and commas before a closing bracket."""
    text = re.sub(rf"({_STRING})|//[^\n]*|/\*.*?\*/|#[^\n]*", lambda m: m[1] or "", piece, flags=re.S)
    return re.sub(rf"({_STRING})|,(\s*[\]}}])", lambda m: m[1] or m[2], text, flags=re.S)


def _python_words(piece: str) -> str:
    """Turn JSON's words outside strings into Python's."""
    words = {"true": "True", "false": "False", "null": "None"}
    return re.sub(rf"({_STRING})|\b(true|false|null)\b", lambda m: m[1] or words[m[2]], piece, flags=re.S)
