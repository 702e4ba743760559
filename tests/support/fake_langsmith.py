"""A loopback imitation of LangSmith's datasets and examples; what else is sent to it is only counted."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

NOW = "2026-01-01T00:00:00+00:00"


class FakeLangSmith:
    """A context manager; `url` is its address."""

    def __init__(self) -> None:
        self.datasets: dict[str, dict[str, Any]] = {}
        self.examples: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.refuse = False
        lock, fake = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None: ...

            def handle_any(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                where = urlsplit(self.path)
                with lock:
                    fake.calls.append((self.command, where.path))
                    answer = fake.answer(self.command, where.path, parse_qs(where.query), data)
                body = json.dumps(answer).encode()
                self.send_response(403 if fake.refuse else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = handle_any

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def answer(self, method: str, path: str, query: dict[str, list[str]], data: bytes) -> Any:
        if self.refuse:
            return {"detail": "Forbidden"}
        match method, path:
            case "GET", "/info":
                return {"instance_flags": {"dataset_examples_multipart_enabled": True}}
            case "GET", "/datasets":
                return [d for name, d in self.datasets.items() if name in query.get("name", [name])]
            case "POST", "/datasets":
                given = json.loads(data)
                made = {"id": str(uuid4()), "created_at": NOW, **given, "tenant_id": str(uuid4())}
                return self.datasets.setdefault(given["name"], made)
            case "GET", "/examples":
                shown = list(self.examples.values()) if int(query.get("offset", ["0"])[0]) == 0 else []
                return [e for e in shown if e["dataset_id"] in query["dataset"]]
            case "POST", _ if found := re.fullmatch(r"/v1/platform/datasets/([^/]+)/examples", path):
                ids = self.take(found[1], data)
                return {"count": len(ids), "example_ids": ids}
            case _:
                return {}

    def take(self, dataset: str, data: bytes) -> list[str]:
        """Take examples in: parts named `<id>`, `<id>.inputs` and `<id>.outputs`."""
        ids = []
        for part in data.split(b"\r\n--"):
            head, _, body = part.partition(b"\r\n\r\n")
            if not (name := re.search(rb'name="([^"]+)"', head)):
                continue
            id, _, field = name[1].decode().partition(".")
            value = json.loads(body)
            if field:
                self.examples[id][field] = value
            else:
                ids.append(id)
                self.examples[id] = {"id": id, "dataset_id": dataset, "created_at": NOW, **value}
        return ids

    def __enter__(self) -> FakeLangSmith:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
