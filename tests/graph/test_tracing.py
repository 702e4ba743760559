"""Traces: a run appears in LangSmith as trees named by run and unit, on a loopback imitation of its ingest endpoint."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import zstandard
from cudamaster.graph.tracing import ITEMS, TEXT, shorten, traced
from cudamaster.models.mailbox import MailboxChat
from langsmith.utils import get_env_var

from .conftest import Bench
from .fakes import fence, plan, replies, source

INFO = {
    "version": "0.10.0",
    "instance_flags": {"zstd_compression_enabled": True},
    "batch_ingest_config": {
        "use_multipart_endpoint": True,
        "size_limit": 100,
        "size_limit_bytes": 20_971_520,
        "scale_up_qsize_trigger": 1000,
        "scale_up_nthreads_limit": 16,
        "scale_down_nempty_trigger": 4,
    },
}


class Ingest:
    """Takes runs in, and gives them back as a tree."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.lock = threading.Lock()
        ingest = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None: ...

            def body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                data = b""
                while size := int(self.rfile.readline(), 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return data

            def handle_any(self) -> None:
                data = self.body()
                if "zstd" in self.headers.get("Content-Encoding", ""):
                    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
                with ingest.lock:
                    ingest.take(self.path, self.headers.get("Content-Type", ""), data)
                reply = json.dumps(INFO if self.path.endswith("/info") else {}).encode()
                self.send_response(202 if "/runs" in self.path else 200)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            do_GET = do_POST = do_PATCH = handle_any

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path: str, kind: str, body: bytes) -> None:
        def merge(run: str, fields: dict[str, Any]) -> None:
            self.runs.setdefault(run, {}).update({k: v for k, v in fields.items() if v is not None})

        if path.endswith("/runs/batch"):
            batch = json.loads(body)
            for item in batch.get("post", []) + batch.get("patch", []):
                merge(item["id"], item)
        elif path.endswith("/runs/multipart"):
            boundary = re.search(r'boundary="?([^";]+)', kind)
            assert boundary
            for part in body.split(b"--" + boundary[1].encode())[1:-1]:
                head, _, data = part.strip(b"\r\n").partition(b"\r\n\r\n")
                name = re.search(rb'name="([^"]+)"', head)
                assert name
                order, run, *field = name[1].decode().split(".")
                if order in ("post", "patch"):
                    merge(run, {field[0]: json.loads(data)} if field else json.loads(data))

    def roots(self) -> list[dict[str, Any]]:
        return sorted((r for r in self.runs.values() if not r.get("parent_run_id")), key=lambda r: r["dotted_order"])

    def below(self, run: dict[str, Any]) -> list[dict[str, Any]]:
        children = [r for r in self.runs.values() if r.get("parent_run_id") == run["id"]]
        return sorted(children, key=lambda r: r["dotted_order"])


@pytest.fixture
def ingest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ingest]:
    server = Ingest()
    for name, value in (("TRACING", "true"), ("ENDPOINT", server.url), ("API_KEY", "test"), ("PROJECT", "kernels")):
        monkeypatch.setenv(f"LANGSMITH_{name}", value)
    get_env_var.cache_clear()
    yield server
    monkeypatch.undo()
    get_env_var.cache_clear()
    server.server.shutdown()
    server.server.server_close()


def test_a_run_is_a_tree_of_nodes_with_its_tools_and_questions(bench: Bench, ingest: Ingest) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0, "x" * 5 * TEXT))])
    bench.start(rounds=1)
    (root,) = ingest.roots()
    assert (root["name"], root["run_type"], root["session_name"]) == ("r dot_product-fp32", "chain", "kernels")
    metadata = root["extra"]["metadata"]
    assert (metadata["thread_id"], metadata["unit"], metadata["run"]) == ("r", "dot_product-fp32", "r")
    assert "dot_product-fp32" in root["tags"]
    nodes = ingest.below(root)
    assert [node["name"] for node in nodes] == bench.path()
    assert {node["run_type"] for node in nodes} == {"chain"}
    found = {node["name"]: [(r["run_type"], r["name"]) for r in ingest.below(node)] for node in nodes}
    assert ("llm", "planner model") in found["planner"]
    assert ("llm", "coder model") in found["coder"]
    assert ("tool", "nvcc") in found["build"]
    assert ("tool", "run_kernel") in found["run"]
    for name in ("ncu", "bottleneck_filter", "diagnose"):
        assert ("tool", name) in found["profiler"]
    assert ("tool", "sanitize") in found["finisher"]
    (question,) = [r for r in ingest.runs.values() if r["name"] == "coder model"]
    usage = question["outputs"]["generations"][0][0]["message"]["kwargs"]["usage_metadata"]
    assert usage["total_tokens"] == 110

    def longest(value: Any) -> int:
        if isinstance(value, dict | list):
            return max((longest(item) for item in (value.values() if isinstance(value, dict) else value)), default=0)
        return len(value) if isinstance(value, str) else 0

    payloads = [r.get(side) for r in ingest.runs.values() for side in ("inputs", "outputs")]
    assert TEXT < max(map(longest, payloads)) < TEXT + 50  # cut, and it says so


def test_the_pieces_of_a_run_are_one_thread(bench: Bench, ingest: Ingest) -> None:
    bench.model = MailboxChat()
    question = bench.start(rounds=1, model="mailbox").questions[0]
    bench.answer(question.id, plan("s"))
    roots = ingest.roots()
    assert len(roots) == 2
    assert {root["extra"]["metadata"]["thread_id"] for root in roots} == {"r"}
    assert {root["name"] for root in roots} == {"r dot_product-fp32"}


def test_nothing_is_sent_unless_it_is_asked_for(bench: Bench, ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    get_env_var.cache_clear()
    bench.script = replies(coder=[fence(source("pass", 2.0))])
    bench.start(rounds=1)
    assert ingest.runs == {}


def test_an_endpoint_that_is_gone_does_not_hold_up_the_run(
    bench: Bench, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudamaster.graph.tracing.FLUSH_S", 0.1)
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")
    get_env_var.cache_clear()
    bench.script = replies(coder=[fence(source("pass", 2.0))])
    assert bench.start(rounds=1).status == "improved"


def test_long_payloads_say_what_was_left_out() -> None:
    cut = shorten({"a": "x" * (TEXT + 1), "b": list(range(ITEMS + 1)), "c": ("y", 1, None)})
    assert cut["a"] == "x" * TEXT + f"… ({TEXT + 1} characters)"
    assert cut["b"][-1] == f"… ({ITEMS + 1} entries)"
    assert cut["c"] == ["y", 1, None]


def test_tracing_leaves_no_context_behind() -> None:
    from langsmith.run_helpers import get_tracing_context

    before = get_tracing_context()
    with traced():
        pass
    assert get_tracing_context() == before
