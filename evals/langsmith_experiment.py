"""A suite as a LangSmith experiment, with our judge as its evaluator; in local mode no network is used."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from langsmith import Client, evaluate, tracing_context
from langsmith.evaluation import EvaluationResult
from langsmith.schemas import Example, Run
from langsmith.utils import LangSmithError

from ..benchmark.scoring import Score, score
from ..graph.errors import RunError
from ..graph.manifest import run_folder
from .langsmith_dataset import example, unit_of
from .suite import Suite, UnitResult
from .unit import run_unit


class Scores(NamedTuple):
    """What the evaluators said of one unit."""

    unit: str
    scores: dict[str, float]


def run_experiment(
    suite: Suite, home: Path, *, dataset: str, local: bool, client: Client | None = None
) -> list[Scores]:
    """Do a suite's units, one after another, and evaluate each; units that have ended are only evaluated.

    `local`: nothing is sent anywhere. Else the examples are those of the dataset that `evals push` made.

    Raises:
        RunError: LangSmith does not answer, or its dataset lacks every unit of the suite.
    """
    client = client or (Client(api_url="http://127.0.0.1:9", api_key="unused", info={}) if local else Client())
    judge = Judge(suite, home, local)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "'upload_runs' parameter is in beta")
            answer = evaluate(
                judge.target,
                data=_local_examples(suite, dataset) if local else _examples(suite, dataset, client),
                evaluators=[judge.verified, judge.gain, judge.cost],
                summary_evaluators=[success, geomean],
                experiment_prefix=suite.id,
                metadata={"model": suite.options.model, "rounds": suite.options.rounds, "device": suite.options.device},
                upload_runs=not local,
                disable_evaluator_tracing=local,
                max_concurrency=1,
                client=client,
            )
    except LangSmithError as error:
        raise RunError(f"LangSmith (LANGSMITH_ENDPOINT, LANGSMITH_API_KEY): {str(error).splitlines()[0]}") from None
    client.flush()
    rows = []
    for row in answer:
        found = {r.key: float(r.score) for r in row["evaluation_results"]["results"] if r.score is not None}
        rows.append(Scores(str((row["example"].inputs or {})["unit"]), found))
    return sorted(rows)


class Judge:
    """Target and evaluators for one suite."""

    def __init__(self, suite: Suite, home: Path, local: bool) -> None:
        self.suite, self.home, self.local = suite, home, local

    def target(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Do one unit as far as it goes."""
        unit = unit_of(inputs)
        assert unit is not None
        with self._traced():
            result = run_unit(self.suite, unit, self.home)
        return result.model_dump(mode="json")

    def verified(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Judge the winner again, built from the source in its result folder; the baseline stands where nothing won."""
        summary = outputs["summary"] or {}
        if not summary.get("best"):
            return {"key": "verified", "score": outputs["status"] == "no_gain", "comment": outputs["status"]}
        from ..tools.nvcc import nvcc
        from ..tools.run_kernel import run_kernel

        where = {"task": summary["task"], "precision": summary["precision"], "device": self.suite.options.device}
        source = (run_folder(outputs["run"], self.home) / "result" / "kernel.cu").read_text()
        with self._traced():
            built = nvcc.invoke({"source": source, "spec": summary["best"]["spec"], **where})
            answer = built
            if built["status"] == "ok":
                answer = run_kernel.invoke({"build": built["build"], "source": source, **where})
        word = (answer.get("verdict") or {}).get("summary") or answer.get("reason", "")
        return {"key": "verified", "score": answer["status"] == "pass", "comment": word}

    def gain(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Tell the speedup; the key says whether it was measured or estimated. A failure has 0."""
        key = "estimated_speedup" if self.suite.options.device == "cpu" else "speedup"
        return {"key": key, "score": UnitResult.model_validate(outputs).gain or 0.0}

    def cost(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Tell the tokens, in and out."""
        cost = UnitResult.model_validate(outputs).cost
        return {"key": "tokens", "score": cost.input_tokens + cost.output_tokens}

    @contextmanager
    def _traced(self) -> Iterator[None]:
        """Send no trace in local mode: `upload_runs=False` alone does not keep inner graphs from it."""
        if not self.local:
            yield
            return
        with tracing_context(enabled=False):
            yield


def success(runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResult:
    """Tell the share of units that were solved."""
    return EvaluationResult(key="success", score=_score(runs).solved / len(runs))


def geomean(runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResult:
    """Tell the geometric mean of the gains over all units."""
    return EvaluationResult(key="geomean", score=_score(runs).geomean_all)


def _score(runs: Sequence[Run]) -> Score:
    return score([UnitResult.model_validate(run.outputs).gain for run in runs])


def _local_examples(suite: Suite, dataset: str) -> list[Example]:
    return [Example.model_validate(example(unit, dataset)) for unit in suite.units]


def _examples(suite: Suite, dataset: str, client: Client) -> list[Example]:
    found = [e for e in client.list_examples(dataset_name=dataset) if unit_of(e.inputs or {}) in suite.units]
    if not found:
        raise RunError(f"dataset {dataset!r} has none of these units: `cudamaster evals push` puts them there")
    return found
