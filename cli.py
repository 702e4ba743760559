"""The command line: thin, and quick to start; everything heavy is imported by the command that needs it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from .benchmark.parallel import keep_freed_memory

if TYPE_CHECKING:
    from langgraph.runtime import RunControl

    from .evals.order import Order
    from .tools.result.summary import Summary


class _OneLine(TyperGroup):
    """A group that says what is wrong with a command line in one line, with exit code 2."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command line."""
        run = partial(super().main, args, *rest, **extra)
        if not standalone_mode:
            return run(standalone_mode=False)
        try:
            code = run(standalone_mode=False)
        except typer.Abort:
            sys.exit(1)
        except Exception as error:
            # Typer carries its own copy of Click in some versions: its errors are known by what they can do.
            if not hasattr(error, "format_message"):
                raise
            told = error.format_message()
            context = getattr(error, "ctx", None)
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(told)
                sys.exit(2)
            where = context.command_path if context else "cudamaster"
            typer.echo(f"cudamaster: {' '.join(told.split()).rstrip('.')}; see `{where} --help`", err=True)
            sys.exit(2)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=_OneLine,
    name="cudamaster",
    help="Makes CUDA kernels faster, and proves that they still compute the same.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class LogLevel(StrEnum):
    """From which level on events are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a line of the log looks."""

    TEXT = "text"
    JSON = "json"


def _task_names(incomplete: str) -> list[str]:
    """Complete the name of a task of the benchmark."""
    found = (Path(__file__).parent / "benchmark" / "tasks").glob(f"{incomplete}*/task.py")
    return sorted(path.parent.name for path in found)


def _run_names(incomplete: str) -> list[str]:
    """Complete the id of a run in the home."""
    home = Path(os.environ.get("CUDAMASTER_HOME") or ".cudamaster")
    return sorted(path.parent.name for path in home.glob(f"runs/{incomplete}*/manifest.json"))


def _print_version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        typer.echo(f"cudamaster {__version__}")
        raise typer.Exit


