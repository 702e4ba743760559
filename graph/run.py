"""The only entries of a run: start it, go on with it, answer what it asks."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command, Interrupt, StateSnapshot, StreamMode

from ..benchmark.contract import Precision
from ..benchmark.registry import lasting_name, load_task
from ..models.errors import ModelError, ModelUnavailable, QuotaExhausted
from ..models.mailbox import Answer, deliver
from ..nodes.context import Context, Options
from ..nodes.state import Input, State
from ..tools.device.port import DeviceUnavailable
from ..tools.result.summary import RunStatus, Summary
from .build import Graph, Node, build_graph, graph_version
from .checkpoints import Kind, check_checkpoints, open_checkpoints, prune
from .errors import ModelRefused, NoSuchQuestion, OtherGraph, RunError, RunExists, RunFinished, RunInterrupted
from .manifest import (
    Manifest,
    check_run_id,
    context_of,
    id_part,
    is_locked,
    locked,
    make_folder,
    now,
    read_manifest,
    read_options,
    run_folder,
    run_ids,
    write_manifest,
)
from .routing import recursion_limit
from .summarize import summarize
from .tracing import traced

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_LOG: Final = logging.getLogger(__name__)

TERMINAL: Final = frozenset({"improved", "no_gain", "failed"})
"""Statuses after which there is nothing to go on with."""


class Step(NamedTuple):
    """A node that starts or has finished: what a live view shows."""

    event: Literal["start", "end"]
    node: str
    number: int
    """Of the step, from 1 over the whole life of the run."""
    round: int
    attempt: int
    note: str = ""
    """At the end: one line about what came of it."""
    seconds: float = 0.0
    rounds: int = 0
    """That the run has in all."""
    route: str = ""
    """At the end: the node that comes next."""


OnStep = Callable[[Step], None]
OnEvent = Callable[[str, Any], None]
"""Called with a LangGraph stream mode and what the graph streams in it."""


@dataclass(frozen=True)
class Extras:
    """What a program brings into a run. None of it is stored: a resume is given it again."""

    chat_models: Mapping[str, BaseChatModel] = field(default_factory=dict)
    """By agent: who answers instead of the model that the options name."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """By name: functions in the place of the graph's own."""
    stream_modes: tuple[StreamMode, ...] = ()
    on_event: OnEvent | None = None


NO_EXTRAS: Final = Extras()


@dataclass(frozen=True)
class _Open:
    """A run that this process holds."""

    manifest: Manifest
    context: Context
    saver: BaseCheckpointSaver[Any]
    graph: Graph
    config: RunnableConfig
    extras: Extras

    def snapshot(self) -> StateSnapshot:
        return self.graph.get_state(self.config)

    def waits_for(self, snapshot: StateSnapshot) -> list[Interrupt]:
        """Return what the run waits for; a question whose answer is in the journal is none of it."""
        kept = self.context.journal.reply
        return [i for i in snapshot.interrupts if i.value["kind"] != "question" or kept(i.value["step"]) is None]

    def summary(
        self, snapshot: StateSnapshot, *, waits: bool = True, status: RunStatus = "interrupted", reason: str = ""
    ) -> Summary:
        state = cast("State", snapshot.values)
        pauses = self.waits_for(snapshot) if waits else ()
        return summarize(self.manifest, self.context, state, pauses, status, reason)


def new_run_id(unit: str) -> str:
    """Return an id that is not taken: the unit, the time, and four random digits."""
    return f"{id_part(unit)[:40] or 'run'}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{uuid4().hex[:4]}"


