"""Make a task folder from a `.cu` file: parse, guess, write, and try the original on this machine."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...benchmark.contract import Precision, Role, evaluate
from ...benchmark.registry import load_task
from ...benchmark.task import CaseSet, Task
from ..device.port import Device, Unsupported
from ..device.select import get_device
from ..judge.screen import screen
from ..judge.verify import verify
from ..records import Candidate, Record
from .adapter import adapted, entry_name
from .cpp import Source
from .errors import NotATask
from .extract import HEADERS_LEFT_OUT, Extract, extract
from .flatten import flatten, read_file
from .guess import Guess, guess
from .launcher import Launcher, find_launcher
from .origin import FILE, FOLDER, Origin
from .task_file import task_text

_SCRATCH = re.compile(r".*(scratch|workspace|partial|tmp|temp|buffer|intermediate).*", re.IGNORECASE)
_MULTIPLES = (1, 32, 256)

Ask = Callable[[str, str, str], str]
"""Of a parameter, what is wanted (`role`, `shape` or `value`) and the guess: the answer."""


class Parameter(Record):
    """What a parameter of the launcher was taken for."""

    name: str
    role: str
    """in, out, inout, size, scalar, or scratch."""
    shape: str = ""
    value: float | None = None
    """Of a scalar."""
    guessed: bool
    why: str


class Initiated(Record):
    """A task folder that was made."""

    folder: str
    launcher: str
    precisions: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    changes: tuple[str, ...]
    differential: bool
    checked: str
    """What the original did on this machine, in one line; empty: not tried."""


def init(
    source: Path,
    out: Path | None = None,
    *,
    launcher: str = "",
    include: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    template: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    shapes: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    reference: str = "",
    device: str = "auto",
    check: bool = True,
    ask: Ask | None = None,
) -> Initiated:
    """Write a task folder for a launcher of a file (default: `./<launcher>`), and try it.

    Args:
        launcher: its name, where the file has several.
        include, defines: as for the compiler: folders of the project's headers, and macros.
        template: values of template parameters.
        roles: `in`, `out`, `inout`, `size`, `scalar` or `scratch` for a parameter, instead of a guess.
        shapes: the number of elements of an array, in the sizes, instead of a guess.
        values: what a scalar is, instead of a guess.
        reference: `FILE.py:FUNCTION`, a definition in Python; else the original kernel is its own reference.
        device: where to try it.
        ask: called for every guess; else guesses are taken and marked.

    Raises:
        NotATask: the file or an argument cannot be used; the message says what to change.
        DeviceUnavailable: `check` on a device that this machine lacks.
    """
    if missing := [folder for folder in include if not folder.is_dir()]:
        raise NotATask(f"-I {missing[0]}: no such folder")
    flat = Source(flatten(source, include=include, defines=defines))
    chosen = find_launcher(flat, source.name, name=launcher, template=template)
    if not Source(read_file(source)).named(chosen.function.name):
        raise NotATask(f"{chosen.function.qualified} is not in {source} but in a header of it: give that file")
    taken = extract(flat, chosen, source.name)
    guesses, given = _guesses(taken, flat, {"role": roles or {}, "shape": shapes or {}, "value": values or {}}, ask)
    scratch = {
        n: g.shape
        for n, g in guesses.items()
        if (roles or {}).get(n) == "scratch" or (n not in given and _is_scratch(n, g))
    }
    folder = (out or Path(chosen.function.name)).resolve()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise NotATask(f"{folder} exists and is not an empty folder: choose another with --out")
    python, function = _reference(
        reference, [n for n, g in guesses.items() if n not in scratch and g.role is not Role.OUT]
    )
    where = get_device(device) if check else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        checked = _write_and_try(folder, source, taken, guesses, given, scratch, python, function, where)
    except BaseException as error:  # Ctrl-C, too, leaves nothing that looks like a task
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise NotATask(f"{error.filename or folder} cannot be written: {error.strerror}") from None
        raise
    return Initiated(
        folder=str(folder),
        launcher=chosen.function.qualified,
        precisions=tuple(p.value for p in _precisions(chosen)),
        parameters=tuple(
            Parameter(
                name=n,
                role="scratch" if n in scratch else g.role.value,
                shape=g.shape,
                value=g.value if g.role is Role.SCALAR else None,
                guessed=n not in given,
                why=g.why,
            )
            for n, g in guesses.items()
        ),
        changes=taken.changes,
        differential=not function,
        checked=checked,
    )


def _guesses(
    taken: Extract, flat: Source, told: Mapping[str, Mapping[str, str]], ask: Ask | None
) -> tuple[dict[str, Guess], frozenset[str]]:
    """Return what each parameter is for, and of which the user said so."""
    found = guess(Source(taken.text), taken.launcher, flat)
    if unknown := sorted({name for answers in told.values() for name in answers} - set(found)):
        raise NotATask(f"{taken.launcher.function.name} has no parameter {unknown[0]!r}: it has {', '.join(found)}")

    for name in told["value"]:
        if found[name].role is not Role.SCALAR and told["role"].get(name) != Role.SCALAR.value:
            role = found[name].role.value
            raise NotATask(f"value of {name}: its role is {role}; values are of scalars (--role {name}=scalar)")

    def answer(name: str, what: str, guessed: str) -> str:
        return told[what].get(name) or (ask(name, what, guessed) if ask else "")

    given: set[str] = set()
    for name, first in found.items():
        g = first
        role = answer(name, "role", g.role.value)
        if role and role != "scratch":
            try:
                g = replace(g, role=Role(role))
            except ValueError:
                raise NotATask(f"role of {name}: {role!r} is none of in, out, inout, size, scalar, scratch") from None
        detail = ""
        if g.role.is_array and (detail := answer(name, "shape", g.shape)):
            g = replace(g, shape=detail)
        elif g.role is Role.SCALAR and (detail := answer(name, "value", f"{g.value:g}")):
            g = replace(g, value=_number(name, detail))
        if role and (detail or g.role is Role.SIZE or role == "scratch"):
            given.add(name)
        found[name] = g
    sizes = {name: 1 for name, g in found.items() if g.role is Role.SIZE}
    for name, g in found.items():
        if g.role.is_array:
            try:
                evaluate(g.shape, sizes)
            except ValueError as error:
                raise NotATask(f"{name}: {error}") from None
    return found, frozenset(given)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NotATask(f"value of {name}: {text!r} is no number") from None


def _is_scratch(name: str, g: Guess) -> bool:
    return g.role is Role.INOUT and _SCRATCH.fullmatch(name) is not None


def _precisions(launcher: Launcher) -> tuple[Precision, ...]:
    if launcher.storage:
        return (Precision.FP32, Precision.BF16)
    low = any("bfloat16" in p.type for p in launcher.plain)
    return (Precision.BF16,) if low else (Precision.FP32,)


def _reference(given: str, wanted: Sequence[str]) -> tuple[str, str]:
    """Return the text of a Python file and the name of the function in it that is the reference."""
    if not given:
        return "", ""
    name, _, function = given.rpartition(":")
    path = Path(name)
    if not name or not path.is_file():
        raise NotATask(f"reference {given!r}: give FILE.py:FUNCTION")
    try:
        text = path.read_text("utf-8-sig")
        tree = ast.parse(text)
    except (SyntaxError, OSError, UnicodeDecodeError) as error:
        raise NotATask(f"{path} is no Python: {error}") from None
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if found is None:
        raise NotATask(f"{path} has no function {function!r}")
    if len(found.args.args) != len(wanted):
        raise NotATask(
            f"{path}: {function} takes {len(found.args.args)} arguments; it will be called with {len(wanted)}: "
            f"{', '.join(wanted)}"
        )
    return text, function


def _write_and_try(
    folder: Path,
    source: Path,
    taken: Extract,
    guesses: Mapping[str, Guess],
    given: frozenset[str],
    scratch: Mapping[str, str],
    reference: str,
    function: str,
    device: Device | None,
) -> str:
    launcher = taken.launcher
    entry = entry_name(launcher.function.name)
    title = f"{launcher.function.qualified} of {source.name}, in the form that task.py describes."
    (folder / FOLDER).mkdir()
    shutil.copy(source, folder / FOLDER / source.name)
    origin = Origin(
        file=source.name,
        launcher=launcher.function.qualified,
        template=launcher.arguments,
        storage=launcher.storage,
        scratch=tuple(scratch),
        waits=taken.waits,
        check=taken.check,
        changes=taken.changes,
    )
    (folder / FILE).write_text(origin.model_dump_json(indent=2) + "\n")
    tried = ""
    for multiple in _MULTIPLES:
        text = task_text(
            launcher, guesses, given, entry=entry, scratch=tuple(scratch), title=title.rstrip("."), multiple=multiple,
            reference=reference, reference_name=function,
        )  # fmt: skip
        (folder / "task.py").write_text(text)
        load_task.cache_clear()
        task = load_task(str(folder))
        for precision in _precisions(launcher):
            written = adapted(taken, task.contract, precision, scratch, title)
            if violations := screen(written, task.contract):
                listed = "\n".join(f"  - {v.what}: {v.why}" for v in violations)
                raise NotATask(f"{source.name}: what the launcher needs holds things that no kernel may:\n{listed}")
            (folder / f"{precision}.cu").write_text(written)
        if device is None:
            return ""
        try:
            tried = _try(task, _precisions(launcher)[0], device)
        except NotATask as error:
            headers = [change for change in taken.changes if change.startswith(HEADERS_LEFT_OUT)]
            advice = [f"{told}: say where those of the project are, with -I" for told in headers]
            raise NotATask("\n".join([str(error), *advice])) from None
        if not tried.startswith("FAILED"):
            return tried
    return tried


def _try(task: Task, precision: Precision, device: Device) -> str:
    """Build the original, run it at the small sizes, look for faults that results do not show; say what came of it."""
    source = task.source(precision)
    build = device.build(Candidate(source=source), task, precision)
    if not build.ok:
        raise NotATask(f"what was made of the file does not build on the {device.name} device:\n{build.log[-3000:]}")
    verdict = verify(build, task, precision, device, cases=task.in_set(CaseSet.SMALL), source=source)
    if not verdict.passed:
        return f"FAILED on the {device.name} device: {verdict.summary}"
    looked = ""
    try:
        if found := device.sanitize(build, task, precision, task.in_set(CaseSet.SMALL)[:2][-1:]):
            return f"FAILED on the {device.name} device: {found[0].reason}"
        looked = ", no race and no access out of bounds found"
    except Unsupported as error:
        looked = f" (not looked for races: {error})"
    return f"ran on the {device.name} device at {len(verdict.cases)} sizes{looked}"
