"""The benchmark's units as a LangSmith dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from langsmith import Client
from langsmith.utils import LangSmithError

from ..benchmark.registry import load_task
from ..benchmark.task import Unit
from ..graph.errors import RunError

_NAMESPACE: Final = UUID("6f5d9b0a-2d43-4c55-9a0e-3f8a3c1f7e10")

DESCRIPTION: Final = "Units of MSKernelBench: a naive CUDA kernel each, to be made faster in one storage precision."


class Pushed(NamedTuple):
    """What came of it."""

    added: int
    known: int
    """Units that were in the dataset before."""
    url: str


def push(units: Sequence[Unit], dataset: str, client: Client | None = None) -> Pushed:
    """Put units into the dataset of this name, made if it is new; those that it has are left as they are.

    Raises:
        RunError: LangSmith does not answer, or refuses.
    """
    client = client or Client()
    try:
        if client.has_dataset(dataset_name=dataset):
            found = client.read_dataset(dataset_name=dataset)
        else:
            found = client.create_dataset(dataset, description=DESCRIPTION)
        known = {unit_of(example.inputs or {}) for example in client.list_examples(dataset_id=found.id)}
        new = [unit for unit in units if unit not in known]
        if new:
            client.create_examples(dataset_id=found.id, examples=[example(unit, dataset) for unit in new])
        return Pushed(len(new), len(units) - len(new), found.url or "")
    except LangSmithError as error:
        raise RunError(f"LangSmith (LANGSMITH_ENDPOINT, LANGSMITH_API_KEY): {str(error).splitlines()[0]}") from None


def example(unit: Unit, dataset: str) -> dict[str, Any]:
    """Return a unit as an example. It has no outputs: the judge knows what is right, and no speedup is the answer."""
    task = load_task(unit.task)
    return {
        "id": uuid5(_NAMESPACE, f"{dataset}/{unit.name}"),
        "inputs": {"unit": unit.name, "task": unit.task, "precision": unit.precision.value, "formula": task.formula},
        "metadata": {"category": task.category, "task_sha256": task.sha256},
    }


def unit_of(inputs: dict[str, Any]) -> Unit | None:
    """Return the unit that an example is about; None if it is about none."""
    try:
        return Unit.model_validate({"task": inputs["task"], "precision": inputs["precision"]})
    except (KeyError, ValueError):
        return None
