"""A run as an iterator of what LangGraph streams, and runs for asyncio."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

from langgraph.runtime import RunControl
from langgraph.types import StreamMode

from ..tools.result.summary import Summary
from . import api
from .errors import RunError, RunInterrupted
from .run import Extras

Event = tuple[str, Any]
"""A stream mode and what LangGraph streams in it; the last one of a run is `("summary", Summary)`."""

_END: Final = object()


def stream(
    task: str | Path, *, stream_mode: StreamMode | Sequence[StreamMode] = "updates", **arguments: Any
) -> Iterator[Event]:
    """Optimise a unit and yield what LangGraph streams, in one or more of its modes; the `Summary` comes last.

    Leaving the loop early lets the running step end and keeps the run, to be resumed. `arguments` as for `optimize`.

    Raises:
        RunError and what else `optimize` raises.
    """
    return _streamed(partial(api.optimize, task), stream_mode, arguments)


def stream_resume(
    run_id: str, *, stream_mode: StreamMode | Sequence[StreamMode] = "updates", **arguments: Any
) -> Iterator[Event]:
    """Go on with a run and yield what LangGraph streams, as `stream` does. `arguments` as for `resume`."""
    return _streamed(partial(api.resume, run_id), stream_mode, arguments)


async def aoptimize(task: str | Path, **arguments: Any) -> Summary:
    """Optimise a unit without blocking the event loop. Cancelled, it lets the running step end and keeps the run."""
    return await _in_thread(partial(api.optimize, task), arguments)


async def aresume(run_id: str, **arguments: Any) -> Summary:
    """Go on with a run without blocking the event loop."""
    return await _in_thread(partial(api.resume, run_id), arguments)


async def astream(
    task: str | Path, *, stream_mode: StreamMode | Sequence[StreamMode] = "updates", **arguments: Any
) -> AsyncIterator[Event]:
    """Optimise a unit and yield what `stream` yields, for asyncio."""
    events = stream(task, stream_mode=stream_mode, **arguments)
    try:
        while True:
            event = await asyncio.to_thread(next, events, None)
            if event is None:
                return
            yield event
    finally:
        await asyncio.to_thread(events.close)  # type: ignore[attr-defined]


async def _in_thread(function: Callable[..., Summary], arguments: dict[str, Any]) -> Summary:
    control = arguments.setdefault("control", RunControl())
    running = asyncio.ensure_future(asyncio.to_thread(function, **arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        control.request_drain("cancelled")
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # it was asked to stop: that it did is no fault
        raise


def _streamed(
    function: Callable[..., Summary], stream_mode: StreamMode | Sequence[StreamMode], arguments: dict[str, Any]
) -> Iterator[Event]:
    modes = (stream_mode,) if isinstance(stream_mode, str) else tuple(stream_mode)
    if unknown := sorted(set(modes) - set(get_args(StreamMode))):
        raise RunError(f"unknown stream mode {unknown[0]!r}: there are {', '.join(get_args(StreamMode))}")
    return _Worker(function, modes, arguments).events()


class _Worker:
    """Runs a function in a thread and hands its events over one at a time: nothing runs ahead of the reader."""

    def __init__(
        self, function: Callable[..., Summary], modes: tuple[StreamMode, ...], arguments: dict[str, Any]
    ) -> None:
        self.control: RunControl = arguments.setdefault("control", RunControl())
        self.queue: queue.Queue[Any] = queue.Queue(maxsize=1)
        self.left = threading.Event()
        extras = Extras(stream_modes=modes, on_event=lambda mode, event: self._put((mode, event)))
        self.call = partial(function, **arguments, extras=extras)
        self.fault: BaseException | None = None

    def events(self) -> Iterator[Event]:
        """Yield the events, then the function's result."""
        thread = threading.Thread(target=self._work, name="cudamaster-stream", daemon=True)
        thread.start()
        try:
            while (event := self.queue.get()) is not _END:
                yield event
        finally:
            self.left.set()
            self.control.request_drain("the reader left")
            while thread.is_alive():  # let go of an event that nobody reads any more
                try:
                    self.queue.get(timeout=0.05)
                except queue.Empty:
                    continue
            thread.join()
        if self.fault is not None:
            raise self.fault

    def _work(self) -> None:
        try:
            self._put(("summary", self.call()))
        except RunInterrupted as error:
            self.fault = None if self.left.is_set() else error
        except BaseException as error:
            self.fault = error
        finally:
            self._put(_END)

    def _put(self, event: Any) -> None:
        if not self.left.is_set():
            self.queue.put(event)
