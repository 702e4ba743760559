"""The prompt that an agent would get in the first round of a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import HumanMessage

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..benchmark.task import CaseSet
from ..models.factory import chat_model
from ..models.parse import parse_plan
from ..prompts.brief import AgentName, Brief
from ..prompts.contract import contract_text, sizes_text
from ..prompts.hardware import hardware_text
from ..prompts.render import render
from ..prompts.tokens import estimate_tokens
from ..tools.device.gpu_model import gpu_model
from ..tools.profile.text import View
from ..tools.records import BuildSpec, Record
from .one_kernel import profile_kernel

if TYPE_CHECKING:
    from ..benchmark.task import Task


class ShownPrompt(Record):
    """A prompt with its length."""

    agent: AgentName
    unit: str
    prompt: str
    tokens: int
    """Estimated."""


def show_prompt(
    task: str, agent: AgentName, precision: Precision, *, device: str = "", view: View = "diagnosis", rounds: int = 3
) -> ShownPrompt:
    """Render an agent's prompt from the task's baseline.

    The plan in it is the offline Planner's; what failed, for the debugger, is the baseline with an error made up.

    Args:
        device: build and profile the baseline there, so that the prompt says what limits it; empty: it does not say.

    Raises:
        UnknownTask, DeviceUnavailable: as they say.
    """
    what = load_task(task)
    known: dict[str, Any] = {**_unit(what, precision), "rounds": rounds}
    if device:
        profiled = profile_kernel(known["source"], task, precision.value, device)
        findings = profiled.diagnosis.findings if profiled.diagnosis and view == "diagnosis" else ()
        known |= {"profile": profiled.text(view), "findings": findings}
    if agent != "planner":
        question = render(Brief(agent="planner", **known))
        known["plan"] = parse_plan(chat_model("offline").invoke([HumanMessage(question)]).text)
    if agent in ("compiler", "debugger"):
        known |= {"candidate": known["source"], "spec": BuildSpec()}
    if agent == "debugger":
        known["error"] = 'kernel.cu(1): error: identifier "example" is undefined'
    text = render(Brief(agent=agent, **known))
    return ShownPrompt(agent=agent, unit=f"{what.name}-{precision}", prompt=text, tokens=estimate_tokens(text))


def _unit(task: Task, precision: Precision) -> dict[str, Any]:
    """Return what every brief says of a unit."""
    return {
        "task_name": task.name,
        "precision": precision,
        "contract": contract_text(task.contract, precision),
        "formula": task.formula,
        "sizes": sizes_text(task.in_set(CaseSet.PAPER)),
        "hardware": hardware_text(gpu_model()),
        "source": task.source(precision),
    }