@app.callback()
def settings(
    log_level: Annotated[
        LogLevel | None,
        typer.Option(envvar="CUDAMASTER_LOG_LEVEL", help="Log to standard error; info: a line for every step."),
    ] = None,
    log_format: Annotated[
        LogFormat, typer.Option(envvar="CUDAMASTER_LOG_FORMAT", help="json: one object a line.")
    ] = LogFormat.TEXT,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Makes CUDA kernels faster, and proves that they still compute the same."""
    if log_level is not None:
        from .graph.logs import log_to_stderr

        log_to_stderr(log_level.value, log_format.value)


class DeviceChoice(StrEnum):
    """Where candidates are built, run and timed."""

    AUTO = "auto"
    CUDA = "cuda"
    CPU = "cpu"


class PrecisionChoice(StrEnum):
    """Storage precision."""

    FP32 = "fp32"
    BF16 = "bf16"


class CheckpointChoice(StrEnum):
    """Where the state is kept."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class AgentChoice(StrEnum):
    """An agent."""

    PLANNER = "planner"
    CODER = "coder"
    COMPILER = "compiler"
    DEBUGGER = "debugger"


class FormatChoice(StrEnum):
    """How questions are written."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"


class CacheChoice(StrEnum):
    """Where replies are kept over all runs."""

    SQLITE = "sqlite"


class SearchChoice(StrEnum):
    """How a unit's rounds are spent."""

    GREEDY = "greedy"
    BEST_OF_N = "best-of-n"


class ExecutorChoice(StrEnum):
    """What carries out the units."""

    LOCAL = "local"
    RAY = "ray"


class AblationChoice(StrEnum):
    """What differs between the arms of an ablation."""

    PROFILE = "profile"
    ROUNDS = "rounds"
    REPAIRS = "repairs"
    MODEL = "model"
    SEARCH = "search"
    PRESET = "preset"


class ViewChoice(StrEnum):
    """How much of a profile is shown."""

    NONE = "none"
    FILTERED = "filtered"
    FULL = "full"
    DIAGNOSIS = "diagnosis"


def _use_home(home: Path | None) -> Path | None:
    """Let what is cached, builds above all, go where the runs go."""
    if home is not None:
        os.environ["CUDAMASTER_HOME"] = str(home)
    return home


Home = Annotated[
    Path | None,
    typer.Option(
        envvar="CUDAMASTER_HOME",
        help="Folder for runs, artifacts and builds.",
        show_default=".cudamaster",
        callback=_use_home,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
DeviceOption = Annotated[DeviceChoice, typer.Option(help="Where kernels run; auto: cuda if a GPU answers, else cpu.")]
PrecisionOption = Annotated[PrecisionChoice, typer.Option(help="Storage precision.")]
TaskOption = Annotated[str, typer.Option(help="The task that the kernel computes.", autocompletion=_task_names)]
Source = Annotated[Path, typer.Argument(help="The CUDA source file.")]
BaseUrl = Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible endpoint.")]
Repairs = Annotated[int | None, typer.Option(min=0, max=20, help="Most repairs in a round.", show_default="3")]
View = Annotated[
    ViewChoice | None, typer.Option(help="What the Planner is told of the profile.", show_default="diagnosis")
]
Tune = Annotated[bool | None, typer.Option("--tune/--no-tune", help="Search the constants that a source marks.")]
Preset = Annotated[str | None, typer.Option(help="`paper`: the loop as the paper describes it.")]
MaxUsd = Annotated[float | None, typer.Option(min=0, help="Most money for the model, in USD.")]
MaxTokens = Annotated[int | None, typer.Option(min=0, help="Most tokens, in and out.")]
MaxCalls = Annotated[int | None, typer.Option(min=0, help="Most questions to the model.")]
MaxWall = Annotated[float | None, typer.Option(min=0, help="Most seconds of this start or resume.")]


@app.command()
def init(
    source: Source,
    out: Annotated[Path | None, typer.Option(help="The folder to write.", show_default="./LAUNCHER")] = None,
    launcher: Annotated[str, typer.Option(help="The function that launches the kernels, if there are several.")] = "",
    include: Annotated[
        list[Path] | None, typer.Option("--include", "-I", help="Folder of the project's headers.")
    ] = None,
    define: Annotated[list[str] | None, typer.Option("--define", "-D", metavar="NAME[=VALUE]", help="Macro.")] = None,
    template: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A template parameter of the launcher.")
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=ROLE", help="in, out, inout, size, scalar or scratch, instead of a guess."),
    ] = None,
    shape: Annotated[
        list[str] | None, typer.Option(metavar="NAME=SHAPE", help='Elements of an array, e.g. "rows * cols".')
    ] = None,
    value: Annotated[list[str] | None, typer.Option(metavar="NAME=NUMBER", help="What a scalar is.")] = None,
    reference: Annotated[
        str,
        typer.Option(metavar="FILE.py:FUNCTION", help="What it computes.", show_default="the original kernel itself"),
    ] = "",
    device: DeviceOption = DeviceChoice.AUTO,
    ask: Annotated[bool, typer.Option("--ask", help="Ask about every guess.")] = False,
    check: Annotated[bool, typer.Option(help="Try the original on this machine.")] = True,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Make a task folder from a kernel of your own, for `optimize ./FOLDER`. Guesses are marked in its task.py."""
    with _refusing():
        from .tools.own.init import init as make

        made = make(
            source,
            out,
            launcher=launcher,
            include=include or (),
            defines=_pairs(define, "--define", "1"),
            template=_pairs(template, "--template"),
            roles=_pairs(role, "--role"),
            shapes=_pairs(shape, "--shape"),
            values=_pairs(value, "--value"),
            reference=reference,
            device=device.value,
            check=check,
            ask=(lambda name, what, guess: typer.prompt(f"{what} of {name}", default=guess, err=True)) if ask else None,
        )
        if as_json:
            _print_json(made.model_dump(mode="json"))
        else:
            from .graph.views import console, show_initiated

            show_initiated(console(), made)
        raise typer.Exit(1 if made.checked.startswith("FAILED") else 0)


@app.command()
def optimize(
    task: Annotated[
        str,
        typer.Argument(
            help="A task of the benchmark (`cudamaster tasks`), or a folder of your own.", autocompletion=_task_names
        ),
    ],
    precision: PrecisionOption = PrecisionChoice.FP32,
    device: DeviceOption = DeviceChoice.AUTO,
    model: Annotated[
        str | None, typer.Option(help="Who answers: offline, mailbox, openai:NAME.", show_default="offline")
    ] = None,
    base_url: BaseUrl = None,
    planner_model: Annotated[str | None, typer.Option(help="Another model for the Planner.")] = None,
    coder_model: Annotated[str | None, typer.Option(help="Another model for the Coder.")] = None,
    compiler_model: Annotated[str | None, typer.Option(help="Another model for the Compiler.")] = None,
    debugger_model: Annotated[str | None, typer.Option(help="Another model for the debugger.")] = None,
    replay: Annotated[
        str | None, typer.Option(metavar="RUN", help="Answer from the journal of a run in this home, with no network.")
    ] = None,
    reasoning_effort: Annotated[str | None, typer.Option(help="For models that take it: low, medium, high.")] = None,
    requests_per_minute: Annotated[
        float | None,
        typer.Option(min=0.001, help="To one endpoint, over all runs of the home.", show_default="no limit"),
    ] = None,
    reply_cache: Annotated[
        CacheChoice | None, typer.Option(help="Pay the same question to the same model once, over all runs.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=100, help="Rounds.", show_default="3")] = None,
    repairs: Repairs = None,
    profile: View = None,
    tune: Tune = None,
    preset: Preset = None,
    source: Annotated[Path | None, typer.Option("--from", help="A .cu file to begin with.")] = None,
    run_id: Annotated[str, typer.Option(help="A name for the run.", show_default="made up")] = "",
    home: Home = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    max_calls: MaxCalls = None,
    max_wall: MaxWall = None,
    checkpoints: Annotated[
        CheckpointChoice,
        typer.Option(help="Where the state is kept; postgres: the server of CUDAMASTER_POSTGRES."),
    ] = CheckpointChoice.SQLITE,
    wait_device: Annotated[
        bool, typer.Option("--wait-device", help="Start without the device; the run waits for it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a task's kernel faster: rounds of planning, coding, building, checking and profiling."""
    agents = {"planner": planner_model, "coder": coder_model, "compiler": compiler_model, "debugger": debugger_model}
    with _refusing():
        from .graph.api import optimize as run

        if replay:
            if model or any(agents.values()):
                raise typer.BadParameter("--replay answers in place of every --model", param_hint="'--replay'")
            from .graph.manifest import read_manifest, run_folder

            read_manifest(replay, home)
            model = f"replay:{run_folder(replay, home).resolve() / 'journal'}"
        with _watched(as_json) as (on_step, control):
            summary = run(
                task,
                precision=precision.value,
                device=device.value,
                source=source,
                preset=preset,
                run_id=run_id,
                home=home,
                checkpoints=checkpoints.value,
                wait_for_device=wait_device,
                on_step=on_step,
                control=control,
                model=model,
                models={agent: name for agent, name in agents.items() if name} or None,
                base_url=base_url,
                rounds=rounds,
                repairs=repairs,
                profile=profile.value if profile else None,
                tune=tune,
                reasoning_effort=reasoning_effort,
                requests_per_minute=requests_per_minute,
                reply_cache=reply_cache.value if reply_cache else None,
                max_usd=max_usd,
                max_tokens=max_tokens,
                max_calls=max_calls,
                max_wall_s=max_wall,
            )
        _finish(summary, as_json)


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="The run (`cudamaster runs`).", autocompletion=_run_names)],
    home: Home = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    max_calls: MaxCalls = None,
    max_wall: MaxWall = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=100, help="End after so many rounds instead.")] = None,
    as_json: Json = False,
) -> None:
    """Go on with a run that was interrupted, or waits for its device, or stopped on its budget."""
    with _refusing():
        from .graph.api import resume as go_on

        with _watched(as_json) as (on_step, control):
            summary = go_on(
                run,
                home=home,
                on_step=on_step,
                control=control,
                max_usd=max_usd,
                max_tokens=max_tokens,
                max_calls=max_calls,
                max_wall_s=max_wall,
                rounds=rounds,
            )
        _finish(summary, as_json)


