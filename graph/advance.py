"""Advance many runs of one home, several at a time, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from langgraph.runtime import RunControl

from ..benchmark.registry import UnknownTask
from ..benchmark.task import NoBaseline
from ..models.errors import ModelError
from ..models.question import Answer
from ..tools.device.port import DeviceUnavailable
from ..tools.device.select import gpu_environments
from ..tools.records import Record
from ..tools.store import MissingArtifact
from . import run
from .errors import RunError
from .executor import Call, Died, Executor, Here
from .manifest import read_manifest
from .pool import Pool, cores


class Order(Record):
    """One run to go on with, and the answer to its open question if that is what it waits for."""

    run: str
    question: str = ""
    answer: Answer | None = None


class Advanced(Record):
    """How far a run came."""

    run: str
    unit: str = ""
    status: str
    """Of the run, or `refused`."""
    reason: str = ""
    """One line; empty where the status says all."""


OnRun = Callable[[Advanced], None]


def advance(
    orders: Sequence[Order], *, home: Path | None = None, jobs: int | None = None, on_run: OnRun | None = None
) -> list[Advanced]:
    """Go on with every run as far as it goes; one that fails does not keep the others.

    Args:
        orders: at most one for each run.
        jobs: processes, spread over the visible GPUs; None: one for each core. Kernels on the cpu device fill a core
            each, so runs on it never get more than that. One job works in this process.
        on_run: called with each run as it is done.
    """
    jobs = min(_jobs(orders, home, jobs), len(orders))
    executor: Executor = Pool(jobs, gpu_environments()) if jobs > 1 else Here()
    done = []
    for place, outcome in executor.run([Call(_advance, (order, home)) for order in orders]):
        if isinstance(outcome, Died):
            why = f"{outcome.why}; nothing is lost: `cudamaster work` goes on with it"
            outcome = Advanced(run=orders[place].run, status="interrupted", reason=why)
        done.append(outcome)
        if on_run:
            on_run(outcome)
    return done


def _jobs(orders: Sequence[Order], home: Path | None, jobs: int | None) -> int:
    if jobs is None or jobs <= cores():
        return jobs or cores()
    on_cpu = False
    for order in orders:
        with suppress(RunError):
            on_cpu = on_cpu or read_manifest(order.run, home).options.device == "cpu"
    return cores() if on_cpu else jobs


def _advance(order: Order, home: Path | None, control: RunControl) -> Advanced:
    try:
        if order.answer:
            summary = run.answer(order.run, order.question, order.answer.model_dump(), home=home, control=control)
        else:
            summary = run.resume(order.run, home=home, control=control)
    except (RunError, ModelError, UnknownTask, NoBaseline, DeviceUnavailable, MissingArtifact) as error:
        return Advanced(run=order.run, status="refused", reason=str(error))
    return Advanced(run=order.run, unit=summary.unit, status=summary.status, reason=summary.reason)
