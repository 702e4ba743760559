"""The local executor: one process a unit, so that a crash costs at most the unit in flight."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from ..benchmark.task import Unit
from ..graph.advance import cores
from .suite import Suite, UnitResult, read_results, run_id_of, suite_folder, write_result

_TRIES = 2
"""Processes that may die on one unit before that is its result."""


class LocalExecutor:
    """Runs units on this machine, `jobs` at a time. The devices' own locks keep measurements apart."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._stop = threading.Event()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, suite: Suite, units: Sequence[Unit], home: Path) -> Iterator[tuple[Unit, UnitResult | None]]:
        """Yield each unit as it ends; None: it waits for something (its log says for what) or was stopped."""
        with ThreadPoolExecutor(self.jobs) as pool:
            open_units: dict[Future[UnitResult | None], Unit] = {
                pool.submit(self._one, suite, u, home): u for u in units
            }
            try:
                while open_units:
                    done, _ = wait(open_units, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield open_units.pop(future), future.result()
            finally:
                self.stop()

    def stop(self) -> None:
        """Ask the running units to stop between two steps; nothing is lost."""
        self._stop.set()
        with self._lock:
            for process in self._running:
                process.send_signal(signal.SIGTERM)

    def _one(self, suite: Suite, unit: Unit, home: Path) -> UnitResult | None:
        log = suite_folder(suite.id, home) / "logs" / f"{unit.name}.log"
        log.parent.mkdir(exist_ok=True)
        code = 0
        for _ in range(_TRIES):
            if self._stop.is_set():
                return None
            with open(log, "ab") as out:
                code = self._process(suite, unit, home, out.fileno())
            if code in (0, 3, 130) or self._stop.is_set():
                return read_results(suite, home).get(unit)
        result = UnitResult(
            unit=unit,
            run=run_id_of(suite, unit),
            status="failed",
            error=f"its process died {_TRIES} times, with exit code {code}: {log} says how",
        )
        write_result(suite, result, home)
        return result

    def _process(self, suite: Suite, unit: Unit, home: Path, out: int) -> int:
        command = [sys.executable, "-m", "cudamaster.evals.unit", suite.id, unit.name, str(home)]
        threads = str(max(1, cores() // self.jobs))
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
        )
        with self._lock:
            self._running.add(process)
            if self._stop.is_set():
                process.send_signal(signal.SIGTERM)
        try:
            return process.wait()
        finally:
            with self._lock:
                self._running.discard(process)
