from __future__ import annotations

from ..graph.conftest import bench

__all__ = ["bench"]
