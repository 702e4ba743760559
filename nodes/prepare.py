"""prepare: build, judge and profile the kernel that the run starts from."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..tools.device.port import DeviceUnavailable
from .context import Context, context_for
from .hold import held_up, wait_for_device
from .kept_baseline import KeptBaseline
from .state import SCHEMA_VERSION, State, Version
from .stop import nothing_left
from .versions import build_version, count_version, diagnosed_version, judge_version


def prepare(state: State, runtime: Runtime[Context]) -> State:
    """Make the baseline: it is the best at first. One that does not build or is wrong ends the run."""
    context = context_for(runtime)
    try:
        hardware = context.open_device().info()
    except DeviceUnavailable as error:
        return wait_for_device("prepare", str(error), context)

    given = state.get("source", "")
    text = context.store.text(given) if given else load_task(state["task"]).source(Precision(state["precision"]))
    baseline = Version(source=context.store.put(text))
    built = build_version(baseline, state, context)
    if update := held_up("prepare", built, state, context):
        return update
    if built["status"] != "ok":
        said = built.get("reason") or built["build"]["log"]
        words = "\n".join(line for line in said.splitlines() if not line.startswith("$ "))
        return _failed("does not build" if built["status"] == "build_error" else "could not be built here", words)

    kept = KeptBaseline(baseline, state, hardware, context)
    judged = kept.answer("run_kernel", lambda: judge_version(baseline, built["build"], None, state, context))
    if update := held_up("prepare", judged, state, context):
        return update
    if judged["status"] != "pass":
        verdict = judged.get("verdict") or {}
        return _failed(f"is judged {judged['status']}", judged.get("reason") or verdict.get("summary", ""))

    counted = kept.answer("ncu", lambda: count_version(built["build"], state, context))
    baseline = diagnosed_version(baseline, built["build"], counted, state, context)
    if update := held_up("prepare", counted, state, context):
        return update
    baseline = baseline.model_copy(
        update={"build": context.store.put_json(built["build"]), "verdict": context.store.put_json(judged["verdict"])}
    )
    stop = nothing_left(baseline, context)
    return {
        "schema_version": SCHEMA_VERSION,
        "hardware": hardware.model_dump(mode="json"),
        "baseline": baseline.model_dump(mode="json"),
        "best": baseline.model_dump(mode="json"),
        "winners": [],
        "round": 1,
        "attempt": 0,
        "tries": 0,
        "asks": 0,
        "stop": stop,
        "route": "finisher" if stop else "planner",
    }


def _failed(what: str, why: str) -> State:
    reason = f"the kernel that the run starts from {what}: {why.strip()[:2000]}"
    return {"status": "failed", "stop": reason, "route": "finisher"}
