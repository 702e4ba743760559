"""One rate of requests for all runs on a machine."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from langchain_core.rate_limiters import BaseRateLimiter


class SharedLimiter(BaseRateLimiter):
    """Spaces requests evenly over all processes that use one file: each takes the next free moment and waits for it.

    The file holds that moment, in seconds since 1970. A lock on it dies with its holder, so a killed run blocks nobody.
    """

    def __init__(
        self,
        file: Path,
        requests_per_minute: float,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not requests_per_minute > 0:
            raise ValueError(f"{requests_per_minute} requests per minute: must be more than 0")
        self.file, self.interval_s, self._clock, self._sleep = file, 60.0 / requests_per_minute, clock, sleep

    def acquire(self, *, blocking: bool = True) -> bool:
        """Wait for this request's turn; without blocking, return whether it is now, and take it only then."""
        wait_s = self._take(only_now=not blocking)
        if wait_s is None:
            return False
        if wait_s > 0:
            self._sleep(wait_s)
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        """As `acquire`, for asynchronous callers."""
        wait_s = self._take(only_now=not blocking)
        if wait_s is None:
            return False
        await asyncio.sleep(max(0.0, wait_s))
        return True

    def pause(self, seconds: float) -> None:
        """Let nobody ask for so long: what one run is told by the endpoint counts for all."""
        self._update(lambda free, now: max(free, now + seconds))

    def _take(self, *, only_now: bool) -> float | None:
        waited: list[float] = []

        def advance(free: float, now: float) -> float:
            # A moment far ahead was written by a clock that was wrong: nobody is ever paused for an hour.
            start = now if free > now + 3600 else max(free, now)
            if only_now and start > now:
                return free
            waited.append(start - now)
            return start + self.interval_s

        self._update(advance)
        return waited[0] if waited else None

    def _update(self, change: Callable[[float, float], float]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                free = float(file.read() or 0.0)
            except ValueError:
                free = 0.0
            moment = change(free, self._clock())
            file.seek(0)
            file.truncate()
            file.write(f"{moment:.6f}")


def limiter_file(home: Path, endpoint: str) -> Path:
    """Return the file that all runs of a home share for one endpoint."""
    return home / "limits" / hashlib.sha256(endpoint.encode()).hexdigest()[:16]
