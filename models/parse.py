"""Read what a model answered: tolerant of form, strict in substance."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from ..prompts.brief import AgentName, Plan
from ..tools.records import BuildSpec, Record
from .answer_json import json_fault, json_objects
from .answer_source import aliases, definition, elision, is_patch, parameter_types, unbalanced, undefined_launches
from .answer_text import Block, code_blocks, strip_reasoning
from .reply import Reply


class Unreadable(ValueError):
    """The answer can't be used. `complaint` tells the model what was wrong with it, for the next question."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.complaint = complaint


class Repair(Record):
    """What the Debugger answers."""

    diagnosis: str
    source: str


def check_finished(reply: Reply) -> str:
    """Return a reply's text if it came to its end: how it ended is looked at before anything else.

    Raises:
        Unreadable: it was cut off, filtered or empty.
    """
    if reply.finish_reason == "length":
        raise Unreadable("it was cut off at the limit of output tokens: be briefer, and get to the end of the answer")
    if reply.finish_reason == "content_filter":
        raise Unreadable("the provider's content filter stopped it: use code and plain technical words only")
    if not strip_reasoning(reply.text).strip():
        thought = " (all of it was reasoning)" if reply.text.strip() or reply.reasoning else ""
        raise Unreadable(f"it was empty{thought}: write the answer itself")
    return reply.text


def parse_answer(agent: AgentName, text: str, entry: str, prototype: str = "") -> Plan | Repair | BuildSpec | str:
    """Read an answer with its agent's own parser.

    Raises:
        Unreadable: it can't be used.
    """
    match agent:
        case "planner":
            return parse_plan(text)
        case "coder":
            return parse_source(text, entry, prototype)
        case "compiler":
            return parse_spec(text)
        case "debugger":
            return parse_repair(text, entry, prototype)


# --- source ----------------------------------------------------------------------------------------------------------

_ASK = "answer with the whole file in one ```cuda block"


def parse_source(text: str, entry: str, prototype: str = "") -> str:
    """Return the CUDA file of an answer: the code block that defines the entry function, the last whole one of several.

    With the entry's `prototype` the types of its parameters are checked as well.

    Raises:
        Unreadable: there is none, or it is not a whole file.
    """
    text = strip_reasoning(text).replace("\r\n", "\n")
    if not text.strip():
        raise Unreadable(f"it was empty: {_ASK}")
    blocks = code_blocks(text)
    files = [_trimmed(block) for block in blocks if definition(block.text, entry) and not code_blocks(block.text)]
    if not blocks and definition(text, entry):
        files = [_without_prose(text)]
    if not files:
        raise Unreadable(_why_no_file(text, blocks, entry))
    whole = [file for file in files if not _fault(file, entry, prototype)]
    if not whole:
        raise Unreadable(_fault(files[-1], entry, prototype))
    return whole[-1].strip("\n") + "\n"


def _trimmed(block: Block) -> str:
    """Return a block's text; of one that was never closed, without the prose after the last line of code."""
    if block.closed:
        return block.text
    lines = block.text.splitlines()
    last = max((i for i, line in enumerate(lines) if re.search(r"[};]\s*(//.*)?$|^\s*#\s*endif", line)), default=-1)
    return "\n".join(lines[: last + 1])


_CODE_LINE = re.compile(
    r"\s*(#\s*(include|define|pragma|if)|//|/\*|extern\b|template\b|__global__|static\b|namespace\b)"
)