def start(
    task: str,
    precision: Precision | str = Precision.FP32,
    options: Options | None = None,
    *,
    run_id: str = "",
    home: Path | None = None,
    source: str = "",
    source_name: str = "",
    checkpoints: Kind = "sqlite",
    wait_for_device: bool = False,
    on_step: OnStep | None = None,
    control: RunControl | None = None,
    extras: Extras = NO_EXTRAS,
) -> Summary:
    """Start a run on one unit and go as far as it goes. `source`: CUDA source to begin with, else the task's baseline.

    Raises:
        UnknownTask, NoBaseline: no such task, or none in this precision.
        ModelError: a model cannot be had here, or a cap on money cannot be kept.
        DeviceUnavailable: this machine lacks the device (unless `wait_for_device`: then the run waits for it).
        RunError: a bad run id, one that is taken, or a home that cannot be written.
        RunInterrupted: `control` was asked to stop; `resume` goes on.
    """
    options = options or Options()
    definition = load_task(task)
    precision = Precision(precision)
    run_id = check_run_id(run_id or new_run_id(f"{definition.name}-{precision}"))
    folder = run_folder(run_id, home)
    manifest = Manifest(
        run_id=run_id,
        task=lasting_name(task),
        precision=precision,
        source_name=source_name,
        options=options,
        checkpoints=checkpoints,
        graph_version=graph_version(),
        task_sha256=definition.sha256,
        created=now(),
    )
    context = _context(manifest, home, extras)
    context.check_models()  # what cannot be had is said before anything is written
    check_checkpoints(checkpoints)
    if not source:
        definition.source(precision)
    if not wait_for_device:
        context.open_device().info()
    make_folder(folder)
    with locked(folder):
        if (folder / "manifest.json").exists():
            raise RunExists(
                f"run {run_id!r} exists: `cudamaster resume {run_id}` goes on with it; or choose another id"
            )
        if source:
            manifest = manifest.model_copy(update={"source": context.store.put(source)})
        write_manifest(manifest, folder)
        with _opened(manifest, context, extras) as run:
            return _advance(run, _input(manifest), on_step, control)


def resume(
    run_id: str,
    *,
    home: Path | None = None,
    changes: Mapping[str, Any] | None = None,
    on_step: OnStep | None = None,
    control: RunControl | None = None,
    extras: Extras = NO_EXTRAS,
) -> Summary:
    """Go on with a run: after a crash, where its device is, or with a bigger budget (`changes` of its options).

    A run with an open question stays as it is: `answer` goes on with it.

    Raises:
        UnknownRun, RunFinished, RunBusy, OtherGraph, BadCheckpoint: as they say.
        RunInterrupted: `control` was asked to stop.
    """
    manifest = read_manifest(run_id, home)
    _same_program(manifest)
    folder = run_folder(run_id, home)
    with locked(folder):
        if changes:
            options = read_options(manifest.options.model_dump() | dict(changes))
            manifest = manifest.model_copy(update={"options": options})
            write_manifest(manifest, folder)
        context = _context(manifest, home, extras)
        with _opened(manifest, context, extras) as run:
            snapshot = run.snapshot()
            if snapshot.created_at is None:  # it ended before its first checkpoint, or the file was taken away
                return _advance(run, _input(manifest), on_step, control)
            _unfinished(run, snapshot)
            if not snapshot.interrupts:
                return _advance(run, None, on_step, control)
            pause = snapshot.interrupts[0]
            if run.waits_for(snapshot) and not _can_go_on(pause.value["kind"], context, changes):
                return run.summary(snapshot)
            return _advance(run, Command(resume={pause.id: True}), on_step, control)


def answer(
    run_id: str,
    question_id: str,
    reply: Any,
    *,
    home: Path | None = None,
    on_step: OnStep | None = None,
    control: RunControl | None = None,
    extras: Extras = NO_EXTRAS,
) -> Summary:
    """Answer a run's open question with a model's reply, and go on.

    Raises:
        NoSuchQuestion: it is not open: unknown, stale, or answered before.
        ModelError: the reply is neither a text nor an `Answer`.
        UnknownRun, RunFinished, RunBusy, OtherGraph, BadCheckpoint: as they say.
    """
    manifest = read_manifest(run_id, home)
    _same_program(manifest)
    with locked(run_folder(run_id, home)):
        context = _context(manifest, home, extras)
        with _opened(manifest, context, extras) as run:
            snapshot = run.snapshot()
            _unfinished(run, snapshot)
            asked = {i.value["id"]: i for i in run.waits_for(snapshot) if i.value["kind"] == "question"}
            if question_id not in asked:
                raise NoSuchQuestion(
                    f"run {run_id!r} has no open question {question_id!r} (open: {', '.join(asked) or 'none'})"
                )
            pause = asked[question_id]
            deliver(Answer.read(reply), step=pause.value["step"], journal=context.journal, budget=context.budget)
            return _advance(run, Command(resume={pause.id: True}), on_step, control)


