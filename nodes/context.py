"""How a run is configured, and what its nodes reach the outside world through."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, PrivateAttr

from ..tools.records import Record
from ..tools.store import Store

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool
    from langgraph.runtime import Runtime

    from ..models.budget import Budget
    from ..models.journal import Journal
    from ..tools.device.port import Device
    from .state import Agent

ProfileView = Literal["none", "filtered", "full", "diagnosis"]


class Options(Record):
    """How a run is done: kept in its manifest for every resume. No secrets: keys are in the environment."""

    device: Literal["cpu", "cuda"] = "cpu"
    model: str = "offline"
    """Who answers: `offline`, `mailbox`, `openai:<name>`, or another provider's `<provider>:<name>`."""
    models: Mapping[str, str] = {}
    """Another model for an agent: `{"planner": "openai:..."}`."""
    base_url: str | None = None
    """Of an OpenAI-compatible endpoint."""
    rounds: int = Field(default=3, ge=1, le=100)
    repairs: int = Field(default=3, ge=0, le=20)
    profile: ProfileView = "diagnosis"
    """What the Planner is told of the profile."""
    tune: bool = True
    """Constants that a source marks for it are searched on the device."""
    threshold_pct: float = Field(default=30.0, gt=0, lt=100)
    """Throughput, in percent of the peak, from which a unit of the GPU counts as the bottleneck."""
    stop_efficiency: float | None = Field(default=0.95, gt=0)
    """Efficiency (floor ÷ time) from which there is nothing left to gain; None: never stop for it."""
    reasoning_effort: str | None = None
    """For models that take it: `low`, `medium`, `high`, or what the endpoint knows."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """To one endpoint, over all runs of the home."""
    reply_cache: Literal["sqlite"] | None = None
    """`sqlite`: the same question to the same model with the same settings is paid once, over all runs of the home."""
    variant: int = Field(default=1, ge=1)
    """Of `variants` runs that look for the same kernel: the first round takes this place among the strategies."""
    variants: int = Field(default=1, ge=1, le=64)
    max_usd: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_wall_s: float | None = Field(default=None, ge=0)


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "rounds": 3, "repairs": 3, "profile": "filtered", "tune": False, "threshold_pct": 30.0, "stop_efficiency": None
    },
}  # fmt: skip
"""`paper`: the loop as arXiv 2603.07169 describes it, without our diagnosis and search, and without stopping early."""


@dataclass(frozen=True)
class Toolbox:
    """The tools that nodes call."""

    nvcc: BaseTool
    tune: BaseTool
    run_kernel: BaseTool
    ncu: BaseTool
    bottleneck_filter: BaseTool
    diagnose: BaseTool
    sanitize: BaseTool


def default_home() -> Path:
    """Return the folder that holds runs and artifacts: `$CUDAMASTER_HOME`, else `.cudamaster` here."""
    return Path(os.environ.get("CUDAMASTER_HOME") or ".cudamaster")


class Context(Options):
    """The options of a run with its place on disk; everything else is made from them when first used.

    Never checkpointed: a resume builds it again from the manifest. A test overrides the properties.
    """

    home: str = ""
    """Empty: `default_home()`."""
    run_id: str = ""
    """Empty: the thread's id, as it is under a server that makes its own threads."""
    _given_models: Mapping[str, BaseChatModel] = PrivateAttr(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The run's own folder."""
        return (Path(self.home) if self.home else default_home()) / "runs" / self.run_id

    @cached_property
    def store(self) -> Store:
        """Artifacts, shared by all runs of the home."""
        return Store(self.folder.parent.parent / "artifacts")

    @cached_property
    def journal(self) -> Journal:
        """Questions asked and replies paid for."""
        from ..models.journal import Journal

        return Journal(self.folder / "journal")

    @cached_property
    def budget(self) -> Budget:
        """What may be spent, and what has been."""
        from ..models.budget import Budget

        return Budget(
            max_usd=self.max_usd, max_tokens=self.max_tokens, max_calls=self.max_calls, max_wall_s=self.max_wall_s
        )

    @cached_property
    def toolbox(self) -> Toolbox:
        """The tools on the real machinery."""
        from ..tools.bottleneck_filter import bottleneck_filter
        from ..tools.diagnose import diagnose
        from ..tools.ncu import ncu
        from ..tools.nvcc import nvcc
        from ..tools.run_kernel import run_kernel
        from ..tools.sanitize import sanitize
        from ..tools.tune import tune

        return Toolbox(
            nvcc=nvcc,
            tune=tune,
            run_kernel=run_kernel,
            ncu=ncu,
            bottleneck_filter=bottleneck_filter,
            diagnose=diagnose,
            sanitize=sanitize,
        )

    def open_device(self) -> Device:
        """Return the device of this run.

        Raises:
            DeviceUnavailable: this machine lacks it.
        """
        from ..tools.device.select import get_device

        return get_device(self.device)

    def with_chat_models(self, given: Mapping[str, BaseChatModel]) -> Self:
        """Return the same context with chat models that a program made, by agent, in the place of those it names."""
        context = self.model_copy()
        context._given_models = dict(given)
        return context

    def check_models(self) -> None:
        """Refuse models that cannot be had here, and a cap on money where a price is not known.

        Raises:
            ModelError: one line on what to do.
        """
        from ..models.ask import model_name
        from ..prompts.brief import AGENTS

        for agent in AGENTS:
            self.budget.check_price(model_name(self.chat_model(agent)))

    def chat_model(self, agent: Agent) -> BaseChatModel:
        """Return the model that answers an agent."""
        if agent in self._given_models:
            return self._given_models[agent]
        from ..models.factory import chat_model

        return chat_model(
            self.models.get(agent, self.model),
            base_url=self.base_url,
            reasoning_effort=self.reasoning_effort,
            requests_per_minute=self.requests_per_minute,
            reply_cache=self.reply_cache,
            home=Path(self.home) if self.home else None,
        )


def context_for(runtime: Runtime[Context]) -> Context:
    """Return the context that a node runs in; a server may have given none, or one without the run's name."""
    context = runtime.context or Context()
    if context.run_id:
        return context
    thread = runtime.execution_info.thread_id if runtime.execution_info else None
    return context.model_copy(update={"run_id": thread or "unnamed"})
