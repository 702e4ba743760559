"""The local executor: processes of this machine that take one call after another, each replaced if it dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import RunControl

from ..benchmark.parallel import keep_freed_memory
from .executor import Call, Died

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess


FULL_KIB: Final = 1 << 20
"""A worker that has held so much memory takes no more calls: what the data of kernels leave behind goes with it."""


class _Worker:
    """A process that waits for calls, started anew rather than forked: LangGraph has threads."""

    def __init__(self, threads: int, environment: Mapping[str, str]) -> None:
        self.environment = environment
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs, threads, environment), daemon=True)
        self.process.start()
        theirs.close()

    def end(self) -> None:
        self.pipe.close()
        self.process.join()

    def why_it_died(self) -> str:
        self.process.join()
        code = self.process.exitcode or 0
        return f"its process was killed by {signal.Signals(-code).name}" if code < 0 else f"its process ended ({code})"


class Pool:
    """Carries out calls on this machine, `jobs` at a time. The devices' own locks keep measurements apart.

    `environments`: what workers find set, one for each GPU; as many have each.
    """

    def __init__(self, jobs: int, environments: Sequence[Mapping[str, str]] = ({},)) -> None:
        self.jobs = jobs
        self._environments = environments
        self._stopped = False
        self._busy: dict[Connection, tuple[_Worker, int]] = {}

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """As the port says. A generator that is closed early, by Ctrl-C or otherwise, lets running steps finish."""
        waiting = deque(enumerate(calls))
        idle: list[_Worker] = []
        threads = max(1, cores() // self.jobs)
        try:
            while self._busy or (waiting and not self._stopped):
                while waiting and len(self._busy) < self.jobs and not self._stopped:
                    place, call = waiting.popleft()
                    worker = idle.pop() if idle else _Worker(threads, self._least_used())
                    self._busy[worker.pipe] = (worker, place)
                    if self._stopped:  # asked for while it was started
                        worker.process.terminate()
                    with suppress(OSError):  # it has died already: its end of the pipe says so below
                        worker.pipe.send(call)
                for pipe in wait(list(self._busy)):
                    assert isinstance(pipe, Connection)
                    worker, place = self._busy[pipe]
                    try:
                        outcome, full = pipe.recv()
                        if full:
                            worker.end()
                        else:
                            idle.append(worker)
                    except (EOFError, OSError):
                        outcome = Died(worker.why_it_died())
                    del self._busy[pipe]
                    if not (self._stopped and isinstance(outcome, Died)):  # it was stopped before it could listen
                        yield place, outcome
        finally:
            self._drain()
            running = [worker for worker, _ in self._busy.values()]
            self._busy.clear()
            for worker in (*idle, *running):
                worker.end()

    def stop(self) -> None:
        """As the port says."""
        self._stopped = True
        self._drain()

    def _least_used(self) -> Mapping[str, str]:
        """Return the environment that fewest of the busy workers have. It is asked for when none is idle."""
        used = [worker.environment for worker, _ in self._busy.values()]
        return min(self._environments, key=used.count)

    def _drain(self) -> None:
        for worker, _ in list(self._busy.values()):
            worker.process.terminate()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


# --- in a worker's process -------------------------------------------------------------------------------------------


def _serve(pipe: Connection, threads: int, environment: Mapping[str, str]) -> None:
    """Carry out calls until the pipe is closed; end at once when the process that began this one is gone."""
    keep_freed_memory()
    os.environ |= {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), **environment}
    control = RunControl()
    signal.signal(signal.SIGTERM, lambda number, _: control.request_drain(signal.Signals(number).name))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the first process too, which sends SIGTERM
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            function, arguments = pipe.recv()
            try:
                outcome = function(*arguments, control=control)
            except Exception as error:
                outcome = Died(f"it raised {type(error).__name__}: {error}")
            pipe.send((outcome, _peak_kib() > FULL_KIB))


def _peak_kib() -> int:
    """Return the most memory that this process has held. What `getrusage` says begins with what its parent held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