def _without_prose(text: str) -> str:
    """Return an answer without fences from its first to its last line of code."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if _CODE_LINE.match(line)), 0)
    return _trimmed(Block(language="", text="\n".join(lines[start:]), closed=False))


def _why_no_file(text: str, blocks: list[Block], entry: str) -> str:
    if is_patch(text) or any(block.language in ("diff", "patch") for block in blocks):
        return f"it was a patch: {_ASK}, not a diff"
    if not blocks:
        return f"it held no code block: {_ASK}"
    if any(re.search(rf"\b{re.escape(entry)}\s*\(", block.text) for block in blocks):
        return f"no code block defines `{entry}` whole (it is only declared or called, or its body is missing): {_ASK}"
    return f"no code block defines `{entry}`: {_ASK}, with the entry function under exactly this name"


def _fault(source: str, entry: str, prototype: str) -> str:
    """Return what keeps a text from being the whole file; empty if nothing does."""
    if is_patch(source):
        return f"it was a patch: {_ASK}, not a diff"
    if left_out := elision(source):
        return f"it leaves code out ({left_out[:120]!r}): write every line of the file"
    if braces := unbalanced(source):
        return f"the file is not complete ({braces}): write it to its end"
    workspace = f"{entry}_workspace_bytes"
    for name, result in ((entry, "cudaError_t"), (workspace, "size_t")):
        found = definition(source, name)
        if found is None:
            return f"the file lacks `{name}`: keep both exported functions"
        if not re.search(rf"\b{result}$", found.string[: found.start()].rstrip()):
            return f"`{name}` does not return {result}: keep the prototypes of the contract"
    if not re.search(r'extern\s*"C"', source):
        return f'`{entry}` and `{workspace}` are not extern "C": keep the prototypes of the contract'
    if fault := _signature_fault(source, entry, prototype):
        return fault
    if missing := undefined_launches(source):
        return f"the file launches `{missing[0]}`, which it does not define: put everything in one file"
    return ""


def _signature_fault(source: str, entry: str, prototype: str) -> str:
    found = definition(source, entry)
    assert found is not None
    types = parameter_types(found[1], aliases(source))
    if prototype:
        expected = parameter_types(prototype[prototype.index("(") + 1 : prototype.rindex(")")])
        if types != expected:
            given, wanted = ", ".join(types), ", ".join(expected)
            return f"`{entry}` takes ({given}) and should take ({wanted}): keep the contract's prototype"
    elif types[-3:] != ["void*", "size_t", "cudaStream_t"]:
        end = "void* workspace, size_t workspace_bytes, cudaStream_t stream"
        return f"`{entry}` does not end with ({end}): keep the contract's prototype"
    return ""


def parse_repair(text: str, entry: str, prototype: str = "") -> Repair:
    """Return the Debugger's diagnosis and its repaired file.

    Raises:
        Unreadable: there is no whole file. A missing diagnosis is no fault: the file is what counts.
    """
    source = parse_source(text, entry, prototype)
    prose = re.split(r"^[ \t>]*(?:`{3,}|~{3,})", strip_reasoning(text), maxsplit=1, flags=re.M)[0]
    found = re.search(r"diagnosis\W*?:\W*(.+)", prose, re.I)
    first = next((line for line in prose.splitlines() if line.strip()), "")
    diagnosis = found[1] if found else "" if _CODE_LINE.match(first) else first
    return Repair(diagnosis=_words(diagnosis.strip("*_# "), 400), source=source)


# --- JSON ------------------------------------------------------------------------------------------------------------

_PLAN_FORM = '{"strategy": …, "reasoning": …, "expected_effect": …, "metric": …}'


def parse_plan(text: str) -> Plan:
    """Return the Planner's strategy; lines such as `Strategy: …` are read where there is no JSON.

    Raises:
        Unreadable: there is no strategy, or more than one.
    """
    text = strip_reasoning(text)
    found = [_snake_case(value) for value in json_objects(text)]
    plans = [inner for value in found for inner in _plans(value)]
    if not plans and "{" not in text:
        plans = [value for value in [_labelled(text, tuple(Plan.model_fields))] if "strategy" in value]
    if not plans:
        raise Unreadable(_no_object(text, _PLAN_FORM, found, 'it has no "strategy"'))
    names = {str(plan["strategy"]).strip() for plan in plans}
    if len(names) > 1 or isinstance(plans[0]["strategy"], list):
        raise Unreadable(f"it named several strategies: choose one, and answer with one JSON object {_PLAN_FORM}")
    plan = plans[-1]
    if not isinstance(plan["strategy"], str) or not plan["strategy"].strip():
        raise Unreadable('its "strategy" is not a name: give a short one, as a string')
    return Plan(
        strategy=_words(plan["strategy"], 120),
        reasoning=_words(plan.get("reasoning"), 4000),
        expected_effect=_words(plan.get("expected_effect"), 1000),
        metric=_words(plan.get("metric"), 120),
    )


def _plans(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects with a strategy in an answer: itself, or what it wraps (`{"plan": {…}}`)."""
    if "strategy" in value and not isinstance(value["strategy"], dict):
        return [value]
    inner = [v for item in value.values() for v in (item if isinstance(item, list) else [item]) if isinstance(v, dict)]
    named = [
        {"strategy": v["name"], **v} if "name" in v and "strategy" not in v else v for v in map(_snake_case, inner)
    ]
    return [v for v in named if "strategy" in v]


