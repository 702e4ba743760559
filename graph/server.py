"""Entry for `langgraph.json`: the graph without a checkpointer, since the server brings its own."""

from __future__ import annotations

from .build import Graph, build_graph


def make_graph() -> Graph:
    """Return the graph. The server calls this for every run and every look at a state: it has no effects."""
    return build_graph()
