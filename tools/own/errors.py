"""What keeps a file from being made into a task."""

from __future__ import annotations


class NotATask(Exception):
    """The file cannot be made into a task as it is: the message says why, and exactly what to change."""