_ALIASES = {
    "std": "standard",
    "language_standard": "standard",
    "opt": "optimization",
    "opt_level": "optimization",
    "optimization_level": "optimization",
    "optimisation": "optimization",
    "use_fast_math": "fast_math",
    "maxrregcount": "max_registers",
    "max_reg_count": "max_registers",
    "macros": "defines",
}
_REMARKS = frozenset({"reasoning", "reason", "rationale", "comment", "comments", "explanation", "notes", "note"})
_DEFAULTS = (None, "", "default", "none", "null", "auto")


def parse_spec(text: str) -> BuildSpec:
    """Return the Compiler's build options; numbers may be strings, and remarks beside the options are passed over.

    Raises:
        Unreadable: there is no JSON object, it has a field that is not on the list, or a value out of range.
    """
    text = strip_reasoning(text)
    fields = tuple(BuildSpec.model_fields)
    form = f"with fields out of {', '.join(fields)}"
    found = [
        {_ALIASES.get(name, name): item for name, item in _snake_case(value).items() if name not in _REMARKS}
        for value in json_objects(text)
    ]
    if not found:
        raise Unreadable(_no_object(text, form, [], ""))
    fitting = [value for value in found if set(value) & set(fields)]
    value = (fitting or found)[-1]
    if not set(value) & set(fields) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        value = _snake_case(inner)
    if unknown := sorted(set(value) - set(fields)):
        raise Unreadable(
            f"unknown field{'s' if len(unknown) > 1 else ''} {', '.join(unknown)}: use only {', '.join(fields)}"
        )
    given = {name: _spelled(name, item) for name, item in value.items()}
    try:
        return BuildSpec.model_validate(
            {n: v for n, v in given.items() if not (isinstance(v, (str, type(None))) and v in _DEFAULTS)}
        )
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, e['loc'])) or 'defines'}: {e['msg']}, was {e['input']!r}"[:200] for e in error.errors()
        ]
        raise Unreadable("; ".join(dict.fromkeys(faults))) from None


def _spelled(name: str, value: object) -> object:
    """Return a build option in our spelling where another is plain: `O3`, `C++17`, `["TILE=32"]`."""
    if name == "optimization" and isinstance(value, (str, int)):
        return "-O" + str(value).lstrip("-").upper().removeprefix("O") if str(value) not in _DEFAULTS else None
    if name == "standard" and isinstance(value, (str, int)):
        return "c++" + str(value).lower().removeprefix("-std=").removeprefix("c++") if value not in _DEFAULTS else None
    if name == "defines" and isinstance(value, list) and all(isinstance(v, str) and "=" in v for v in value):
        return dict(v.removeprefix("-D").split("=", 1) for v in value)
    return value.strip() if isinstance(value, str) else value


def _no_object(text: str, form: str, found: list[dict[str, Any]], otherwise: str) -> str:
    ask = f"answer with one JSON object {form} and nothing else"
    if not text.strip():
        return f"it was empty: {ask}"
    if found:
        return f"{otherwise}: {ask}"
    fault = json_fault(text)
    return f"its JSON can't be read ({fault}): {ask}" if fault else f"it held no JSON object: {ask}"


def _snake_case(value: dict[Any, Any]) -> dict[str, Any]:
    """Return an object with its keys in snake case: `Expected Effect` and `expectedEffect` are `expected_effect`."""
    return {re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", str(key).strip()).lower(): item for key, item in value.items()}


def _labelled(text: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return `Name: value` lines of prose as an object; a value runs to the next name."""
    label = "|".join(name.replace("_", "[ _]") for name in names)
    pieces = re.split(rf"^[\s*#>-]*({label})\s*[*]*\s*:[*]*", text, flags=re.M | re.I)
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return {name.lower().replace(" ", "_"): value.strip() for name, value in pairs}


def _words(value: object, limit: int) -> str:
    """Return a value as one line of at most `limit` characters."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    line = " ".join(", ".join(map(str, items)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
