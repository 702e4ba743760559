"""The offline model: optimises CUDA kernels by rules on their syntax tree, with no network and no key."""

from __future__ import annotations

from .chat import OfflineChat

__all__ = ["OfflineChat"]
