"""The public Python functions: what the command line does, for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from langgraph.runtime import RunControl
from pydantic import ValidationError

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..nodes.context import PRESETS, Options
from ..tools.device.select import get_device
from ..tools.result.summary import Summary
from . import run
from .checkpoints import Kind
from .errors import RunError


def optimize(
    task: str,
    *,
    precision: Precision | Literal["fp32", "bf16"] = "fp32",
    device: Literal["auto", "cuda", "cpu"] = "auto",
    source: Path | str | None = None,
    preset: str | None = None,
    run_id: str = "",
    home: Path | str | None = None,
    checkpoints: Kind = "sqlite",
    wait_for_device: bool = False,
    on_step: run.OnStep | None = None,
    control: RunControl | None = None,
    **options: Any,
) -> Summary:
    """Make one unit's kernel faster and return what came of it.

    Args:
        task: a task of the benchmark, or a folder of your own with `task.py`, `fp32.cu` and `bf16.cu`.
        precision: `fp32` or `bf16`.
        device: `cuda`, `cpu`, or `auto`: cuda if a GPU answers.
        source: a `.cu` file to begin with; None: the task's naive baseline.
        preset: `paper` for the loop as the paper describes it; `options` go before it.
        run_id: a name for the run; empty: one is made.
        home: the folder for runs and artifacts; None: `$CUDAMASTER_HOME` or `.cudamaster`.
        checkpoints: `sqlite`: a file in the run's folder; `postgres`: the server that `$CUDAMASTER_POSTGRES` names.
        wait_for_device: start although the device is not on this machine; the run then waits for it.
        on_step: called at every start and end of a node.
        control: ask it to drain, and the run stops between two steps, to be resumed.
        options: fields of `Options`, e.g. `model`, `rounds`, `repairs`, `profile`, `max_usd`.

    Raises:
        UnknownTask, DeviceUnavailable, ModelConfigError, RunError: one clear line each, before anything is lost.
    """
    text = read_source(Path(source)) if source is not None else ""
    load_task(task)
    name = device if device != "auto" else get_device("auto").name
    values = {**PRESETS.get(preset or "", {}), **{k: v for k, v in options.items() if v is not None}, "device": name}
    if preset is not None and preset not in PRESETS:
        raise RunError(f"unknown preset {preset!r}: there is {', '.join(PRESETS)}")
    if unknown := sorted(set(values) - set(Options.model_fields)):
        raise RunError(f"unknown option {unknown[0]!r}: there are {', '.join(sorted(Options.model_fields))}")
    try:
        chosen = Options.model_validate(values)
    except ValidationError as error:
        fault = error.errors()[0]
        raise RunError(f"option {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
    return run.start(
        task,
        precision,
        chosen,
        run_id=run_id,
        home=Path(home) if home is not None else None,
        source=text,
        source_name=Path(source).name if source is not None else "",
        checkpoints=checkpoints,
        wait_for_device=wait_for_device,
        on_step=on_step,
        control=control,
    )


def resume(
    run_id: str,
    *,
    home: Path | str | None = None,
    on_step: run.OnStep | None = None,
    control: RunControl | None = None,
    **changes: Any,
) -> Summary:
    """Go on with a run that was interrupted or waits for its device, or with more budget (`max_usd=2.0`).

    Raises:
        RunError: there is no such run, it has ended, another process has it, or it cannot be read.
    """
    given = {k: v for k, v in changes.items() if v is not None}
    return run.resume(
        run_id, home=Path(home) if home is not None else None, changes=given, on_step=on_step, control=control
    )


def read_source(path: Path) -> str:
    """Return the text of a source file.

    Raises:
        RunError: it cannot be read.
    """
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise RunError(f"source file {path} cannot be read: {reason}") from None
