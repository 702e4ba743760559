"""finisher: verify the winner once more, from its saved source, and write the result folder."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..prompts.brief import Attempt, Plan
from ..tools.device.port import DeviceInfo
from ..tools.own.drop_in import drop_in, remarks
from ..tools.records import Candidate, Diagnosis, Gain, Verdict, read_gain
from ..tools.result.bench_files import bench_files
from ..tools.result.build_files import build_script, cmake_file
from ..tools.result.bundle import write_bundle
from ..tools.result.measurements import Measurements
from ..tools.result.summary import BestKernel, Summary, figures, figures_without_gain
from ..tools.result.verification import verification_text
from .context import Context, context_for
from .hold import INFRA_ERROR, held_up
from .report import report_text
from .run import certain_gain
from .spent import spent
from .state import State, Version
from .versions import build_version, judge_version


class _Winner(NamedTuple):
    """A version that stood the second verification."""

    version: Version
    gain: Gain
    again: Verdict | None
    sanitized: bool
    not_checked: tuple[str, ...]


def finisher(state: State, runtime: Runtime[Context]) -> State:
    """End the run. One that stopped on its budget then waits: with a bigger one it goes on where it stopped."""
    context = context_for(runtime)
    if state.get("result") and state["status"] == "stopped_budget":
        interrupt({"kind": "budget", "reason": state["stop"]})
        return {"status": "", "stop": "", "result": {}, "route": state["resume_at"]}

    winner: _Winner | None = None
    fallen: list[str] = []
    for item in reversed(state.get("winners", [])):
        checked = _verify(Version.model_validate(item), state, context)
        if isinstance(checked, dict):
            return checked
        if isinstance(checked, _Winner):
            winner = checked
            break
        fallen.append(checked)
    status = state.get("status") or ("improved" if winner else "no_gain")
    if status == "no_gain" and (fault := _unjudged(state)):
        status, fallen = "failed", [*fallen, fault]
    summary = _summary(state, status, winner, fallen, context)
    _write(state, summary, winner, context)
    return {
        "status": status,
        "result": summary.model_dump(mode="json"),
        "route": "finisher" if status == "stopped_budget" else "__end__",
    }


def _unjudged(state: State) -> str:
    """Return why no candidate at all could be judged, where it was the machine's fault; else nothing."""
    history = [Attempt.model_validate(item) for item in state.get("history", [])]
    if not history or any(attempt.status != INFRA_ERROR for attempt in history):
        return ""
    return f"no candidate could be judged here: {history[-1].note}"


def _verify(version: Version, state: State, context: Context) -> _Winner | State | str:
    """Build, judge and sanitize a winner again; an update if that has to wait, the reason if it does not stand."""
    built = build_version(version, state, context)
    baseline = build_version(Version.model_validate(state["baseline"]), state, context)
    for answer in (built, baseline):
        if update := held_up("finisher", answer, state, context):
            return update
    first = read_gain(context.store.get_json(version.gain))
    if built["status"] != "ok" or baseline["status"] != "ok":
        reason = built.get("reason") or baseline.get("reason") or "it could not be built again"
        return _Winner(version, first, None, False, (f"The winner was not judged a second time: {reason}.",))
    judged = judge_version(version, built["build"], baseline["build"], state, context, winner=True)
    if update := held_up("finisher", judged, state, context):
        return update
    if judged["status"] == INFRA_ERROR:
        reason = judged.get("reason") or judged["verdict"]["summary"]
        return _Winner(version, first, None, False, (f"The winner was not judged a second time: {reason}.",))
    gain = judged.get("gain")
    verdict = Verdict.model_validate(judged["verdict"]) if judged.get("verdict") else None
    which = f"the kernel of round {version.round}, judged again,"
    if judged["status"] != "pass" or verdict is None:
        return f"{which} is {judged['status']} ({verdict.summary if verdict else judged.get('reason', '')})"
    if not gain or certain_gain(gain) <= 1.0:
        return f"{which} is not faster than the baseline"
    looked = context.toolbox.sanitize.invoke(
        {
            "build": built["build"],
            "task": state["task"],
            "precision": state["precision"],
            "device": context.device,
        }
    )
    if update := held_up("finisher", looked, state, context):
        return update
    if looked["status"] == "found":
        return f"{which} has a fault that its results do not show ({looked['findings'][0]['reason']})"
    missing = (
        () if looked["status"] == "ok" else (f"Races, out-of-bounds and uninitialised accesses: {looked['reason']}",)
    )
    return _Winner(version, read_gain(gain), verdict, not missing, missing)


