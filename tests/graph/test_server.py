"""The entry for `langgraph.json`: the development server starts offline and does a run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import cudamaster
import pytest
from cudamaster.graph.server import make_graph
from cudamaster.models.offline import OfflineChat
from langchain_core.messages import HumanMessage

ROOT = Path(cudamaster.__file__).parent


def test_langgraph_json_names_the_factory_and_it_has_no_checkpointer() -> None:
    told = json.loads((ROOT / "langgraph.json").read_text())
    assert told["graphs"]["cudamaster"]["path"] == "cudamaster.graph.server:make_graph"
    graph = make_graph()
    assert graph.checkpointer is None
    assert graph.get_input_jsonschema()["properties"].keys() >= {"task", "precision"}
    schema = graph.get_context_jsonschema()
    assert schema is not None
    assert {"rounds", "model", "device"} <= schema["properties"].keys()


def call(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.loads(answer.read() or b"null")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_development_server_does_a_run_is_interrupted_and_resumed_offline(tmp_path: Path) -> None:
    pytest.importorskip("langgraph_api", reason="the development server is in the extra `dev`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "langgraph.json").write_text((ROOT / "langgraph.json").read_text().replace('"."', f'"{ROOT}"'))
    environment = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGSMITH_TRACING": "false"}
    environment["CUDAMASTER_HOME"] = str(tmp_path / "home")
    command = [
        str(Path(sys.executable).with_name("langgraph")),
        "dev",
        "--no-browser",
        "--no-reload",
        "--port",
        str(port),
    ]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 60
            while True:
                try:
                    assert call(f"{url}/ok")["ok"]
                    break
                except (urllib.error.URLError, ConnectionError):
                    assert server.poll() is None, (tmp_path / "log").read_text()
                    assert time.monotonic() < deadline, (tmp_path / "log").read_text()
                    time.sleep(0.1)
            thread = call(f"{url}/threads", {})["thread_id"]
            order = {
                "assistant_id": "cudamaster",
                "input": {"task": "dot_product", "precision": "fp32"},
                "context": {"device": "cpu", "model": "offline", "rounds": 1, "home": str(tmp_path / "home")},
            }
            values = call(f"{url}/threads/{thread}/runs/wait", order)
            assert values["status"] in ("improved", "no_gain"), values["stop"]
            assert Path(values["result"]["result"], "report.md").exists()

            thread = call(f"{url}/threads", {})["thread_id"]
            order["context"]["model"] = "mailbox"
            asked = []
            call(f"{url}/threads/{thread}/runs/wait", order)
            while interrupts := call(f"{url}/threads/{thread}/state")["interrupts"]:
                question = interrupts[0]["value"]
                asked.append(question["agent"])
                assert len(asked) <= 3, asked
                reply = OfflineChat().invoke([HumanMessage(question["prompt"])]).text
                answer = {"assistant_id": "cudamaster", "context": order["context"], "command": {"resume": reply}}
                values = call(f"{url}/threads/{thread}/runs/wait", answer)
            assert asked == ["planner", "coder", "compiler"]
            assert values["status"] in ("improved", "no_gain"), values["stop"]
        finally:
            server.terminate()
            server.wait(timeout=30)
