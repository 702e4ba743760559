"""The edges of the graph: where each node may lead, and the one router that reads where it does."""

from __future__ import annotations

from typing import Final

from ..nodes.state import NodeName, State

EDGES: Final[dict[NodeName, tuple[NodeName, ...]]] = {
    "prepare": ("planner", "prepare", "finisher"),
    "planner": ("coder", "planner", "recorder", "finisher"),
    "coder": ("compiler", "coder", "recorder", "finisher"),
    "compiler": ("build", "compiler", "recorder", "finisher"),
    "build": ("tuner", "run", "build", "debugger", "compiler", "recorder"),
    "tuner": ("run", "tuner"),
    "run": ("profiler", "run", "debugger", "recorder"),
    "debugger": ("build", "debugger", "recorder", "finisher"),
    "profiler": ("recorder", "profiler"),
    "recorder": ("planner", "finisher"),
    "finisher": ("__end__", "finisher", "planner", "coder", "compiler", "debugger"),
}
"""A node that leads to itself asks once more, tries once more, or waits for a device or for more budget."""


def route(state: State) -> NodeName:
    """Return the node that comes next."""
    return state["route"]


def longest_path(rounds: int, repairs: int) -> int:
    """Return the most steps that a run can take without a pause: every answer unreadable once, every device fault once.

    A round is planner, coder and compiler, each asked twice; then `1 + repairs` times build, tuner and run, each tried
    twice, with a debugger or compiler (asked twice) before each repair; then profiler, tried twice, and recorder.
    """
    one_round = 6 + 6 * (1 + repairs) + 2 * repairs + 2 + 1
    return 2 + rounds * one_round + 2


def recursion_limit(rounds: int, repairs: int) -> int:
    """Return LangGraph's limit of steps per call: the longest path, and what pauses on the way add."""
    return longest_path(rounds, repairs) + 8
