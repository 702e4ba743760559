"""The public Python functions: what the command line does, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from langgraph.runtime import RunControl

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..nodes.context import PRESETS
from ..prompts.brief import AGENTS
from ..tools.device.select import get_device
from ..tools.result.summary import Summary
from . import fork as forking
from . import run
from .build import Node
from .checkpoints import Kind
from .errors import RunError
from .manifest import read_options

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Model: TypeAlias = "str | BaseChatModel"
"""A name (`offline`, `mailbox`, `openai:<name>`, …) or a LangChain chat model."""


def optimize(
    task: str | Path,
    *,
    precision: Precision | Literal["fp32", "bf16"] = "fp32",
    device: Literal["auto", "cuda", "cpu"] = "auto",
    model: Model | None = None,
    models: Mapping[str, Model] | None = None,
    source: Path | str | None = None,
    preset: str | None = None,
    run_id: str = "",
    home: Path | str | None = None,
    checkpoints: Kind = "sqlite",
    wait_for_device: bool = False,
    nodes: Mapping[str, Node] | None = None,
    on_step: run.OnStep | None = None,
    control: RunControl | None = None,
    extras: run.Extras | None = None,
    **options: Any,
) -> Summary:
    """Make one unit's kernel faster and return what came of it.

    Args:
        task: a task of the benchmark, or a folder of your own (`cudamaster init`).
        precision: `fp32` or `bf16`.
        device: `cuda`, `cpu`, or `auto`: cuda if a GPU answers.
        model: who answers: a name, or a LangChain chat model; None: `offline`.
        models: another one for an agent: `planner`, `coder`, `compiler`, `debugger`.
        source: a `.cu` file to begin with; None: the task's naive baseline.
        preset: `paper` for the loop as the paper describes it; `options` go before it.
        run_id: a name for the run; empty: one is made.
        home: the folder for runs and artifacts; None: `$CUDAMASTER_HOME` or `.cudamaster`.
        checkpoints: `sqlite`: a file in the run's folder; `postgres`: the server that `$CUDAMASTER_POSTGRES` names.
        wait_for_device: start although the device is not on this machine; the run then waits for it.
        nodes: functions in the place of the graph's nodes, by name (see `build_graph`).
        on_step: called at every start and end of a node.
        control: ask it to drain, and the run stops between two steps, to be resumed.
        extras: streaming; `stream` fills it.
        options: fields of `Options`, e.g. `rounds`, `repairs`, `profile`, `max_usd`.

    Chat models and nodes are not stored: give them to `resume` again.

    Raises:
        UnknownTask, DeviceUnavailable, ModelConfigError, RunError: one clear line each, before anything is lost.
    """
    text = read_source(Path(source)) if source is not None else ""
    load_task(str(task))
    name = device if device != "auto" else get_device("auto").name
    named, given = _split(model, models)
    values = {**PRESETS.get(preset or "", {}), **{k: v for k, v in options.items() if v is not None}, **named}
    values["device"] = name
    if preset is not None and preset not in PRESETS:
        raise RunError(f"unknown preset {preset!r}: there is {', '.join(PRESETS)}")
    if precision not in list(Precision):
        raise RunError(f"unknown precision {precision!r}: there is {', '.join(Precision)}")
    if checkpoints not in get_args(Kind):
        raise RunError(f"unknown checkpoints {checkpoints!r}: there is {', '.join(get_args(Kind))}")
    return run.start(
        str(task),
        precision,
        read_options(values),
        run_id=run_id,
        home=_path(home),
        source=text,
        source_name=Path(source).name if source is not None else "",
        checkpoints=checkpoints,
        wait_for_device=wait_for_device,
        on_step=on_step,
        control=control,
        extras=_extras(extras, given, nodes),
    )


def resume(
    run_id: str,
    *,
    home: Path | str | None = None,
    model: Model | None = None,
    models: Mapping[str, Model] | None = None,
    nodes: Mapping[str, Node] | None = None,
    on_step: run.OnStep | None = None,
    control: RunControl | None = None,
    extras: run.Extras | None = None,
    **changes: Any,
) -> Summary:
    """Go on with a run that was interrupted or waits for its device, or with more budget (`max_usd=2.0`).

    Raises:
        RunError: there is no such run, it has ended, another process has it, or it cannot be read.
    """
    named, given = _split(model, models)
    return run.resume(
        run_id,
        home=_path(home),
        changes={k: v for k, v in {**changes, **named}.items() if v is not None},
        on_step=on_step,
        control=control,
        extras=_extras(extras, given, nodes),
    )


def answer(run_id: str, question_id: str, reply: str, *, home: Path | str | None = None) -> Summary:
    """Answer the open question of a run whose model is `mailbox`, and go on.

    Raises:
        NoSuchQuestion: it is not open. ModelError: the reply cannot be used. RunError: as for `resume`.
    """
    return run.answer(run_id, question_id, reply, home=_path(home))


def points(run_id: str, *, home: Path | str | None = None) -> tuple[forking.Point, ...]:
    """Return the ends of rounds that `fork` can go back to, oldest first."""
    return forking.points(run_id, _path(home))


def fork(run_id: str, *, after_round: int, new_run: str = "", home: Path | str | None = None, **changes: Any) -> str:
    """Copy a run as it was after a round to a new one and return its id; `resume` goes on with it.

    `changes` are options of the new run: another `model`, more `rounds`. It asks its own questions from there on.

    Raises:
        RunError: there is no such run or round, the new id is taken, or an option is wrong.
    """
    return forking.fork(run_id, after_round, new_run=new_run, changes=changes, home=_path(home))


def read_source(path: Path) -> str:
    """Return the text of a file, without the mark that some editors put before it.

    Raises:
        RunError: it cannot be read, or holds nothing.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RunError(f"{path} cannot be read: {reason}") from None
    if not text.strip():
        raise RunError(f"{path} is empty")
    return text


def _path(home: Path | str | None) -> Path | None:
    return Path(home) if home is not None else None


def _split(model: Model | None, models: Mapping[str, Model] | None) -> tuple[dict[str, Any], dict[str, BaseChatModel]]:
    """Return what the options keep of the models, by name, and the chat models that a program made, by agent."""
    given: dict[str, BaseChatModel] = {}
    named: dict[str, Any] = {}
    if isinstance(model, str):
        named["model"] = model
    elif model is not None:
        named["model"] = _label(model)
        given = dict.fromkeys(AGENTS, model)
    by_agent: dict[str, str] = {}
    for agent, one in (models or {}).items():
        if agent not in AGENTS:
            raise RunError(f"unknown agent {agent!r}: there are {', '.join(AGENTS)}")
        if isinstance(one, str):
            given.pop(agent, None)
            by_agent[agent] = one
        else:
            given[agent] = one
            by_agent[agent] = _label(one)
    if models:
        named["models"] = by_agent
    return named, given


def _label(model: BaseChatModel) -> str:
    return f"python:{type(model).__name__}"


def _extras(
    extras: run.Extras | None, chat_models: Mapping[str, BaseChatModel], nodes: Mapping[str, Node] | None
) -> run.Extras:
    told = extras or run.NO_EXTRAS
    return run.Extras(
        chat_models=chat_models, nodes=nodes or {}, stream_modes=told.stream_modes, on_event=told.on_event
    )