def _summary(state: State, status: str, winner: _Winner | None, fallen: list[str], context: Context) -> Summary:
    history = [Attempt.model_validate(item) for item in state.get("history", [])]
    best = None
    if winner:
        version, again = winner.version, winner.again
        strategy = next((a.strategy for a in history if (a.round, a.attempt) == (version.round, version.attempt)), "")
        best = BestKernel(
            sha256=Candidate(source=context.store.text(version.source), spec=version.spec).sha256,
            spec=version.spec,
            round=version.round,
            attempt=version.attempt,
            strategy=strategy,
            file=str(context.folder / "result" / "kernel.cu"),
            verified=again.summary if again else "judged once; the second time could not be done",
        )
    reason = "; ".join(filter(None, (state.get("stop", ""), *fallen)))
    task = load_task(state["task"])
    return Summary(
        run=context.run_id,
        unit=f"{task.name}-{state['precision']}",
        task=task.name,
        precision=state["precision"],
        device=context.device,
        gpu=state.get("hardware", {}).get("gpu", ""),
        model=context.model,
        status=status,
        reason=reason,
        best=best,
        rounds=len({a.round for a in history}),
        attempts=len(history),
        spent=spent(context),
        reference="the original kernel" if task.differential else "definition",
        result=str(context.folder / "result"),
        **(figures(winner.gain) if winner else _as_it_was(state, context)),
    )


def _as_it_was(state: State, context: Context) -> dict[str, Any]:
    """Return how far from the floor the kernel is that the run started from, where a candidate was timed beside it."""
    baseline = Version.model_validate(state["baseline"]) if state.get("baseline") else None
    if baseline is None or not baseline.first_gain:
        return {}
    return figures_without_gain(read_gain(context.store.get_json(baseline.first_gain)))


def _write(state: State, summary: Summary, winner: _Winner | None, context: Context) -> None:
    task, precision = load_task(state["task"]), Precision(state["precision"])
    history = [Attempt.model_validate(item) for item in state.get("history", [])]
    plans = [Plan.model_validate(context.store.get_json(name)) for name in state.get("plans", [])]
    baseline = Version.model_validate(state["baseline"]) if state.get("baseline") else None
    before = _diagnosis(baseline, context)
    after = _diagnosis(winner.version, context) if winner else None
    source_name = state.get("source_name") or "The naive kernel of the task"
    files: dict[str, str | bytes] = {
        "summary.json": summary.model_dump_json(indent=2) + "\n",
        "report.md": report_text(summary, history, plans, before, after, source_name),
    }
    info = DeviceInfo.model_validate(state["hardware"]) if state.get("hardware") else None
    if info:
        files["measurements.json"] = (
            Measurements(
                unit=summary.unit,
                candidate_sha256=summary.best.sha256 if summary.best else "",
                task_sha256=task.sha256,
                device=info,
                date=datetime.now(UTC).isoformat(timespec="seconds"),
                gain=winner.gain if winner else None,
                bottleneck_before=before.bottleneck if before else "",
                bottleneck_after=after.bottleneck if after else "",
            ).model_dump_json(indent=1)
            + "\n"
        )
    if winner and info:
        version = winner.version
        kernel = context.store.text(version.source)
        files |= {
            "kernel.cu": kernel,
            "build.sh": build_script(version.spec, info.arch, task.contract.entry),
            "CMakeLists.txt": cmake_file(version.spec, info.arch, task.contract.entry),
            "VERIFICATION.md": verification_text(
                summary.unit,
                info,
                Verdict.model_validate(context.store.get_json(version.verdict)),
                winner.again,
                winner.sanitized,
                (*winner.not_checked, *remarks(task)),
                differential=task.differential,
            ),
            **bench_files(task, precision),
            **drop_in(task, kernel, precision),
        }
    write_bundle(context.folder / "result", files)


def _diagnosis(version: Version | None, context: Context) -> Diagnosis | None:
    if version is None or not version.diagnosis:
        return None
    return Diagnosis.model_validate(context.store.get_json(version.diagnosis))
