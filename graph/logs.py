"""Logs on standard error, for people or as one JSON object a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Final, Literal

LOGGER: Final = "cudamaster"
"""Root of all the project's loggers."""

_USUAL: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the fields given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in record.__dict__.items() if name not in _USUAL},
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr(level: str, form: Literal["text", "json"] = "text") -> None:
    """Send what happens at `level` (debug, info, warning, error) and above to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonLines() if form == "json" else logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    )
    logger = logging.getLogger(LOGGER)
    logger.handlers = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


def is_told() -> bool:
    """Tell whether every step is logged, so that no live view is needed."""
    return logging.getLogger(LOGGER).isEnabledFor(logging.INFO)
