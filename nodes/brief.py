"""What an agent is told: the state, unfolded from its hashes."""

from __future__ import annotations

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..benchmark.task import CaseSet
from ..prompts.brief import Attempt, Brief, Plan
from ..prompts.contract import contract_text, sizes_text
from ..prompts.hardware import hardware_text
from ..prompts.times import times_text
from ..tools.device.gpu_model import gpu_model
from ..tools.device.port import DeviceInfo
from ..tools.profile.text import profile_text
from ..tools.records import BuildSpec, Diagnosis, Profile, read_gain
from .context import Context
from .state import Agent, State, Version, Word


def brief(agent: Agent, state: State, context: Context) -> Brief:
    """Return an agent's brief. Findings go along only in the `diagnosis` view: the others tell what the paper's did."""
    task, precision = load_task(state["task"]), Precision(state["precision"])
    hardware = DeviceInfo.model_validate(state["hardware"])
    best = Version.model_validate(state["best"])
    candidate = Version.model_validate(state["candidate"]) if state.get("candidate") else None
    word = Word.model_validate(state["word"]) if state.get("word") else None
    diagnosis = Diagnosis.model_validate(context.store.get_json(best.diagnosis)) if best.diagnosis else None
    seen = diagnosis if context.profile == "diagnosis" else None
    view = "filtered" if context.profile == "diagnosis" and seen is None else context.profile
    profile = ""
    if best.profile:
        counted = Profile.model_validate(context.store.get_json(best.profile))
        profile = profile_text(counted, view, seen, threshold_pct=context.threshold_pct)
    return Brief(
        agent=agent,
        task_name=task.name,
        precision=precision,
        contract=contract_text(task.contract, precision),
        formula=task.formula,
        sizes=sizes_text(task.in_set(CaseSet.PAPER)),
        hardware=hardware_text(gpu_model(hardware.gpu).model_copy(update=dict(hardware.rates)), hardware.name),
        source=context.store.text(best.source),
        profile=profile,
        findings=seen.findings if seen else (),
        whereabouts=seen.whereabouts if seen else (),
        times=times_text(read_gain(context.store.get_json(best.gain))) if seen and best.gain else "",
        history=tuple(Attempt.model_validate(item) for item in state.get("history", [])),
        plan=Plan.model_validate(state["plan"]) if state.get("plan") else None,
        candidate=context.store.text(candidate.source) if candidate else "",
        spec=candidate.spec if candidate else BuildSpec(),
        error=context.store.text(word.detail) if word and word.detail and agent in ("compiler", "debugger") else "",
        complaint=state.get("complaint", ""),
        tunes=context.tune,
        round=state["round"],
        rounds=context.rounds,
        variant=context.variant,
        variants=context.variants,
    )
