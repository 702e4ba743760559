"""A small HTTP server that speaks chat-completions as a script tells it to, and counts what it is asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Turn = Mapping[str, Any]
"""One answer of the script, all keys optional: `content`, `reasoning_content`, `finish_reason`, `usage`
(None: not told), `status` and `error` (a message, or an object) for a refusal, `headers`, `sleep` (seconds before
answering), `body` (raw text in place of a completion), `drop` (close the connection without an answer), `model`."""

USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}


@dataclass
class FakeOpenAI:
    """Answers each POST with the next turn of `script`, or with what `reply` makes of the prompt once it is used up.

    A context manager. `requests` holds every body, `headers` every header set, `answers` each completion that was sent.
    """

    script: list[Turn] = field(default_factory=list)
    reply: Callable[[str], Turn] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[Turn] = field(default_factory=list)
    url: str = ""

    @property
    def answered(self) -> int:
        """How many requests got a completion."""
        return len(self.answers)

    def reset(self) -> None:
        """Forget the script and all that was asked; what is still being answered counts no more."""
        self.script, self.reply, self.requests, self.headers, self.answers = [], None, [], [], []

    def __enter__(self) -> Self:
        fake, self._lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None: ...

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.serve(self, body)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that went away is part of the script."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def serve(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        with self._lock:
            answers = self.answers
            self.requests.append(body)
            self.headers.append({k.lower(): v for k, v in handler.headers.items()})
            prompt = body["messages"][-1]["content"]
            turn = self.script.pop(0) if self.script else self.reply(prompt) if self.reply else {"status": 500}
        if turn.get("sleep"):
            time.sleep(turn["sleep"])
        if turn.get("drop"):
            handler.close_connection = True
            return
        status = turn.get("status", 200)
        if "body" in turn:
            self._send(handler, status, turn["body"], turn, "text/html")
        elif status != 200:
            error = turn.get("error", "scripted")
            error = error if isinstance(error, dict) else {"message": error, "type": "error", "code": None}
            self._send(handler, status, json.dumps({"error": error}), turn)
        elif body.get("stream"):
            answers.append(turn)
            self._send(handler, 200, stream(body, turn), turn, "text/event-stream")
        else:
            answers.append(turn)
            self._send(handler, 200, json.dumps(completion(body, turn)), turn)

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, text: str, turn: Turn, kind: str = "application/json"
    ) -> None:
        data = text.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in dict(turn.get("headers", {})).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


def completion(body: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    """Return a completion object."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.get("content", "")}
    if "reasoning_content" in turn:
        message["reasoning_content"] = turn["reasoning_content"]
    choice = {"index": 0, "message": message, "finish_reason": turn.get("finish_reason", "stop")}
    data = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": turn.get("model", body["model"]),
        "choices": [choice],
    }
    usage = turn.get("usage", USAGE)
    return data if usage is None else {**data, "usage": usage}


def stream(body: Mapping[str, Any], turn: Turn) -> str:
    """Return a completion as server-sent events, with usage only if it was asked for."""

    def chunk(choices: Sequence[Mapping[str, Any]], **more: Any) -> str:
        data = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        return f"data: {json.dumps({**data, 'choices': list(choices), **more})}\n\n"

    text, events = str(turn.get("content", "")), []
    if "reasoning_content" in turn:
        events.append(
            chunk([{"index": 0, "delta": {"role": "assistant", "reasoning_content": turn["reasoning_content"]}}])
        )
    for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
        events.append(chunk([{"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None}]))
    events.append(chunk([{"index": 0, "delta": {}, "finish_reason": turn.get("finish_reason", "stop")}]))
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append(chunk([], usage=turn.get("usage", USAGE)))
    return "".join(events) + "data: [DONE]\n\n"
