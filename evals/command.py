"""The `bench` command: a suite with live progress, then its table."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .order import Order
from .progress import run_watched
from .search import ladder
from .suite import Search, open_suite, read_results
from .table import gains, markdown, suite_score


def run_bench(order: Order, *, suite_id: str, search: Search, home: Path, as_json: bool) -> int:
    """Run a suite and print its results. Return 0 if every unit has ended, 3 if some still wait, 130 if stopped.

    Raises:
        RunError: the suite exists with another order, or its search has too few rounds.
    """
    if search.kind == "best-of-n":
        ladder(search.width, order.options.rounds)
    suite = open_suite(suite_id, order.units, order.options, home, search=search, checkpoints=order.checkpoints)
    code = run_watched([suite], order.executor, home, quiet=as_json)
    results = read_results(suite, home)
    if as_json:
        body = {
            "suite": suite.model_dump(mode="json"),
            "results": [results[unit].model_dump(mode="json") for unit in suite.units if unit in results],
            "score": vars(suite_score(suite, results)),
            "gains": gains(suite, results),
        }
        sys.stdout.write(json.dumps(body, indent=2) + "\n")
    else:
        sys.stdout.write(markdown(suite, results))
    return code
