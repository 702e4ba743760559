"""The part of a file that its launcher needs, changed so that it can be run inside the contract."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from ..judge.screen import allowed_header
from .cpp import Edit, Function, Item, Source, calls, edited, launches, text, walk, words
from .errors import NotATask
from .launcher import STREAM, Launcher, find_launcher, launching

_REPORTS = re.compile(r"\b(exit|abort|throw|printf|fprintf|cerr|cout|quick_exit|perror)\b")
_DEFAULT_STREAM = ("0", "nullptr", "NULL")
_WAITS = frozenset({"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaThreadSynchronize"})
_ONLY_CHECKS = re.compile(
    r"(?:[\w:]+\s*\(\s*)?cuda(?:Get|Peek(?:At)?)LastError\s*\(\s*\)\s*\)?\s*;"
    r"|(?:[\w:]+\s*\(\s*)?cuda(?:Device|Stream|Thread)Synchronize\s*\(\s*\w*\s*\)\s*\)?\s*;"
)
"""A statement that only waits or asks for the last error, with or without a macro around it."""
_SAYS = re.compile(r"(std\s*::\s*)?((cerr|cout)\b|(printf|fprintf|puts|perror|exit|abort)\s*\()")
"""A statement that tells people something, or ends the program."""
_CHECKED = re.compile(r"\b([A-Z]\w*)\s*\(\s*cuda[A-Z]\w*\s*\(")
_INSTEAD = {
    r"cudaMalloc\w*|cudaFree\w*|cudaHostAlloc": "allocate outside and pass the buffer as a parameter",
    r"cudaMemcpyToSymbol\w*": "pass the table as a `const float*` parameter, or initialise the __constant__ array in "
    "the source",
    r"cudaMemcpy\w*": "copy outside: the launcher takes device pointers",
    r"cudaEvent\w*": "time outside",
    r"cudaStream(Create|Destroy)\w*": "take a cudaStream_t parameter",
    r"cuda\w*Texture\w*|cudaBindTexture|tex[123]D\w*": "read from a `const float*` parameter instead of a texture",
    r"(cublas|cudnn|cusparse|cufft|curand)\w*": "library calls cannot be optimised: leave them outside the launcher",
    r"cudaGraph\w*": "launch the kernels themselves; capture outside",
}

HEADERS_LEFT_OUT = "headers left out"
"""How the change is called that says so."""


@dataclass(frozen=True)
class Extract:
    """What the launcher needs, in the order of the file, and what was changed in it."""

    text: str
    launcher: Launcher
    """As it is in `text`."""
    changes: tuple[str, ...]
    """One sentence each."""
    waits: bool
    """The original launcher waited for the device."""
    check: str
    """The macro with which it checked errors; empty: none."""


def extract(source: Source, launcher: Launcher, file: str) -> Extract:
    """Return what the launcher needs, without checks, on a stream.

    Waiting for the device and reports of errors go: the contract forbids them in the call, and its caller does both.

    Raises:
        NotATask: the launcher does what no kernel call may do.
    """
    changes: list[str] = []
    hosts = _hosts(source, launcher)
    _refuse(hosts, file)
    edits = _quiet_macros(source, hosts, changes)
    waits = any(name in _WAITS for f in hosts for name, _ in calls(f.body))
    check = next((m[1] for m in _CHECKED.finditer(text(launcher.function.body))), "")
    for function in hosts:
        edits += _without_checks(function, changes)
    edits += _streamed(source, hosts, changes)
    if launcher.function.returns == "int":
        changes.append(f"{launcher.function.name}: its int is not looked at; the drop-in returns CUDA's error code")
    adapted = Source(edited(source.text, edits))

    kept = _needed(adapted, launcher.function.name)
    dropped = [item for item in adapted.items if item not in kept]
    names = sorted({name for item in dropped for name in item.defines if name})
    if names:
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        changes.append(f"left out, since the launcher does not need it: {shown}")
    made = edited(adapted.text, [*(without(item.node) for item in dropped), *_includes(adapted, changes)])
    made = without_empty_scopes(re.sub(r"\n[ \t]*\n\s*\n", "\n\n", made).strip() + "\n")
    again = find_launcher(
        Source(made), file, name=launcher.function.qualified,
        template={t.name: a for t, a in zip(launcher.function.template, launcher.arguments, strict=True) if a != "T"},
    )  # fmt: skip
    return Extract(made, again, tuple(dict.fromkeys(changes)), waits, check)


def _hosts(source: Source, launcher: Launcher) -> list[Function]:
    """Return the launcher and the host functions of the file that it calls, directly or not."""
    found, todo = [], [launcher.function]
    while todo:
        function = todo.pop()
        if function in found:
            continue
        found.append(function)
        called = {name for name, _ in calls(function.body)}
        todo += [f for f in source.functions if f.kind == "host" and f.name in called]
    return found


def _needed(source: Source, name: str) -> list[Item]:
    """Return the items that a function needs, itself included: every item whose name turns up in one that is needed."""
    by_name: dict[str, list[Item]] = {}
    for item in source.items:
        for defined in item.defines:
            by_name.setdefault(defined, []).append(item)
    wanted, kept = [name], []
    seen: set[str] = set()
    while wanted:
        current = wanted.pop()
        if current in seen:
            continue
        seen.add(current)
        for item in by_name.get(current, []):
            if item not in kept and item.node.type != "template_instantiation":
                kept.append(item)
                wanted += words(text(item.node))
    spaces = {part for item in source.items for part in item.scope} | {"std", "nvcuda", "cooperative_groups", "cub"}
    for item in source.items:
        general = item.node.type in ("using_declaration", "preproc_call", "static_assert_declaration")
        stray = item.node.type == "using_declaration" and not words(text(item.node)) & spaces
        stray = stray or "_macro" in text(item.node)  # #pragma push_macro of an earlier drop-in
        if item not in kept and not item.defines and general and not stray:
            kept.append(item)
    return [item for item in source.items if item in kept or item.node.type == "preproc_include"]


def without(node: Node) -> Edit:
    """Return the edit that drops a thing with the comments right above it."""
    end = node.end_byte
    following = node.next_sibling
    if following is not None and following.type == ";" and following.start_byte == end:
        end = following.end_byte
    start = node.start_byte
    previous = node.prev_sibling
    while previous is not None and previous.type == "comment" and node.start_point[0] - previous.end_point[0] <= 1:
        start, node, previous = previous.start_byte, previous, previous.prev_sibling
    return start, end, ""


def _includes(source: Source, changes: list[str]) -> list[Edit]:
    found, gone = [], []
    for node in walk(source.root):
        if node.type == "preproc_include":
            name = text(node.child_by_field_name("path")).strip('<>"')
            if not allowed_header(name):
                found.append((node.start_byte, node.end_byte, ""))
                gone.append(name)
    if gone:
        changes.append(f"{HEADERS_LEFT_OUT}: {', '.join(dict.fromkeys(gone))}")
    return found


def _refuse(hosts: list[Function], file: str) -> None:
    found = []
    for function in hosts:
        for name, call in calls(function.body):
            advice = next((a for pattern, a in _INSTEAD.items() if re.fullmatch(pattern, name)), "")
            if not advice or name == "cudaMemcpyAsync" or (name == "cudaMemcpy" and "DeviceToDevice" in text(call)):
                continue
            found.append(f"  - {function.name}: {' '.join(text(call).split())}: {advice}")
    if found:
        raise NotATask(f"{file}: a launcher only launches. What to change:\n" + "\n".join(found))


def _quiet_macros(source: Source, hosts: list[Function], changes: list[str]) -> list[Edit]:
    """Turn macros that report errors and end the program into ones that only evaluate what they check."""
    used = {word for f in hosts for word in words(text(f.body))}
    noisy = {f.name for f in source.functions if f.kind == "host" and _REPORTS.search(text(f.body))}
    found = []
    for item in source.items:
        node = item.node
        if node.type != "preproc_function_def":
            continue
        name, body = text(node.child_by_field_name("name")), text(node.child_by_field_name("value"))
        if name in used and (_REPORTS.search(body) or words(body) & noisy):
            parameters = text(node.child_by_field_name("parameters"))
            first = re.sub(r"[()\s.]", "", parameters).split(",")[0] or "__VA_ARGS__"
            new = f"#define {name}{parameters} static_cast<void>({first})\n"
            found.append((node.start_byte, node.end_byte, new))
            changes.append(f"{name} evaluates what it checks and reports nothing")
    return found


def _without_checks(function: Function, changes: list[str]) -> list[Edit]:
    """Drop what reports an error, waits for the device, or asks for an error only to report it."""
    found: list[Edit] = []
    for node in walk(function.body):
        if node.type == "if_statement":
            body = node.child_by_field_name("consequence")
            simple = node.child_by_field_name("alternative") is None
            if simple and body is not None and _REPORTS.search(text(body)) and not launches(body):
                found.append((node.start_byte, node.end_byte, ""))
                changes.append(
                    f"{function.name}: the report of an error is left out: {' '.join(text(node).split())[:60]}…"
                )
        elif node.type == "throw_statement" or (node.type == "expression_statement" and _SAYS.match(text(node))):
            found.append((node.start_byte, node.end_byte, ";"))
            changes.append(f"{function.name}: {' '.join(text(node).split())[:60]} is left out")
        elif node.type == "expression_statement" and _ONLY_CHECKS.fullmatch(text(node)):
            found.append((node.start_byte, node.end_byte, ""))
    for name, call in calls(function.body):
        if name in _WAITS:
            found.append((call.start_byte, call.end_byte, "cudaGetLastError()"))
            changes.append(f"{function.name}: {name} is left out")
    return found


def _streamed(source: Source, hosts: list[Function], changes: list[str]) -> list[Edit]:
    """Let everything go to the given stream: functions without a stream parameter get one."""
    busy = {f.name for f in launching(source)}
    places = {f.name: _stream_place(f) for f in hosts if f.name in busy}
    found: list[Edit] = []
    for function in hosts:
        place = places.get(function.name)
        if function.name in places and place is None:
            found.append(_appended(function.node.child_by_field_name("declarator"), f"{STREAM} stream"))
            changes.append(f"{function.name} takes a stream")
        here = function.parameters[place].name if place is not None else "stream"
        for launch in launches(function.body):
            given = launch.configuration
            if len(given) < 4 or given[3] in _DEFAULT_STREAM:
                full = [*given[:2], given[2] if len(given) > 2 else "0", here]
                found.append((launch.syntax.start_byte, launch.syntax.end_byte, f"<<<{', '.join(full)}>>>"))
        for name, call in calls(function.body):
            if name in ("cudaMemset", "cudaMemcpy"):
                callee = call.child_by_field_name("function")
                assert callee is not None
                found.append((callee.start_byte, callee.end_byte, f"{name}Async"))
                found.append(_appended(call, here))
            elif name in places:
                found += _passed_on(call, places[name], here)
    return found


def _stream_place(function: Function) -> int | None:
    return next((place for place, p in enumerate(function.parameters) if p.type == STREAM), None)


def _passed_on(call: Node, place: int | None, stream: str) -> list[Edit]:
    """Return the edit by which a call hands the stream on; one that passes a stream of its own stays as it is."""
    listed = call.child_by_field_name("arguments")
    arguments = [n for n in listed.named_children if n.type != "comment"] if listed is not None else []
    if place is None or place >= len(arguments):  # it gets a parameter, or leaves one with a default out
        return [_appended(call, stream)]
    given = arguments[place]
    return [(given.start_byte, given.end_byte, stream)] if text(given) in _DEFAULT_STREAM else []


def _appended(node: Node | None, argument: str) -> Edit:
    """Return the edit that adds an argument to a call, or a parameter to a declarator."""
    assert node is not None
    while node.type == "pointer_declarator":
        inner = node.child_by_field_name("declarator")
        assert inner is not None
        node = inner
    listed = node.child_by_field_name("arguments") or node.child_by_field_name("parameters")
    assert listed is not None
    end = listed.end_byte - 1
    empty = not listed.named_children
    return end, end, argument if empty else f", {argument}"


def _within(inner: Node, outer: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def without_empty_scopes(made: str) -> str:
    """Drop the marks of headers of which nothing is left, and namespaces that are empty."""
    for pattern in (
        r"// --- from ([^\n]+)\n\s*// --- end of \1\n?",
        r"(inline\s+)?namespace\s*[\w:]*\s*\{\s*\}(\s*//[^\n]*)?\n?",
        r'extern\s+"C"\s*\{\s*\}(\s*//[^\n]*)?\n?',
    ):
        while (fewer := re.sub(pattern, "", made)) != made:
            made = fewer
    return made
