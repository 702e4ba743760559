"""A run without toolchain, device or model: tools that read their verdict in the source, and a model with a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from cudamaster.nodes.context import Context, Toolbox
from cudamaster.tools.device.port import DeviceInfo, DeviceUnavailable
from cudamaster.tools.tunables import tunables, with_values
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import ConfigDict, Field

BASELINE_US = 100.0


def source(order: str, gain: float = 1.0, note: str = "") -> str:
    """Return a "kernel" whose fate is written in it: what the fake tools answer, and its gain over the baseline."""
    fate = json.dumps({"order": order, "gain": gain})
    return (
        f"// FATE {fate}\n// {note}\n#include <cuda_runtime.h>\n"
        'extern "C" size_t dot_product_workspace_bytes(int N) { return 0; }\n'
        'extern "C" cudaError_t dot_product(float* result, const float* x, const float* y, int N, void* workspace, '
        "size_t workspace_bytes, cudaStream_t stream) { return cudaGetLastError(); }\n"
    )


def fate(text: str) -> dict[str, Any]:
    for line in text.splitlines():
        if line.startswith("// FATE "):
            return json.loads(line.removeprefix("// FATE "))
    return {"order": "pass", "gain": 1.0}


class FakeDevice:
    name = "cpu"

    def info(self) -> DeviceInfo:
        return DeviceInfo(name="cpu", gpu="NVIDIA H200", arch="sm_90", multiprocessors=132, compiler="none")


def toolbox(folder: Path, faults: dict[str, list[str]], calls: list[tuple[str, dict[str, Any]]]) -> Toolbox:
    """Return tools that obey `source`; `faults[tool]` are statuses that the tool answers first, one a call.

    `faults["diagnose"]` are names of findings.
    """

    def fault(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        calls.append((name, arguments))
        if faults.get(name):
            status = faults[name].pop(0)
            return {"status": status, "reason": f"{name} says {status}"} if status != "ok" else None
        return None

    @tool
    def nvcc(source: str, spec: dict[str, Any], task: str, precision: str, device: str) -> dict[str, Any]:
        """Compile."""
        if answer := fault("nvcc", {"source": source, "spec": spec}):
            return answer
        order = fate(source)["order"]
        if order in ("build_error", "option_error"):
            failure = "source" if order == "build_error" else "option"
            if order == "option_error" and spec.get("max_registers") == 64:
                order = "pass"
            else:
                return {
                    "status": "build_error",
                    "build": {"ok": False, "failure": failure, "log": f"kernel.cu(3): error: {failure} is bad"},
                }
        library = folder / "library.so"
        library.write_text("a library")
        return {"status": "ok", "build": {"ok": True, "library": str(library), "log": "", "checked_with_nvcc": False}}

    @tool
    def tune(
        source: str, names: list[str], spec: dict[str, Any], task: str, precision: str, device: str
    ) -> dict[str, Any]:
        """Take the last choice of every constant."""
        if answer := fault("tune", {"source": source, "names": names}):
            return answer
        chosen = with_values(source, {one.name: one.choices[-1] for one in tunables(source) if one.name in names})
        build = {"ok": True, "library": str(folder / "library.so"), "log": "", "checked_with_nvcc": False}
        return {"status": "ok", "source": chosen, "build": build, "found": "the last ones"}

    @tool
    def run_kernel(
        build: dict[str, Any],
        source: str,
        task: str,
        precision: str,
        device: str,
        baseline: dict[str, Any] | None = None,
        baseline_source: str = "",
    ) -> dict[str, Any]:
        """Judge."""
        if answer := fault("run_kernel", {"source": source}):
            return answer
        order = fate(source)
        status = "pass" if order["order"] == "option_error" else order["order"]
        verdict = {
            "status": status,
            "summary": f"it is {status}",
            "detail": f"the evidence of {status}",
            "cases": [{"case": "N=7 uniform", "set": "small", "seed": 1, "ok": status == "pass"}],
            "device": device,
        }
        if status != "pass" or baseline is None:
            return {"status": status, "verdict": verdict, "gain": None}
        ratio = order["gain"]
        case = {
            "case": "N=1024 uniform",
            "set": "paper",
            "complexity": 1024,
            "baseline_us": BASELINE_US,
            "candidate_us": BASELINE_US / ratio,
            "floor_us": BASELINE_US / 100,
            "ratio": {"value": ratio, "low": ratio, "high": ratio},
        }
        gain = {"kind": "estimated", "method": "cost model", "cases": [case], "geomean": ratio, "weighted": ratio}
        return {"status": "pass", "verdict": verdict, "gain": {**gain, "efficiency": ratio / 100}}

    @tool
    def ncu(build: dict[str, Any], task: str, precision: str, device: str) -> dict[str, Any]:
        """Profile."""
        if answer := fault("ncu", {}):
            return answer
        percent = {"value": 12.0, "unit": "%", "source": "modelled"}
        names = ("sm_throughput_pct", "memory_throughput_pct", "dram_throughput_pct", "l2_hit_rate_pct")
        names += ("l1_hit_rate_pct", "executed_ipc_elapsed", "mem_busy_pct", "duration_us")
        launch = {"kernel": "k", "grid": [1, 1, 1], "block": [256, 1, 1], "metrics": dict.fromkeys(names, percent)}
        return {
            "status": "ok",
            "profile": {"device": "cpu", "gpu": "NVIDIA H200", "case": "N=1024 uniform", "launches": [launch]},
        }

    @tool
    def bottleneck_filter(profile: dict[str, Any], threshold_pct: float = 30.0) -> dict[str, Any]:
        """Classify."""
        calls.append(("bottleneck_filter", {}))
        return {"bottleneck": "memory_latency_bound", "metrics": {}}

    @tool
    def diagnose(
        profile: dict[str, Any], build: dict[str, Any], source: str, task: str, precision: str
    ) -> dict[str, Any]:
        """Diagnose."""
        calls.append(("diagnose", {}))
        finding = {
            "name": faults["diagnose"].pop(0) if faults.get("diagnose") else "same_address_atomics",
            "sentence": "Every thread adds to one word.",
            "evidence": "atomics = threads",
        }
        return {"bottleneck": "memory_latency_bound", "findings": [{**finding, "bound": 20.0}]}

    @tool
    def sanitize(build: dict[str, Any], task: str, precision: str, device: str) -> dict[str, Any]:
        """Sanitize."""
        answer = fault("sanitize", {}) or {"status": "unsupported", "reason": "no sanitizer here"}
        return {**answer, "findings": [{"reason": "a race"}]} if answer["status"] == "found" else answer

    return Toolbox(nvcc, tune, run_kernel, ncu, bottleneck_filter, diagnose, sanitize)


class ScriptedChat(BaseChatModel):
    """Answers from `script(prompt)`."""

    script: Callable[[str], str]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        message = AIMessage(self.script(messages[-1].text), usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])


def agent_of(prompt: str) -> str:
    return prompt.removeprefix("# ").partition(":")[0].lower()


def fence(text: str) -> str:
    return f"```cuda\n{text}```\n"


def plan(strategy: str) -> str:
    return json.dumps({"strategy": strategy, "reasoning": "r", "expected_effect": "e", "metric": "atomics"})


def replies(
    coder: Iterable[str], debugger: Iterable[str] = (), compiler: Iterable[str] = (), planner: Iterable[str] = ()
) -> Callable[[str], str]:
    """Return a script: each agent's answers in turn; a plan and the default options where none are left."""
    queues = {"coder": list(coder), "debugger": list(debugger), "compiler": list(compiler), "planner": list(planner)}
    count = 0

    def script(prompt: str) -> str:
        nonlocal count
        agent = agent_of(prompt)
        if queues[agent]:
            return queues[agent].pop(0)
        count += 1
        return {"planner": plan(f"strategy_{count}"), "compiler": "{}"}[agent]

    return script


class FakeContext(Context):
    """A context on fakes."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    script: Callable[[str], str]
    faults: dict[str, list[str]] = Field(default_factory=dict)
    tool_calls: list[tuple[str, dict[str, Any]]] = Field(default_factory=list)
    device_there: list[bool] = Field(default_factory=lambda: [True])
    fake_model: Any = None

    @cached_property
    def toolbox(self) -> Toolbox:
        self.folder.mkdir(parents=True, exist_ok=True)
        return toolbox(self.folder, self.faults, self.tool_calls)

    @cached_property
    def chat(self) -> ScriptedChat:
        return ScriptedChat(script=self.script)

    def open_device(self) -> Any:
        if not self.device_there[0]:
            raise DeviceUnavailable("no device on this machine")
        return FakeDevice()

    def chat_model(self, agent: Any) -> BaseChatModel:
        return self.fake_model or self.chat
