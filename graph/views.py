"""What a person sees: a line that lives while a run works, and the panel at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from ..models.estimate import Span
from ..models.question import Question
from ..prompts.tokens import estimate_tokens
from ..tools.own.init import Initiated
from ..tools.result.summary import Figure, Summary
from .advance import Advanced, OnRun
from .doctor import Item
from .estimate import SuiteEstimate
from .import_answers import Imported
from .one_kernel import Checked
from .run import OnStep, Step

_DOING = {
    "prepare": "building, checking and profiling the kernel to start from",
    "planner": "choosing a strategy",
    "coder": "writing the kernel",
    "compiler": "choosing build options",
    "build": "compiling",
    "tuner": "timing the values of its constants",
    "run": "checking and timing",
    "debugger": "repairing",
    "profiler": "profiling the new best",
    "recorder": "recording the round",
    "finisher": "verifying the winner once more and writing the result",
}


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints brackets as brackets: formulas and intervals are no markup."""
    return Console(stderr=stderr, markup=False)


@contextmanager
def live(out: Console) -> Iterator[OnStep]:
    """Show what a run does now, and a line for each thing that it has done."""
    with out.status("starting") as status:

        def show(step: Step) -> None:
            place = f"round {step.round}/{step.rounds}" if step.round else "start"
            if step.event == "start":
                status.update(Text(f"{place}  {step.node}: {_DOING[step.node]}"))
            elif step.node != "recorder":
                note = Text.assemble((f"{place:<12}", "dim"), (f"{step.node:<10}", "bold"), f"{step.seconds:7.1f} s  ")
                note.append(step.note.splitlines()[0][:160] if step.note else "done")
                out.print(note, soft_wrap=True)

        yield show


@contextmanager
def live_runs(out: Console) -> Iterator[OnRun]:
    """Show how many runs have been advanced, and a line for each."""
    with out.status("going on") as status:
        count = 0

        def show(item: Advanced) -> None:
            nonlocal count
            count += 1
            status.update(f"{count} runs so far")
            out.print(_line_of(item), soft_wrap=True)

        yield show


def _line_of(item: Advanced) -> Text:
    line = Text.assemble((f"{item.run}  ", "bold"), item.status.replace("_", " "))
    return line.append(f": {item.reason}", "dim") if item.reason else line


def show_worked(out: Console, done: Sequence[Advanced]) -> None:
    """Print what became of the runs, by status, and what to do next."""
    counts = Counter(item.status for item in done)
    if not counts:
        out.print("no run here can go on by itself: `cudamaster runs` shows what each waits for")
        return
    out.print(", ".join(f"{number} {status.replace('_', ' ')}" for status, number in sorted(counts.items())))
    if counts["waiting_model"]:
        out.print("open questions: `cudamaster mailbox export`")
    if counts["waiting_device"]:
        out.print("for a machine with the device: `cudamaster pack --out FILE`, and there `cudamaster unpack FILE`")


def show_questions(out: Console, questions: Sequence[Question]) -> None:
    """Print a table of open questions."""
    table = Table("question", "agent", "unit", "tokens", box=None, header_style="bold")
    for question in questions:
        table.add_row(question.key, question.agent, question.unit, str(estimate_tokens(question.prompt)))
    out.print(table if questions else "no open questions")


def show_imported(out: Console, outcomes: Sequence[Imported]) -> None:
    """Print what became of each answer."""
    for item in outcomes:
        state = item.run_status.replace("_", " ") if item.status == "good" else item.status
        colour = "green" if item.status == "good" and item.run_status != "refused" else "red"
        line = Text.assemble((f"{item.id}  ", "bold"), (state, colour))
        out.print(line.append(f": {item.problem}") if item.problem else line, soft_wrap=True)
    used = sum(item.status == "good" for item in outcomes)
    out.print(f"{used} of {len(outcomes)} answers used" if outcomes else "no question of the file was filled in")


