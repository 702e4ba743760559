"""Are the files that define a task as they were? Candidates find them read-only; this says so of whoever runs here."""

from __future__ import annotations

from dataclasses import replace

from ...benchmark.task import Task
from ..records import Status, Verdict


def with_unchanged_files(verdict: Verdict, task: Task) -> Verdict:
    """Return the verdict, or `infra_error` if the task's files are no longer what they were when it was loaded."""
    before, now = task.sha256, replace(task).sha256
    if before == now:
        return verdict
    summary = (
        f"the files of task {task.name} have changed while a kernel was judged by them: load it anew and try again"
    )
    return verdict.model_copy(update={"status": Status.INFRA_ERROR, "summary": summary})
