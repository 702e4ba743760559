"""A LangChain chat model that needs no network: a pure function of the prompt."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from ...prompts import sections
from ...prompts.tokens import estimate_tokens
from ...tools.tunables import before_tuning
from .catalog import rule_named
from .emit import tidy
from .planner import plan
from .rule import Setting
from .syntax import Source


class OfflineChat(BaseChatModel):
    """Optimises real kernels by rules on the parsed source: what it knows is in the prompt, never in a name."""

    model: str = "offline"

    @property
    def _llm_type(self) -> str:
        return "offline"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = "\n\n".join(message.text for message in messages)
        reply = answer(prompt)
        input_tokens, output_tokens = estimate_tokens(prompt), estimate_tokens(reply)
        message = AIMessage(
            reply,
            usage_metadata={
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "total_tokens": input_tokens + output_tokens,
            },
            response_metadata={"finish_reason": "stop", "model_name": self.model, "tokens_estimated": True},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def answer(prompt: str) -> str:
    """Answer a prompt of one of the four agents.

    Raises:
        ValueError: it is no such prompt.
    """
    agent = sections.read_agent(prompt)
    told = sections.read_sections(prompt)
    setting = _setting(told)
    match agent:
        case "planner":
            return plan(told, setting).model_dump_json(indent=1)
        case "coder":
            return _fenced(_code(told, setting))
        case "compiler":
            return "{}"
        case "debugger":
            return _repair(told, setting)


def _setting(told: dict[str, str], narrow: int = 0) -> Setting:
    """Read what a rule may know from the prompt: the GPU's size, the precision, what the device can run."""
    hardware = told.get(sections.HARDWARE, "")
    processors = re.search(r"\b(\d+) SMs\b", hardware)
    precision = re.search(r"\((fp32|bf16)\)", told.get("", ""))
    return Setting(
        multiprocessors=int(processors[1]) if processors else 132,
        precision=precision[1] if precision else "fp32",
        on_gpu="no GPU at hand" not in hardware,
        narrow=narrow,
    )


def _code(told: dict[str, str], setting: Setting) -> str:
    """Apply the plan's rule to the best kernel; the kernel as it is where that changes nothing."""
    best = sections.read_code(told.get(sections.KERNEL, ""))
    plan = sections.read_plan(told.get(sections.PLAN, ""))
    if plan is None:
        return best
    rule = rule_named(plan.strategy)
    changed = rule.changes(Source(best), setting) if rule is not None else None
    return tidy(changed) if changed is not None else best


def _repair(told: dict[str, str], setting: Setting) -> str:
    """Apply the plan's rule more narrowly, or withdraw it."""
    best = sections.read_code(told.get(sections.KERNEL, ""))
    candidate = sections.read_code(told.get(sections.CANDIDATE, ""))
    plan = sections.read_plan(told.get(sections.PLAN, ""))
    rule = rule_named(plan.strategy) if plan is not None else None
    error = told.get(sections.ERROR, "").strip("`\n ").partition("\n")[0][:160]
    steps = range(1, rule.steps) if rule is not None else range(0)
    forms = [_code(told, _setting(told, narrow)) for narrow in (0, *steps)]
    # Its constants may have been searched since it was written.
    written = [before_tuning(form) for form in forms]
    later = forms[written.index(before_tuning(candidate)) + 1 :] if before_tuning(candidate) in written else []
    narrower = next((form for form in later if form not in (candidate, best)), None)
    if narrower is not None:
        return f"Diagnosis: {error or 'it failed'}; the rule is applied more narrowly.\n\n{_fenced(narrower)}"
    return f"Diagnosis: {error or 'it failed'}; the rule is withdrawn, and the best version stands.\n\n{_fenced(best)}"


def _fenced(source: str) -> str:
    return f"```cuda\n{source.rstrip()}\n```"