def show_estimate(out: Console, told: SuiteEstimate) -> None:
    """Print a table of what runs would cost."""
    table = Table("unit", "questions", "tokens in", "tokens out", "USD", box=None, header_style="bold")
    rows = [(item.unit, item.cost) for item in told.units]
    for name, cost in [*rows, ("together", told.total)] if len(rows) > 1 else rows:
        usd = _span(cost.usd, "{:.2f}") if cost.usd else "price unknown"
        table.add_row(name, *(_span(s, "{:,.0f}") for s in (cost.calls, cost.input_tokens, cost.output_tokens)), usd)
    out.print(table)
    out.print(
        "Least: no repairs, no reasoning. Most: every repair, long kernels, long reasoning. "
        f"Prices of {told.prices_of}."
    )


def _span(span: Span, form: str) -> str:
    low, high = form.format(span.low), form.format(span.high)
    return low if low == high else f"{low} – {high}"


def show_summary(out: Console, summary: Summary) -> None:
    """Print the panel at the end of a run, or of a part of it."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    gain = summary.gain
    if gain:
        word = "speedup" if summary.speedup else "estimated speedup"
        rows.add_row(word, Text(f"{factor(gain)}  ({gain.method}, {gain.set} cases)", style="bold green"))
        weighted = summary.weighted_speedup or summary.estimated_weighted_speedup
        if weighted:
            rows.add_row("weighted", f"{factor(weighted)}  (the paper's P)")
    if efficiency := summary.efficiency or summary.estimated_efficiency:
        rows.add_row("efficiency", f"{efficiency.value:.1%} of the floor")
    if summary.best:
        rows.add_row("strategy", f"{summary.best.strategy or '-'} (round {summary.best.round})")
        rows.add_row("verified", summary.best.verified)
        rows.add_row("kernel", _near(summary.best.file))
    if summary.reason:
        rows.add_row("why", summary.reason)
    spent = summary.spent
    money = f", {spent.usd:.4f} USD" if spent.usd else ""
    rows.add_row("cost", f"{spent.calls} questions, {spent.input_tokens + spent.output_tokens} tokens{money}")
    rows.add_row("next", _next(summary))
    title = f"{summary.unit} on {summary.device}: {summary.status.replace('_', ' ')}"
    colour = {"improved": "green", "failed": "red"}.get(summary.status, "yellow")
    out.print(Panel(rows, title=Text(title), border_style=colour, title_align="left"))


def show_initiated(out: Console, made: Initiated) -> None:
    """Print what a launcher's parameters were taken for, and what to do next."""
    table = Table("parameter", "role", "elements or value", "from", box=None, header_style="bold")
    for p in made.parameters:
        what = p.shape or ("-" if p.value is None else f"= {p.value:g}")
        table.add_row(p.name, p.role, what, Text(f"guessed: {p.why}", style="yellow") if p.guessed else "you")
    out.print(f"{made.launcher} → {made.folder} ({', '.join(made.precisions)})")
    out.print(table)
    for change in made.changes:
        out.print(f"changed in the copy: {change}", soft_wrap=True)
    if made.differential:
        out.print("No definition was given: candidates are compared with the original kernel, within a widened bound.")
    if made.checked:
        out.print(made.checked)
    flag = "" if "fp32" in made.precisions else " --precision bf16"
    near = _near(made.folder)
    near = near if "/" in near else f"./{near}"  # a bare name is a task of the benchmark
    wrong = made.checked.startswith("FAILED")
    out.print(
        f"Mend shapes, roles and sizes in {near}/task.py; or delete the folder and begin again with --role, --shape."
        if wrong
        else f"Look at the lines marked GUESSED in {near}/task.py; then: cudamaster optimize {near}{flag}",
        soft_wrap=True,
    )