def look(run_id: str, *, home: Path | None = None) -> Summary:
    """Return what is known of a run without advancing it.

    Raises:
        UnknownRun, BadCheckpoint: as they say.
    """
    manifest = read_manifest(run_id, home)
    context = context_of(manifest, home)
    with _opened(manifest, context) as run:
        if is_locked(context.folder):
            return run.summary(run.snapshot(), waits=False, status="running")
        return run.summary(run.snapshot())


def list_runs(home: Path | None = None) -> list[Summary]:
    """Return all runs of a home, oldest first; of one that cannot be read, why."""
    found = []
    for run_id in run_ids(home):
        try:
            found.append(look(run_id, home=home))
        except (RunError, ModelError) as error:
            found.append(_unreadable(run_id, home, str(error)))
    return found


def _unreadable(run_id: str, home: Path | None, reason: str) -> Summary:
    known = dict.fromkeys(("unit", "task", "precision", "device"), "?")
    with suppress(RunError):
        manifest = read_manifest(run_id, home)
        known = {
            "unit": manifest.unit,
            "task": manifest.task,
            "precision": manifest.precision,
            "device": manifest.options.device,
        }
    return Summary(run=run_id, status="interrupted", reason=reason, **known)


def _context(manifest: Manifest, home: Path | None, extras: Extras) -> Context:
    context = context_of(manifest, home)
    return context.with_chat_models(extras.chat_models) if extras.chat_models else context


@contextmanager
def _opened(manifest: Manifest, context: Context, extras: Extras = NO_EXTRAS) -> Iterator[_Open]:
    with open_checkpoints(context.folder, kind=manifest.checkpoints) as saver:
        config: RunnableConfig = {
            "configurable": {"thread_id": manifest.run_id},
            "recursion_limit": recursion_limit(context.rounds, context.repairs),
            "run_name": f"{manifest.run_id} {manifest.unit}",
            "tags": [manifest.unit],
            "metadata": {
                "unit": manifest.unit,
                "run": manifest.run_id,
                "model": context.model,
                "device": context.device,
            },
        }
        yield _Open(manifest, context, saver, build_graph(saver, nodes=extras.nodes), config, extras)


def _input(manifest: Manifest) -> Input:
    return {
        "task": manifest.task,
        "precision": manifest.precision.value,
        "source": manifest.source,
        "source_name": manifest.source_name,
    }


def _same_program(manifest: Manifest) -> None:
    if manifest.graph_version != graph_version():
        raise OtherGraph(
            f"run {manifest.run_id!r} was begun by another version of the graph ({manifest.graph_version}, this is "
            f"{graph_version()}): finish it with that version, or start the unit again"
        )
    if load_task(manifest.task).sha256 != manifest.task_sha256:
        raise OtherGraph(
            f"task {manifest.task!r} has changed since run {manifest.run_id!r} began: its results would not belong "
            "together; start the unit again"
        )


def _unfinished(run: _Open, snapshot: StateSnapshot) -> None:
    status = snapshot.values.get("status", "")
    if not snapshot.next and status in TERMINAL:
        raise RunFinished(
            f"run {run.manifest.run_id!r} has ended ({status}): its result is in {run.context.folder / 'result'}"
        )


def _can_go_on(kind: str, context: Context, changes: Mapping[str, Any] | None) -> bool:
    if kind == "question":
        return False
    if kind == "budget":
        return bool(changes)
    try:
        context.open_device().info()
    except DeviceUnavailable:
        return False
    return True


