"""Questions and replies on disk: what was asked is kept before it is asked, what was paid for before it is used."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .errors import ModelError
from .reply import Reply, Spent, agent_of, round_of

_STEP: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,95}")


class JournalDamaged(ModelError):
    """A file of the journal can't be read. The message names it."""


def request_sha256(prompt: str) -> str:
    """Return the identity of a question's text."""
    return hashlib.sha256(prompt.encode()).hexdigest()


class Journal:
    """The questions and replies of one run: `<step>.prompt.md` and `<step>.reply.json`, each written by rename.

    A step is asked once. Its stored prompt wins over any other text, so a step that runs again asks the same.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[str, Reply] = {}

    def question(self, step: str, prompt: str) -> str:
        """Keep a step's prompt if it has none yet, and return the one that is kept.

        Raises:
            ValueError: the step's name can't be a file name.
        """
        path = self._path(step, "prompt.md")
        if not path.exists():
            self._write(path, prompt)
        return path.read_bytes().decode()

    def prompt(self, step: str) -> str | None:
        """Return a step's stored prompt, or None if it was never asked."""
        path = self._path(step, "prompt.md")
        return path.read_bytes().decode() if path.exists() else None

    def keep(self, step: str, reply: Reply) -> Reply:
        """Keep a step's reply and return it; the first one stays."""
        if (kept := self.reply(step)) is not None:
            return kept
        prompt = self.prompt(step)
        if prompt is None:
            raise ValueError(f"step {step!r} was never asked: no reply can be kept")
        record = {"request_sha256": request_sha256(prompt), **reply.model_dump(mode="json")}
        self._write(self._path(step, "reply.json"), json.dumps(record, indent=1, ensure_ascii=False))
        return reply

    def reply(self, step: str) -> Reply | None:
        """Return a step's reply, or None if there is none yet.

        Raises:
            JournalDamaged: the file can't be read, or answers another prompt than the stored one.
        """
        if step in self._kept:  # a reply never changes, and totals are asked for before every call
            return self._kept[step]
        path = self._path(step, "reply.json")
        try:
            record = json.loads(path.read_bytes())
            reply = Reply.model_validate(record)
        except FileNotFoundError:
            return None
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise JournalDamaged(f"{path} can't be read ({reason}): delete it to ask again") from None
        if record.get("request_sha256") != request_sha256(self.prompt(step) or ""):
            raise JournalDamaged(f"{path} answers another prompt than {step}.prompt.md: delete it to ask again")
        self._kept[step] = reply
        return reply

    def find(self, step: str, prompt: str, *, same_prompt: bool = False) -> Reply | None:
        """Return the reply to the same prompt, in this step or any; else this step's reply, whatever was asked."""
        steps = self.steps()
        for other in ([step] if step in steps else []) + [s for s in steps if s != step]:
            if self.prompt(other) == prompt and (reply := self.reply(other)) is not None:
                return reply
        return None if same_prompt or step not in steps else self.reply(step)

    def steps(self) -> tuple[str, ...]:
        """Return every step that was asked, in order of name."""
        return tuple(sorted(path.name.removesuffix(".prompt.md") for path in self.folder.glob("*.prompt.md")))

    def spent(self) -> Spent:
        """Return what all replies cost."""
        total = Spent()
        for _, reply in self._answered():
            total = total.plus(reply)
        return total

    def spent_by_agent(self) -> dict[str, Spent]:
        """Return what each agent's replies cost."""
        totals: dict[str, Spent] = {}
        for step, reply in self._answered():
            totals[agent_of(step)] = totals.get(agent_of(step), Spent()).plus(reply)
        return totals

    def spent_by_round(self) -> dict[int, Spent]:
        """Return what each round's replies cost."""
        totals: dict[int, Spent] = {}
        for step, reply in self._answered():
            totals[round_of(step)] = totals.get(round_of(step), Spent()).plus(reply)
        return totals

    def _answered(self) -> Iterator[tuple[str, Reply]]:
        """Yield every step that has a reply, with it."""
        for step in self.steps():
            if (reply := self.reply(step)) is not None:
                yield step, reply

    def _path(self, step: str, suffix: str) -> Path:
        if not _STEP.fullmatch(step):
            raise ValueError(f"step {step!r} can't be a file name: lower-case letters, digits, dots and dashes only")
        return self.folder / f"{step}.{suffix}"

    def _write(self, path: Path, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
