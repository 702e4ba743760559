"""The state machine: eleven nodes, and the edges of `routing`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ..nodes.build import build
from ..nodes.coder import coder
from ..nodes.compiler import compiler
from ..nodes.context import Context
from ..nodes.debugger import debugger
from ..nodes.finisher import finisher
from ..nodes.planner import planner
from ..nodes.prepare import prepare
from ..nodes.profiler import profiler
from ..nodes.recorder import recorder
from ..nodes.run import run
from ..nodes.state import Input, State
from ..nodes.tuner import tuner
from .errors import UnknownNode
from .routing import EDGES, route

Graph: TypeAlias = CompiledStateGraph[State, Context, Input, State]


class Node(Protocol):
    """What stands in a node: it takes the state and returns the channels that it changes, `route` among them."""

    def __call__(self, state: State, runtime: Runtime[Context]) -> State:
        """Do the node's work."""


NODES: Final[Mapping[str, Node]] = {
    "prepare": prepare,
    "planner": planner,
    "coder": coder,
    "compiler": compiler,
    "build": build,
    "tuner": tuner,
    "run": run,
    "profiler": profiler,
    "recorder": recorder,
    "finisher": finisher,
    "debugger": debugger,
}


def build_graph(
    checkpointer: BaseCheckpointSaver[Any] | None = None, *, nodes: Mapping[str, Node] | None = None
) -> Graph:
    """Return the compiled graph. Without a checkpointer it cannot pause or be resumed.

    Args:
        checkpointer: where the state is kept between two nodes.
        nodes: functions in the place of the graph's own, by name: `{"planner": my_planner}`. Each takes the state and
            LangGraph's runtime, and returns the channels that it changes, `route` among them.

    Raises:
        UnknownNode: there is no node of that name.
    """
    chosen = {**NODES, **(nodes or {})}
    if unknown := sorted(set(chosen) - set(NODES)):
        raise UnknownNode(f"the graph has no node {unknown[0]!r}: there are {', '.join(NODES)}")
    graph = StateGraph(State, context_schema=Context, input_schema=Input, output_schema=State)
    for name, node in chosen.items():
        graph.add_node(name, node, input_schema=State)
    graph.add_edge(START, "prepare")
    for name, targets in EDGES.items():
        graph.add_conditional_edges(name, route, list(targets))
    return graph.compile(checkpointer=checkpointer, name="cudamaster")


def graph_version() -> str:
    """Return a hash of nodes, edges and state schema: a run is resumed only by the graph that began it."""
    annotations = Input.__annotations__ | State.__annotations__
    shape = {
        "nodes": sorted(EDGES),
        "edges": {name: sorted(targets) for name, targets in EDGES.items()},
        "state": {name: getattr(kind, "__forward_arg__", str(kind)) for name, kind in sorted(annotations.items())},
    }
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]
