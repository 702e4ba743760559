"""Advance many runs of one home, several at a time, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path

from langgraph.runtime import RunControl

from ..benchmark.registry import UnknownTask
from ..models.errors import ModelError
from ..models.question import Answer
from ..tools.device.port import DeviceUnavailable
from ..tools.records import Record
from ..tools.store import MissingArtifact
from . import run
from .errors import RunError
from .manifest import read_manifest


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
        jobs: processes; None: one for each core. Kernels on the cpu device fill a core each, so runs on it never get
            more than that. One job works in this process.
        on_run: called with each run as it is done.
    """
    jobs = min(_jobs(orders, home, jobs), len(orders))
    tell = on_run or (lambda advanced: None)
    done = []
    if jobs <= 1:
        for order in orders:
            done.append(_advance(order, home, RunControl()))
            tell(done[-1])
        return done
    # Started anew rather than forked: LangGraph has threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin) as pool:
        waiting = {pool.submit(_in_process, order, home): order for order in orders}
        try:
            for future in as_completed(waiting):
                try:
                    done.append(future.result())
                except BrokenProcessPool:
                    why = "its process was killed; nothing is lost: `cudamaster work` goes on with it"
                    done.append(Advanced(run=waiting[future].run, status="interrupted", reason=why))
                tell(done[-1])
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()  # each stops after its step
            raise
    return done


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


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
    except (RunError, ModelError, UnknownTask, DeviceUnavailable, MissingArtifact) as error:
        return Advanced(run=order.run, status="refused", reason=str(error))
    return Advanced(run=order.run, unit=summary.unit, status=summary.status, reason=summary.reason)


# --- in a worker's process -------------------------------------------------------------------------------------------

_control = RunControl()


def _begin() -> None:
    """Stop after the current step when told to; end at once when the process that began this one is gone."""

    def drain(number: int, frame: object) -> None:
        _control.request_drain(signal.Signals(number).name)

    signal.signal(signal.SIGTERM, drain)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process gets it too, and sends SIGTERM
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _in_process(order: Order, home: Path | None) -> Advanced:
    return _advance(order, home, _control)
