"""Is a text a whole CUDA file with the functions that it should export?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final


def code_only(source: str) -> str:
    """Blank out comments and literals, every other character in its place."""
    pattern = r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\[^\n]{1,3}?|[^\'\\\n])\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.S)


def definition(source: str, name: str) -> re.Match[str] | None:
    """Find a function's definition (not a call, not a declaration); group 1 holds the parameters, comments blanked."""
    parameters = r"[^()]*(?:\([^()]*\)[^()]*)*"
    return re.search(rf"\b{re.escape(name)}\s*\(({parameters})\)\s*(?:noexcept\s*)?\{{", code_only(source))


_DIFF: Final = re.compile(
    r"^@@ -\d|^diff --git |^<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)|^\*\*\* (?:Begin|Update|End) |^--- \S[^\n]*\n\+\+\+ \S",
    re.M,
)


def is_patch(text: str) -> bool:
    """Return whether a text holds a diff, or search-and-replace blocks."""
    return _DIFF.search(text) is not None


_LEFT_OUT: Final = (
    r"\b(?:rest|remainder|remaining|everything else|other (?:kernels?|functions?|code|parts?))\b.*"
    r"\b(?:unchanged|same|as before|omitted|here|identical|stays?|remains?|goes)\b"
    r"|\b(?:omitted|elided) for (?:brevity|clarity)\b"
    r"|\b(?:code|kernels?|functions?|implementation|body|part|includes?|unchanged|same|rest)\b.*"
    r"\b(?:unchanged|as before|as above|same as (?:before|above|the original|in the original))\b"
    r"|\b(?:your|existing|original|previous) (?:code|kernel|implementation|function) (?:here|goes here|above|below)\b"
    r"|(?:\.\.\.|…).*\b(?:rest|remaining|existing|unchanged|same|omitted|other|previous|as before|original)\b"
    r"|\b(?:rest|remaining|existing|unchanged|same|omitted|other|previous|as before|original)\b.*(?:\.\.\.|…)"
)


def elision(source: str) -> str:
    """Return the comment or line that stands for code left out; empty if the file seems whole.

    A comment counts only if it has its line to itself: beside code it describes that code.
    """
    lone = r"^[ \t]*(//[^\n]*|/\*.*?\*/)[ \t]*$"
    for comment in re.finditer(lone, source, re.S | re.M):
        words = " ".join(comment[1].strip("/* \t\n").split())
        if len(words) <= 120 and re.search(_LEFT_OUT, words, re.I) and _ends_there(source, comment.end(), words):
            return comment[1].strip()
    for line in code_only(source).splitlines():
        if re.fullmatch(r"\s*(?:\.\.\.|…)\s*;?\s*", line):
            return line.strip()
    return ""


def _ends_there(source: str, position: int, words: str) -> bool:
    """Return whether a comment replaces code: it has an ellipsis, or a gap, a closing brace or the end follows."""
    if "..." in words or "…" in words or "for brevity" in words.lower():
        return True
    following = source[position:].lstrip("\n \t") if position < len(source) else ""
    blank = re.match(r"[ \t]*\n[ \t]*\n", source[position:]) is not None
    return blank or not following or following.startswith("}")


def undefined_launches(source: str) -> list[str]:
    """Return the kernels that a file launches and nowhere else names: they are missing from it."""
    code = code_only(source)
    launched = dict.fromkeys(re.findall(r"\b([A-Za-z_]\w*)\s*(?:<[^;{}<>]*(?:<[^;{}<>]*>[^;{}<>]*)*>)?\s*<<<", code))
    return [
        name
        for name in launched
        if len(re.findall(rf"\b{name}\b", code)) == len(re.findall(rf"\b{name}\b\s*(?:<[^;{{}}]*?>)?\s*<<<", code))
    ]


def unbalanced(source: str) -> str:
    """Return what shows that a file stops too early; empty if its braces match, or `#else` may explain them."""
    code = code_only(source)
    opening, closing = code.count("{"), code.count("}")
    if opening > closing and not re.search(r"^\s*#\s*(?:else|elif)", code, re.M):
        return f"{opening} opening and {closing} closing braces"
    return ""


def aliases(source: str) -> dict[str, str]:
    """Return the plain types that a file names anew (`typedef float T;`, `using T = float;`), by their new names."""
    code = code_only(source)
    named = {m[2]: m[1] for m in re.finditer(r"\btypedef\s+([A-Za-z_][\w:]*)\s+(\w+)\s*;", code)}
    return named | {m[1]: m[2] for m in re.finditer(r"\busing\s+(\w+)\s*=\s*([A-Za-z_][\w:]*)\s*;", code)}


def parameter_types(parameters: str, named: Mapping[str, str] | None = None) -> list[str]:
    """Return the types of a parameter list without names, e.g. `["const float*", "int"]`.

    `const` counts only for what a pointer points to; `float const*` is `const float*`; `__restrict__` doesn't count.

    Args:
        parameters: what stands between the parentheses.
        named: types under names of the file's own (see `aliases`).
    """
    types = []
    for parameter in filter(str.strip, parameters.split(",")):
        tokens = [t for t in re.findall(r"[A-Za-z_][\w:]*|\*|&|\[", parameter) if t not in _QUALIFIERS]
        first = next((i for i, token in enumerate(tokens) if token in "*&["), None)
        before = tokens if first is None else tokens[:first]
        words = [_unaliased(t, named or {}) for t in before if t != "const"]
        if first is None or tokens[first] == "[":
            words = words[:-1] if len(words) > 1 and words[-1] not in _TYPE_WORDS else words
        marks = "" if first is None else "".join("*" if t == "[" else t for t in tokens[first:] if t in "*&[")
        constant = "const " if marks and "const" in before else ""
        name = " ".join("__nv_bfloat16" if word == "nv_bfloat16" else word for word in words)
        types.append(f"{constant}{name}{marks}")
    return types


def _unaliased(name: str, named: Mapping[str, str]) -> str:
    for _ in range(len(named)):
        name = named.get(name, name)
    return name.removeprefix("std::")


_QUALIFIERS: Final = frozenset({"__restrict__", "__restrict", "restrict", "struct", "volatile"})
_TYPE_WORDS: Final = frozenset({"int", "float", "size_t", "cudaStream_t", "void", "char", "double", "unsigned", "long"})
