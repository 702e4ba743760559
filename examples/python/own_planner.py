"""A Planner of one's own: a plain function in the place of the graph's node, which asks no model."""

from typing import Any

from cudamaster import optimize
from cudamaster.nodes.context import context_for
from cudamaster.prompts.brief import Plan


def planner(state: Any, runtime: Any) -> Any:
    """Always ask for fewer atomics."""
    plan = Plan(
        strategy="block_reduce",
        reasoning="Atomics on one address queue up.",
        expected_effect="one atomic for a block",
        metric="same_address_atomics",
    )
    stored = context_for(runtime).store.put_json(plan.model_dump(mode="json"))
    return {"plan": plan.model_dump(mode="json"), "plans": [stored], "route": "coder"}


summary = optimize("dot_product", device="cpu", rounds=1, nodes={"planner": planner})
print(summary.status, summary.best.strategy)
