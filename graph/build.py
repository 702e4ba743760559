"""The state machine: ten nodes, and the edges of `routing`."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

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
from .routing import EDGES, route

Graph: TypeAlias = CompiledStateGraph[State, Context, Input, State]


def build_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Return the compiled graph. Without a checkpointer it cannot pause or be resumed."""
    graph = StateGraph(State, context_schema=Context, input_schema=Input, output_schema=State)
    graph.add_node("prepare", prepare, input_schema=State)
    graph.add_node("planner", planner, input_schema=State)
    graph.add_node("coder", coder, input_schema=State)
    graph.add_node("compiler", compiler, input_schema=State)
    graph.add_node("build", build, input_schema=State)
    graph.add_node("run", run, input_schema=State)
    graph.add_node("profiler", profiler, input_schema=State)
    graph.add_node("recorder", recorder, input_schema=State)
    graph.add_node("finisher", finisher, input_schema=State)
    graph.add_node("debugger", debugger, input_schema=State)
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