def _advance(
    run: _Open, order: Input | Command[Any] | None, on_step: OnStep | None, control: RunControl | None
) -> Summary:
    """Run the graph until it ends or pauses; the state's terminal status says whether it ended."""
    trace, extras = _Trace(run, on_step), run.extras
    try:
        with traced():
            for mode, event in run.graph.stream(
                order,
                run.config,
                context=run.context,
                durability="sync",
                stream_mode=["tasks", *(mode for mode in extras.stream_modes if mode != "tasks")],
                control=control,
            ):
                if mode == "tasks":
                    trace.note(cast("dict[str, Any]", event))
                    if trace.round_closed:
                        prune(run.saver, run.manifest.run_id)
                if extras.on_event and mode in extras.stream_modes:
                    extras.on_event(mode, event)
    except (ModelUnavailable, QuotaExhausted) as error:
        return run.summary(run.snapshot(), status="waiting_model", reason=str(error))
    except ModelError as error:
        goes_on = f"nothing is lost: mend that, then `cudamaster resume {run.manifest.run_id}`"
        raise ModelRefused(f"{error}; {goes_on}") from None
    except OSError as error:  # a full disk; a folder that somebody took away
        where, why = error.filename or run.context.folder, error.strerror or str(error)
        goes_on = f"mend that, then `cudamaster resume {run.manifest.run_id}`, if its folder is still there"
        raise RunError(f"{where} cannot be used ({why}): {goes_on}") from error
    except GraphDrained:
        raise RunInterrupted(
            f"stopped between two steps, nothing is lost: `cudamaster resume {run.manifest.run_id}` goes on"
        ) from None
    finally:
        prune(run.saver, run.manifest.run_id, compact=True)
    snapshot = run.snapshot()
    if not snapshot.interrupts and snapshot.values.get("status") not in TERMINAL:
        raise RuntimeError(f"run {run.manifest.run_id!r} ended at {snapshot.values.get('route')!r} without a status")
    return run.summary(snapshot)


class _Trace:
    """Writes every start and end of a node to `trace.jsonl`, and tells the live view."""

    def __init__(self, run: _Open, on_step: OnStep | None) -> None:
        self.run_id = run.manifest.run_id
        self.file = run.context.folder / "trace.jsonl"
        self.on_step = on_step
        self.rounds = run.context.rounds
        snapshot = run.snapshot()
        self.number = max(0, int((snapshot.metadata or {}).get("step", 0)))
        self.state = cast("State", snapshot.values)
        self.began = 0.0
        self.round_closed = False

    def note(self, event: dict[str, Any]) -> None:
        node = event["name"]
        if "input" in event:
            self.number += 1
            self.began = time.monotonic()
            self.state = event["input"]
            step = self._step("start", node)
        else:
            result = dict(event.get("result") or {})
            step = self._step("end", node, _account(node, result), time.monotonic() - self.began)
            step = step._replace(route=result.get("route", ""))
        self.round_closed = step.event == "end" and node == "recorder"
        with open(self.file, "a") as file:
            file.write(json.dumps({**step._asdict(), "at": round(time.time(), 3)}) + "\n")
        self._log(step)
        if self.on_step:
            self.on_step(step)

    def _log(self, step: Step) -> None:
        level = logging.INFO if step.event == "end" else logging.DEBUG
        told = f"{self.run_id} round {step.round}/{step.rounds} {step.node} {step.event}"
        told += f": {step.note}" if step.note else ""
        _LOG.log(level, "%s", told, extra={"run": self.run_id, **step._asdict()})

    def _step(self, event: Literal["start", "end"], node: str, note: str = "", seconds: float = 0.0) -> Step:
        state = self.state
        where = (state.get("round", 0), state.get("attempt", 0))
        return Step(event, node, self.number, *where, note, round(seconds, 3), self.rounds)


def _account(node: str, update: dict[str, Any]) -> str:
    """Return one line about what a node's update says."""
    if update.get("complaint"):
        return f"answer could not be used: {update['complaint']}"
    if update.get("stop"):
        return str(update["stop"])
    if node == "planner" and update.get("plan"):
        return str(update["plan"]["strategy"])
    if node in ("build", "run") and update.get("word"):
        word, candidate = update["word"], update.get("candidate") or {}
        gain = f", {candidate['value']:.3g}x" if candidate.get("gain") else ""
        told = word["summary"].removeprefix(f"{word['status']}: ")
        return f"{word['status']}{gain}" + (f": {told}" if word["status"] != "pass" else "")
    if node == "tuner" and update.get("candidate"):
        return str(update["candidate"].get("tuned", ""))
    if node == "profiler" and update.get("candidate"):
        return str(update["candidate"].get("bottleneck", "")).replace("_", " ")
    if node == "prepare" and update.get("baseline"):
        return str(update["baseline"].get("bottleneck", "")).replace("_", " ")
    return str(update.get("status", ""))
