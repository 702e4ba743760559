"""Judge or profile a kernel of the user's own, or compare two, without a run."""

from __future__ import annotations

from typing import Any

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..nodes.build import telling_line
from ..nodes.context import Context
from ..tools.device.select import get_device
from ..tools.profile.compare import Comparison, compare, comparison_text
from ..tools.profile.kernel_report import KernelReport, report_text
from ..tools.profile.text import View, profile_text
from ..tools.records import CaseEvidence, Diagnosis, Profile, Record, read_gain
from ..tools.result.summary import Figure, figures


class Checked(Record):
    """The judge's word on one kernel, and what it gains over the task's baseline."""

    unit: str
    device: str
    status: str
    summary: str
    detail: str = ""
    checked_with_nvcc: bool = False
    cases: tuple[CaseEvidence, ...] = ()
    speedup: Figure | None = None
    weighted_speedup: Figure | None = None
    efficiency: Figure | None = None
    estimated_speedup: Figure | None = None
    estimated_weighted_speedup: Figure | None = None
    estimated_efficiency: Figure | None = None


class Profiled(Record):
    """What limits one kernel."""

    unit: str
    device: str
    status: str
    reason: str = ""
    profile: Profile | None = None
    bottleneck: str = ""
    diagnosis: Diagnosis | None = None
    kernels: tuple[KernelReport, ...] = ()

    def text(self, view: View) -> str:
        """Return a view of it: what a model reads."""
        if self.profile is None:
            return f"{self.status}: {self.reason}"
        return profile_text(self.profile, view, self.diagnosis)

    def told(self, view: View) -> str:
        """Return a view of it for people: with a paragraph on each kernel."""
        return "\n\n".join(part for part in (self.text(view), report_text(self.kernels)) if part)


class Compared(Record):
    """What moved between two kernels of a task."""

    unit: str
    device: str
    status: str
    reason: str = ""
    case: str = ""
    bottlenecks: tuple[str, str] = ("", "")
    comparison: Comparison | None = None

    def text(self) -> str:
        """Return it for people."""
        if self.comparison is None:
            return f"{self.status}: {self.reason}"
        measured = "estimated by the cpu device's model" if self.device == "cpu" else "measured under the profiler"
        classes = " → ".join(dict.fromkeys(self.bottlenecks))
        head = f"{self.unit} at {self.case}, {measured}; {classes}"
        return f"{head}\n{comparison_text(self.comparison)}"


def check_kernel(source: str, task: str, precision: str, device: str) -> Checked:
    """Build and judge a kernel against the task's baseline.

    Raises:
        UnknownTask, DeviceUnavailable: as they say.
    """
    where, what, unit = _where(task, precision, device)
    tools = Context().toolbox
    built = tools.nvcc.invoke({"source": source, "spec": {}, **where})
    if built["status"] != "ok":
        log = built.get("build", {}).get("log", "") or built.get("reason", "")
        summary = telling_line(log)[:300]
        return Checked(unit=unit, device=where["device"], status=built["status"], summary=summary, detail=log)
    baseline = tools.nvcc.invoke({"source": what.source(Precision(precision)), "spec": {}, **where})
    against = baseline["build"] if baseline["status"] == "ok" else None
    asked = {"build": built["build"], "source": source, "baseline": against, "may_be_baseline": True}
    judged = tools.run_kernel.invoke({**asked, **where})
    verdict: dict[str, Any] = judged.get("verdict") or {}
    gain = figures(read_gain(judged["gain"])) if judged.get("gain") else {}
    return Checked(
        unit=unit,
        device=where["device"],
        status=judged["status"],
        summary=verdict.get("summary") or judged.get("reason", ""),
        detail=verdict.get("detail", ""),
        checked_with_nvcc=verdict.get("checked_with_nvcc", False),
        cases=tuple(CaseEvidence.model_validate(case) for case in verdict.get("cases", ())),
        **gain,
    )


def profile_kernel(source: str, task: str, precision: str, device: str) -> Profiled:
    """Build and profile a kernel, and diagnose it.

    Raises:
        UnknownTask, DeviceUnavailable: as they say.
    """
    where, _, unit = _where(task, precision, device)
    known = {"unit": unit, "device": where["device"]}
    tools = Context().toolbox
    built = tools.nvcc.invoke({"source": source, "spec": {}, **where})
    if built["status"] != "ok":
        return Profiled(status=built["status"], reason=built.get("reason") or built["build"]["log"], **known)
    counted = tools.ncu.invoke({"build": built["build"], **where})
    if counted["status"] != "ok":
        return Profiled(status=counted["status"], reason=counted.get("reason", ""), **known)
    profile = counted["profile"]
    unit_only = {"task": where["task"], "precision": precision}
    diagnosis = tools.diagnose.invoke({"profile": profile, "build": built["build"], "source": source, **unit_only})
    return Profiled(
        status="ok",
        profile=Profile.model_validate(profile),
        bottleneck=tools.bottleneck_filter.invoke({"profile": profile}).get("bottleneck", ""),
        diagnosis=Diagnosis.model_validate(diagnosis) if "findings" in diagnosis else None,
        kernels=tuple(KernelReport.model_validate(report) for report in diagnosis.get("kernels", ())),
        **known,
    )


def compare_kernels(first: str, second: str, task: str, precision: str, device: str) -> Compared:
    """Build, profile and diagnose two kernels of one task at the same case, and say what moved between them.

    Raises:
        UnknownTask, DeviceUnavailable: as they say.
    """
    before, after = (profile_kernel(source, task, precision, device) for source in (first, second))
    for place, profiled in (("first", before), ("second", after)):
        if profiled.profile is None:
            return Compared(status=profiled.status, reason=f"the {place} kernel: {profiled.reason}", **_of(profiled))
    assert before.profile is not None
    assert after.profile is not None
    diagnoses = (before.diagnosis, after.diagnosis) if before.diagnosis and after.diagnosis else None
    found = compare(before.profile, after.profile, diagnoses=diagnoses)
    classes = (before.bottleneck, after.bottleneck)
    return Compared(status="ok", case=before.profile.case, bottlenecks=classes, comparison=found, **_of(before))


def _of(profiled: Profiled) -> dict[str, str]:
    return {"unit": profiled.unit, "device": profiled.device}


def _where(task: str, precision: str, device: str) -> tuple[dict[str, Any], Any, str]:
    what = load_task(task)
    found = get_device(device)
    found.info()
    return {"task": task, "precision": precision, "device": found.name}, what, f"{what.name}-{precision}"