@app.command()
def runs(
    run: Annotated[str | None, typer.Argument(help="One run, in full; without it, all.")] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """List the runs, or show one."""
    with _refusing():
        from .graph.run import list_runs, look

        found = [look(run, home=home)] if run else list_runs(home)
        if as_json:
            _print_json(found[0].model_dump(mode="json") if run else [item.model_dump(mode="json") for item in found])
            return
        from .graph.views import console, show_runs, show_summary

        if run:
            show_summary(console(), found[0])
        else:
            show_runs(console(), found)


@app.command()
def check(
    source: Source,
    task: TaskOption,
    precision: PrecisionOption = PrecisionChoice.FP32,
    device: DeviceOption = DeviceChoice.AUTO,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Judge a kernel of your own: right or wrong, and how fast against the task's baseline. Exit code 1 if wrong."""
    with _refusing():
        from .graph.one_kernel import check_kernel

        checked = check_kernel(_read(source), task, precision.value, device.value)
        if as_json:
            _print_json(checked.model_dump(mode="json"))
        else:
            from .graph.views import console, show_check

            show_check(console(), checked)
        raise typer.Exit(0 if checked.status == "pass" else 1)


@app.command()
def profile(
    source: Source,
    task: TaskOption,
    precision: PrecisionOption = PrecisionChoice.FP32,
    device: DeviceOption = DeviceChoice.AUTO,
    view: Annotated[ViewChoice, typer.Option(help="How much to show.")] = ViewChoice.DIAGNOSIS,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Profile a kernel of your own and say what limits it."""
    with _refusing():
        from .graph.one_kernel import profile_kernel

        profiled = profile_kernel(_read(source), task, precision.value, device.value)
        if as_json:
            _print_json(profiled.model_dump(mode="json"))
        else:
            typer.echo(profiled.told(view.value))
        raise typer.Exit(0 if profiled.status == "ok" else 1)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A CUDA source file.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    task: TaskOption,
    precision: PrecisionOption = PrecisionChoice.FP32,
    device: DeviceOption = DeviceChoice.AUTO,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Profile two kernels of a task and say what moved, and why one is faster."""
    with _refusing():
        from .graph.one_kernel import compare_kernels

        compared = compare_kernels(_read(first), _read(second), task, precision.value, device.value)
        if as_json:
            _print_json(compared.model_dump(mode="json"))
        else:
            typer.echo(compared.text())
        raise typer.Exit(0 if compared.status == "ok" else 1)


@app.command()
def tasks(
    name: Annotated[str | None, typer.Argument(help="One task, in full; without it, all.")] = None,
    as_json: Json = False,
) -> None:
    """List the benchmark's tasks, or show one with its contract and sizes."""
    with _refusing():
        from .graph.task_list import describe_task, list_tasks

        found = describe_task(name) if name else list_tasks()
        if as_json:
            _print_json(found)
        else:
            from .graph.views import console, show_task, show_tasks

            if isinstance(found, list):
                show_tasks(console(), found)
            else:
                show_task(console(), found)


@app.command()
def doctor(
    home: Home = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Measure the GPU's own rates and keep them.")] = False,
    as_json: Json = False,
) -> None:
    """Say what this machine has, what is missing, and how to get it. Exit code 1 if nothing can run here."""
    with _refusing():
        from .graph.doctor import calibrated, examine

        found = [*examine(home), *([calibrated(home)] if calibrate else [])]
        if as_json:
            _print_json([item._asdict() for item in found])
        else:
            from .graph.views import console, show_doctor

            show_doctor(console(), found)
        raise typer.Exit(1 if any(item.state == "fault" for item in found) else 0)


# --- the benchmark ---------------------------------------------------------------------------------------------------

Tasks = Annotated[
    list[str] | None,
    typer.Argument(
        help="Tasks of the benchmark, or folders of your own; without any, the whole benchmark.",
        autocompletion=_task_names,
    ),
]
Precisions = Annotated[
    list[PrecisionChoice] | None, typer.Option(help="Once or twice.", show_default="those that a task has")
]
ModelOption = Annotated[str | None, typer.Option(help="Who answers: offline, mailbox, openai:NAME.")]
Rounds = Annotated[int | None, typer.Option(min=1, max=100, help="Rounds for each unit.", show_default="3")]
UnitMaxUsd = Annotated[float | None, typer.Option("--max-usd", min=0, help="Most USD for the model, for each unit.")]
UnitMaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=0, help="Most tokens, for each unit.")]
SearchOption = Annotated[
    SearchChoice,
    typer.Option("--search", help="best-of-n: n runs from different strategies, of which the better half goes on."),
]
Width = Annotated[int, typer.Option(min=2, max=64, help="The n of best-of-n.")]
ExecutorOption = Annotated[
    ExecutorChoice, typer.Option("--executor", help="ray: the cluster of RAY_ADDRESS, a task and a GPU for each unit.")
]
UnitJobs = Annotated[int | None, typer.Option(min=1, help="Units at a time.", show_default="cores")]
Checkpoints = Annotated[
    CheckpointChoice, typer.Option(help="Where states are kept; postgres: the server of CUDAMASTER_POSTGRES.")
]


@app.command()
def bench(
    task: Tasks = None,
    suite: Annotated[str, typer.Option(help="Name of the suite: the same name goes on with it.")] = "bench",
    precision: Precisions = None,
    device: DeviceOption = DeviceChoice.AUTO,
    model: ModelOption = None,
    base_url: BaseUrl = None,
    rounds: Rounds = None,
    repairs: Repairs = None,
    profile: View = None,
    tune: Tune = None,
    preset: Preset = None,
    search: SearchOption = SearchChoice.GREEDY,
    width: Width = 4,
    max_usd: UnitMaxUsd = None,
    max_tokens: UnitMaxTokens = None,
    executor: ExecutorOption = ExecutorChoice.LOCAL,
    jobs: UnitJobs = None,
    checkpoints: Checkpoints = CheckpointChoice.SQLITE,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Optimise many units as one suite. Interrupted at any instant, the same command goes on where it stopped."""
    with _refusing():
        from .evals.command import run_bench
        from .evals.suite import Search
        from .nodes.context import default_home

        home = (home or default_home()).resolve()
        options = {
            "model": model,
            "base_url": base_url,
            "rounds": rounds,
            "repairs": repairs,
            "profile": profile and profile.value,
            "tune": tune,
            "max_usd": max_usd,
            "max_tokens": max_tokens,
        }
        order = _order(task, precision, device, options, preset, executor, jobs, checkpoints, home)
        kind = Search(kind=search.value, width=width) if search is SearchChoice.BEST_OF_N else Search()
        raise typer.Exit(run_bench(order, suite_id=suite, search=kind, home=home, as_json=as_json))


@app.command()
def ablate(
    what: Annotated[AblationChoice, typer.Argument(help="What differs between the arms.")],
    task: Tasks = None,
    name: Annotated[str, typer.Option(help="Name of the ablation: the same name goes on.", show_default="WHAT")] = "",
    values: Annotated[
        str, typer.Option(help="The arms, with commas between; for `model` the models.", show_default="the paper's")
    ] = "",
    precision: Precisions = None,
    device: DeviceOption = DeviceChoice.AUTO,
    model: ModelOption = None,
    base_url: BaseUrl = None,
    rounds: Rounds = None,
    repairs: Repairs = None,
    profile: View = None,
    tune: Tune = None,
    preset: Preset = None,
    width: Width = 4,
    max_usd: UnitMaxUsd = None,
    max_tokens: UnitMaxTokens = None,
    executor: ExecutorOption = ExecutorChoice.LOCAL,
    jobs: UnitJobs = None,
    checkpoints: Checkpoints = CheckpointChoice.SQLITE,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Run the same units under several configurations, one suite each, and compare them; resumable as `bench` is.

    profile: none, filtered, full, diagnosis. rounds: 1 to 5. repairs: 0 to 3. search: greedy against best-of-n with as
    many rounds. preset: the paper's loop against ours. model: those of --values.
    """
    with _refusing():
        from .evals.ablate import run_ablation
        from .nodes.context import default_home

        home = (home or default_home()).resolve()
        options = {
            "model": model,
            "base_url": base_url,
            "rounds": rounds,
            "repairs": repairs,
            "profile": profile and profile.value,
            "tune": tune,
            "max_usd": max_usd,
            "max_tokens": max_tokens,
        }
        order = _order(task, precision, device, options, preset, executor, jobs, checkpoints, home)
        chosen = [value.strip() for value in values.split(",") if value.strip()]
        code = run_ablation(what.value, chosen, order, name=name or what.value, width=width, home=home, as_json=as_json)
        raise typer.Exit(code)


@app.command()
def report(
    what: Annotated[
        list[str], typer.Argument(metavar="WHAT...", help="A suite, a run, or a file of `--data`; two are compared.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write: .html, .md, .csv or .parquet.", show_default="WHAT.html")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Write all that the report is made from, as JSON, too.")] = None,
    title: Annotated[str, typer.Option(help="Of the page.", show_default="the suite's name")] = "",
    join: Annotated[bool, typer.Option("--join", help="Several suites are one that was done in pieces.")] = False,
    libraries: Annotated[
        Path | None, typer.Option(help="What `python -m cudamaster.evals.baselines` measured of libraries.")
    ] = None,
    home: Home = None,
) -> None:
    """Write a suite or a run as one HTML file that needs no network; or compare two suites, with significance."""
    with _refusing():
        from .evals.report.command import write_report

        for line in write_report(what, out=out, data=data, title=title, home=home, join=join, libraries=libraries):
            typer.echo(line)


evals = typer.Typer(cls=_OneLine, rich_markup_mode=None, help="The benchmark as a LangSmith dataset and experiment.")
app.add_typer(evals, name="evals")
DatasetOption = Annotated[str, typer.Option(help="Name of the dataset in LangSmith.")]


@evals.command("push")
def evals_push(
    task: Tasks = None, precision: Precisions = None, dataset: DatasetOption = "MSKernelBench", as_json: Json = False
) -> None:
    """Put the units into a LangSmith dataset; those that are there already are left as they are."""
    with _refusing():
        from .benchmark.contract import Precision
        from .benchmark.registry import choose_units
        from .evals.langsmith_dataset import push

        pushed = push(choose_units(task or [], [Precision(p.value) for p in precision or ()]), dataset)
        if as_json:
            _print_json(pushed._asdict())
        else:
            typer.echo(f"{dataset}: {pushed.added} units added, {pushed.known} were there; {pushed.url}")


@evals.command("run")
def evals_run(
    task: Tasks = None,
    suite: Annotated[str, typer.Option(help="The suite that the units are done in; it goes on with what is there.")] = (
        "evals"
    ),
    precision: Precisions = None,
    device: DeviceOption = DeviceChoice.AUTO,
    model: ModelOption = None,
    base_url: BaseUrl = None,
    rounds: Rounds = None,
    repairs: Repairs = None,
    profile: View = None,
    preset: Preset = None,
    dataset: DatasetOption = "MSKernelBench",
    local: Annotated[bool, typer.Option("--local", help="Without LangSmith: no network is used.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Do units as a LangSmith experiment, with our judge as its evaluator: it judges every winner again, from disk."""
    with _refusing():
        from .evals.langsmith_experiment import run_experiment
        from .evals.suite import open_suite
        from .nodes.context import default_home

        home = (home or default_home()).resolve()
        options = {
            "model": model,
            "base_url": base_url,
            "rounds": rounds,
            "repairs": repairs,
            "profile": profile and profile.value,
        }
        order = _order(task, precision, device, options, preset, ExecutorChoice.LOCAL, 1, CheckpointChoice.SQLITE, home)
        rows = run_experiment(open_suite(suite, order.units, order.options, home), home, dataset=dataset, local=local)
        if as_json:
            _print_json([row._asdict() for row in rows])
        else:
            for row in rows:
                typer.echo(f"{row.unit:<28} {'  '.join(f'{key}={value:.4g}' for key, value in row.scores.items())}")


def _order(
    task: list[str] | None,
    precision: list[PrecisionChoice] | None,
    device: DeviceChoice,
    options: dict[str, Any],
    preset: str | None,
    executor: ExecutorChoice,
    jobs: int | None,
    checkpoints: CheckpointChoice,
    home: Path,
) -> Order:
    from .evals.order import read_order

    return read_order(
        task or [],
        precisions=[p.value for p in precision or ()],
        device=device.value,
        options=options,
        preset=preset,
        executor=executor.value,
        jobs=jobs,
        checkpoints=checkpoints.value,
        home=home,
    )


# --- many runs -------------------------------------------------------------------------------------------------------

Jobs = Annotated[int | None, typer.Option(min=1, help="Runs at a time.", show_default="cores")]

mailbox = typer.Typer(cls=_OneLine, rich_markup_mode=None, help="Questions that wait for answers from outside.")
app.add_typer(mailbox, name="mailbox")


@mailbox.callback(invoke_without_command=True)
def mailbox_list(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """Questions that wait for answers from outside; without a command, list those that are open."""
    if context.invoked_subcommand:
        return
    with _refusing():
        from .graph.questions import open_questions

        questions = open_questions(home)
        if as_json:
            _print_json([{"id": q.key, "agent": q.agent, "unit": q.unit, "prompt": q.prompt} for q in questions])
            return
        from .graph.views import console, show_questions

        show_questions(console(), questions)


@mailbox.command("export")
def mailbox_export(
    out: Annotated[Path | None, typer.Option(help="The file to write.", show_default="standard output")] = None,
    form: Annotated[FormatChoice, typer.Option("--format", help="markdown: for people.")] = FormatChoice.JSONL,
    home: Home = None,
) -> None:
    """Write all open questions of all runs as one file, to be filled in."""
    with _refusing():
        from .graph.questions import open_questions
        from .models.mailbox_file import questions_to_jsonl, questions_to_markdown

        questions = open_questions(home)
        text = (questions_to_jsonl if form is FormatChoice.JSONL else questions_to_markdown)(questions)
        if out is None:
            sys.stdout.write(text)
            return
        try:
            out.write_text(text)
        except OSError as error:
            _refuse(f"{out} cannot be written: {error.strerror}", 2)
        count = f"{len(questions)} question{'' if len(questions) == 1 else 's'}"
        what = "fill in each `text`" if form is FormatChoice.JSONL else "write each answer under its heading"
        typer.echo(f"{count} in {out}: {what}, then `cudamaster mailbox import {out}`")


@mailbox.command("import")
def mailbox_import(
    file: Annotated[Path, typer.Argument(help="The exported file, filled in.")],
    jobs: Jobs = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Check each answer and let the runs go on that got a good one. Exit code 1 if any answer was not used."""
    with _refusing(), _interrupted_by_sigterm():
        from .graph.import_answers import import_answers

        text = _read(file)
        with _watched_runs(as_json) as on_run:
            outcomes = import_answers(text, home=home, jobs=jobs, on_run=on_run)
        if as_json:
            _print_json([item.model_dump(mode="json") for item in outcomes])
        else:
            from .graph.views import console, show_imported

            show_imported(console(), outcomes)
        used = all(item.status == "good" and item.run_status != "refused" for item in outcomes)
        raise typer.Exit(0 if used else 1)


@app.command()
def work(
    device: Annotated[DeviceChoice, typer.Option(help="Only the runs on this device; auto: all.")] = DeviceChoice.AUTO,
    jobs: Jobs = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Go on with every run of the home as far as this machine can; questions stay open.

    Exit code 0 if all have ended, 3 if some wait, 1 if one was refused.
    """
    with _refusing(), _interrupted_by_sigterm():
        from .graph.run import TERMINAL, list_runs
        from .graph.work import work as go_on

        with _watched_runs(as_json) as on_run:
            done = go_on(home=home, device=device.value, jobs=jobs, on_run=on_run)
        if as_json:
            _print_json([item.model_dump(mode="json") for item in done])
        else:
            from .graph.views import console, show_worked

            show_worked(console(), done)
        if any(item.status == "refused" for item in done):
            raise typer.Exit(1)
        raise typer.Exit(0 if all(summary.status in TERMINAL for summary in list_runs(home)) else 3)


@app.command()
def pack(
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="Without any, all of the home.")] = None,
    out: Annotated[Path, typer.Option(help="The archive to write (tar, xz).")] = Path("cudamaster-runs.tar.xz"),
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Put runs into one archive, to go on with them on another machine."""
    with _refusing():
        from .graph.pack import pack as put

        packed = put(runs or [], out, home=home)
        if as_json:
            _print_json(packed.model_dump(mode="json"))
        else:
            for line in packed.left:
                typer.echo(f"left out: {line}", err=True)
            count = f"{len(packed.runs)} run{'s' if len(packed.runs) > 1 else ''}"
            typer.echo(f"{count}, {packed.artifacts} artifacts, {packed.size_bytes:,} bytes in {out}")


@app.command()
def unpack(
    archive: Annotated[Path, typer.Argument(help="An archive of `cudamaster pack`.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Take runs out of an archive. One here that is ahead stays as it is; exit code 1 if one cannot be reconciled."""
    with _refusing():
        from .graph.unpack import unpack as take

        outcomes = take(archive, home=home)
        if as_json:
            _print_json([item.model_dump(mode="json") for item in outcomes])
        else:
            for item in outcomes:
                typer.echo(": ".join(filter(None, (f"{item.run}  {item.outcome}", item.reason))))
        raise typer.Exit(1 if any(item.outcome == "refused" for item in outcomes) else 0)


# --- before a run ----------------------------------------------------------------------------------------------------


@app.command()
def estimate(
    task: Tasks = None,
    precision: Precisions = None,
    model: Annotated[str, typer.Option(help="As for `optimize`.")] = "offline",
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds for each unit.")] = 3,
    repairs: Annotated[int, typer.Option(min=0, max=20, help="Most repairs in a round.")] = 3,
    as_json: Json = False,
) -> None:
    """Say what runs would cost: questions, tokens and money, at least and at most."""
    with _refusing():
        from .benchmark.contract import Precision
        from .graph.estimate import estimate as told_before

        precisions = [Precision(p.value) for p in precision or ()]
        told = told_before(task or [], precisions, model=model, rounds=rounds, repairs=repairs)
        if as_json:
            _print_json(told.model_dump(mode="json"))
        else:
            from .graph.views import console, show_estimate

            show_estimate(console(), told)


@app.command()
def prompt(
    task: Annotated[str, typer.Argument(help="A task of the benchmark, or a folder of your own.")],
    agent: Annotated[AgentChoice, typer.Option(help="Whose prompt.")] = AgentChoice.CODER,
    precision: PrecisionOption = PrecisionChoice.FP32,
    device: Annotated[
        DeviceChoice | None,
        typer.Option(help="Profile the baseline there first.", show_default="none: no diagnosis in the prompt"),
    ] = None,
    view: Annotated[ViewChoice, typer.Option("--profile", help="What is told of the profile.")] = ViewChoice.DIAGNOSIS,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Print the prompt that an agent gets in the first round; its length in tokens goes to standard error."""
    with _refusing():
        from .benchmark.contract import Precision
        from .graph.show_prompt import show_prompt

        chosen = device.value if device else ""
        told = show_prompt(task, agent.value, Precision(precision.value), device=chosen, view=view.value)
        if as_json:
            _print_json(told.model_dump(mode="json"))
        else:
            typer.echo(told.prompt)
            typer.echo(f"{told.unit} {told.agent}: about {told.tokens} tokens", err=True)


# --- shared by the commands ------------------------------------------------------------------------------------------


def main() -> None:
    """Entry of the `cudamaster` command."""
    keep_freed_memory()
    app()


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what a person can mend into one line on stderr and exit code 2, never a traceback."""
    from .benchmark.registry import UnknownTask
    from .benchmark.task import NoBaseline
    from .graph.errors import RunError, RunInterrupted
    from .models.errors import ModelError
    from .tools.device.port import DeviceUnavailable
    from .tools.own.errors import NotATask
    from .tools.store import MissingArtifact

    try:
        yield
    except KeyboardInterrupt:
        _refuse("stopped at once; where a run was going on, `cudamaster runs` lists it, to be resumed", 130)
    except RunInterrupted as error:
        _refuse(str(error), 130)
    except NotATask as error:
        typer.echo(f"cudamaster: {error}", err=True)  # several lines: code to copy
        raise typer.Exit(2) from None
    except (RunError, UnknownTask, NoBaseline, DeviceUnavailable, ModelError, MissingArtifact) as error:
        _refuse(str(error), 2)


def _refuse(message: str, code: int) -> NoReturn:
    typer.echo(f"cudamaster: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


@contextmanager
def _watched(quiet: bool) -> Iterator[tuple[Any, RunControl]]:
    """Show progress on stderr; let Ctrl-C or SIGTERM stop the run between two steps, and a second one at once."""
    from contextlib import ExitStack

    from langgraph.runtime import RunControl

    from .graph.logs import is_told
    from .graph.views import console, live

    quiet = quiet or is_told()
    control = RunControl()

    def stop(number: int, frame: object) -> None:
        if control.drain_requested:
            raise KeyboardInterrupt
        control.request_drain(signal.Signals(number).name)
        typer.echo("cudamaster: stopping after this step; once more to stop at once", err=True)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with ExitStack() as stack:
            yield (None if quiet else stack.enter_context(live(console(stderr=True)))), control
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watched_runs(quiet: bool) -> Iterator[Any]:
    """Show on stderr what becomes of many runs."""
    if quiet:
        yield None
        return
    from .graph.views import console, live_runs

    with live_runs(console(stderr=True)) as on_run:
        yield on_run


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _finish(summary: Summary, as_json: bool) -> NoReturn:
    if as_json:
        _print_json(summary.model_dump(mode="json"))
    else:
        from .graph.views import console, show_summary

        show_summary(console(), summary)
    raise typer.Exit(summary.exit_code)


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def _pairs(given: list[str] | None, option: str, value: str | None = None) -> dict[str, str]:
    """Read NAME=VALUE options; `value` is what a NAME alone means."""
    found = {}
    for text in given or ():
        name, equals, told = text.partition("=")
        if not name or (not equals and value is None):
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=f"'{option}'")
        found[name.strip()] = told.strip() if equals else value or ""
    return found


def _read(path: Path) -> str:
    from .graph.api import read_source

    return read_source(path)
