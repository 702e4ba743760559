"""The executor for a cluster: one Ray task for each unit, on any number of nodes that share the home folder."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from langgraph.runtime import RunControl

from ..graph.errors import RunError
from ..graph.executor import Call, Died

CALLS_EACH: Final = 10
"""Units that a worker's process does before it is replaced: what the data of kernels leave in memory goes with it."""


class RayExecutor:
    """Carries out calls on the cluster that `$RAY_ADDRESS` names; without one, on a cluster of this machine alone.

    Ray tries nothing again by itself: what a lost worker or node was doing comes back as `Died`.

    Args:
        gpus: that each call asks for, whole or a part.
        jobs: most calls at a time; None: as many as the cluster has room for.
        home: must be the same folder on every node; keys and `CUDAMASTER_POSTGRES` must be in the nodes' environment.

    Raises:
        RunError: Ray is not installed, or the cluster does not answer.
    """

    def __init__(self, *, gpus: float, jobs: int | None, home: Path) -> None:
        try:
            import ray
        except ImportError:
            raise RunError("--executor ray needs the extra: pip install 'cudamaster[ray]'") from None
        self._ray: Any = ray
        self._gpus = gpus
        self._jobs = jobs
        self._home = home
        self._stopped = False
        self._running: dict[Any, int] = {}
        if not ray.is_initialized():
            try:
                ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise RunError(f"the Ray cluster does not answer: {error}") from None

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """As the port says. Twice as many calls are handed out as run at a time, so that no node waits for this one."""
        ray = self._ray
        environment = {"env_vars": {"CUDAMASTER_HOME": str(self._home)}}
        task = ray.remote(max_retries=0, max_calls=CALLS_EACH, num_gpus=self._gpus, runtime_env=environment)(_carry_out)
        waiting = deque(enumerate(calls))
        try:
            while self._running or (waiting and not self._stopped):
                while waiting and not self._stopped and len(self._running) < self._room():
                    place, call = waiting.popleft()
                    self._running[task.remote(call.function, call.arguments)] = place
                ready, _ = ray.wait(list(self._running), num_returns=1)
                for reference in ready:
                    place = self._running.pop(reference)
                    try:
                        outcome = ray.get(reference)
                    except ray.exceptions.TaskCancelledError:
                        continue
                    except ray.exceptions.RayTaskError as error:
                        outcome = Died(f"it raised {error.cause or error}")
                    except ray.exceptions.RayError as error:
                        outcome = Died(f"its worker was lost: {' '.join(str(error).split())[:300]}")
                    yield place, outcome
        finally:
            self._cancel()
            self._running.clear()

    def stop(self) -> None:
        """As the port says; a running step is broken off, and done again when the unit goes on."""
        self._stopped = True
        self._cancel()

    def _cancel(self) -> None:
        for reference in list(self._running):
            self._ray.cancel(reference)

    def _room(self) -> int:
        """Return how many calls to have handed out: nodes come and go."""
        if self._jobs is not None:
            return self._jobs
        resources = self._ray.cluster_resources()
        slots = resources.get("GPU", 0) / self._gpus if self._gpus else resources.get("CPU", 0)
        return max(2, 2 * int(slots))


def _carry_out(function: Any, arguments: tuple[Any, ...]) -> Any:
    return function(*arguments, control=RunControl())
