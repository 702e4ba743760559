"""CUDAMaster makes CUDA kernels faster and proves that they still compute the same.

    from cudamaster import optimize
    summary = optimize("dot_product", device="cpu")

Everything is imported when it is first used: `import cudamaster` alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .benchmark.registry import load_task
    from .graph.api import answer, fork, optimize, points, resume
    from .graph.build import build_graph
    from .graph.run import list_runs, look
    from .graph.stream import aoptimize, aresume, astream, stream, stream_resume
    from .tools.own.init import init

__version__: Final = "0.1.0"

__all__ = [
    "answer",
    "aoptimize",
    "aresume",
    "astream",
    "build_graph",
    "fork",
    "init",
    "list_runs",
    "load_task",
    "look",
    "optimize",
    "points",
    "resume",
    "stream",
    "stream_resume",
]

_HOMES: Final = {
    **dict.fromkeys(("answer", "fork", "optimize", "points", "resume"), ".graph.api"),
    **dict.fromkeys(("aoptimize", "aresume", "astream", "stream", "stream_resume"), ".graph.stream"),
    **dict.fromkeys(("list_runs", "look"), ".graph.run"),
    "build_graph": ".graph.build",
    "init": ".tools.own.init",
    "load_task": ".benchmark.registry",
}


def __getattr__(name: str) -> Any:
    """Import a public function when it is asked for."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what can be imported."""
    return sorted([*globals(), *__all__])
