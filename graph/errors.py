"""What the entries of a run may refuse, each in one clear line."""

from __future__ import annotations


class RunError(Exception):
    """Something that the caller can mend: the message says what was wrong, where, and what to do."""


class UnknownRun(RunError):
    """There is no such run in this home."""


class RunExists(RunError):
    """The id is taken."""


class RunFinished(RunError):
    """The run has ended; there is nothing to go on with."""


class RunBusy(RunError):
    """Another process is advancing the run."""


class OtherGraph(RunError):
    """The run was made by another version of the graph."""


class UnknownNode(RunError):
    """The graph has no node of that name."""


class NoSuchRound(RunError):
    """The run has not finished that round, or its checkpoint is gone."""


class NoSuchQuestion(RunError):
    """The question is not open: unknown, stale, or answered before."""


class BadCheckpoint(RunError):
    """The run's checkpoints cannot be read."""


class HomeNotWritable(RunError):
    """The home folder cannot be written."""


class RunInterrupted(RunError):
    """The run was asked to stop, and did between two steps."""


class ModelRefused(RunError):
    """The model's endpoint refuses to answer, for a reason that waiting does not mend."""


class BadArchive(RunError):
    """The file is no archive of runs, or one that was changed."""