def show_runs(out: Console, runs: Sequence[Summary]) -> None:
    """Print a table of runs."""
    whole = Column("run", overflow="fold", min_width=max((len(run.run) for run in runs), default=0))  # to be typed
    table = Table(whole, "unit", "device", "status", "rounds", "gain", box=None, header_style="bold")
    for run in runs:
        gain = f"{run.gain.value:.3g}x{'' if run.speedup else ' est.'}" if run.gain else "-"
        table.add_row(run.run, run.unit, run.device, run.status.replace("_", " "), str(run.rounds), gain)
    out.print(table if runs else "no runs here: `cudamaster optimize dot_product` makes one")


def factor(figure: Figure) -> str:
    """Return a gain as people write it, with its interval if there is one."""
    interval = f" [{figure.ci95[0]:.3g}, {figure.ci95[1]:.3g}]" if figure.ci95 else ""
    return f"{figure.value:.3g}x{interval}"


def show_check(out: Console, checked: Checked) -> None:
    """Print the judge's word on one kernel."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    rows.add_row("verdict", f"{checked.status}: {checked.summary.removeprefix(f'{checked.status}: ')}")
    if checked.detail and checked.status != "pass":
        rows.add_row("evidence", checked.detail)
    for word, figure in (("speedup", checked.speedup), ("estimated speedup", checked.estimated_speedup)):
        if figure:
            rows.add_row(word, f"{factor(figure)}  ({figure.method}, {figure.set} cases, over the task's baseline)")
    rows.add_row("cases", f"{sum(case.ok for case in checked.cases)} of {len(checked.cases)} right")
    colour = "green" if checked.status == "pass" else "red"
    out.print(Panel(rows, title=Text(f"{checked.unit} on {checked.device}"), border_style=colour, title_align="left"))


def show_tasks(out: Console, tasks: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of tasks."""
    table = Table("task", "category", Column("computes", overflow="fold"), box=None, header_style="bold")
    for task in tasks:
        table.add_row(task["name"], task["category"], task["formula"])
    out.print(table)


def show_task(out: Console, task: Mapping[str, Any]) -> None:
    """Print one task in full."""
    out.print(f"{task['name']} ({task['category']}): {task['formula']}")
    for prototype in task["prototypes"]:
        out.print(prototype, soft_wrap=True)
    if task["waste"]:
        out.print(f"The baseline's waste: {task['waste']}")
    if task["notes"]:
        out.print(task["notes"])
    table = Table("set", "case", box=None, header_style="bold")
    for case in task["cases"]:
        table.add_row(case["set"], case["name"])
    out.print(table)


def show_doctor(out: Console, found: Sequence[Item]) -> None:
    """Print what was found on this machine."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    colours = {"ok": "green", "missing": "yellow", "fault": "red"}
    for item in found:
        detail = "\n".join(filter(None, (item.detail, item.fix)))
        table.add_row(Text(item.state, colours[item.state]), item.name, detail)
    out.print(table)


def _near(path: str | Path) -> str:
    """Return a path as it is typed here: relative where that is shorter."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _next(summary: Summary) -> str:
    run, report = summary.run, _near(Path(summary.result) / "report.md")
    match summary.status:
        case "improved" if summary.speedup:
            return f"read {report}; build.sh beside it builds the kernel"
        case "improved":
            return f"read {report}; on a machine with a GPU: build.sh beside it, then ./bench"
        case "no_gain":
            return f"read {report}; more rounds (--rounds) or another --model may find more"
        case "waiting_model":
            return (
                "`cudamaster mailbox export` writes its question, `mailbox import` takes the answer"
                if summary.questions
                else f"`cudamaster resume {run}` once its model can be reached"
            )
        case "waiting_device":
            return f"`cudamaster resume {run}` on a machine with the device"
        case "stopped_budget":
            return f"`cudamaster resume {run} --max-…` with a bigger budget goes on"
        case "failed":
            return f"mend what is said above, and start again (report: {report})"
        case "running":
            return "another process is working on it"
        case "interrupted":
            return f"`cudamaster resume {run}` goes on where it stopped"
