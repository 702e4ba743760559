"""A case's input arrays in one sealed file in memory, which several processes can map and none can change."""

from __future__ import annotations

import fcntl
import mmap
import os
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALIGNMENT: Final = 256
_PIECE: Final = 64 << 20
"""Bytes that are written at a time; one system call takes less than 2 GiB."""


class SharedInputs(Mapping[str, "NDArray[Any]"]):
    """Read-only arrays by name; `fd` is the file that holds them, each at its offset.

    Made once for a case, it spares every process that gets the case a copy. The descriptor stays open while this lives.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        import numpy as np

        self.offsets: dict[str, int] = {}
        size = 0
        for name, array in arrays.items():
            self.offsets[name] = size
            size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        self.fd = os.memfd_create("inputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        weakref.finalize(self, os.close, self.fd)
        os.ftruncate(self.fd, size)
        for name, array in arrays.items():
            _write(self.fd, np.ascontiguousarray(array), self.offsets[name])
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        held: Any = mmap.mmap(self.fd, size, access=mmap.ACCESS_READ) if size else b""
        self._arrays = {
            name: np.frombuffer(held, array.dtype, array.size, self.offsets[name]).reshape(array.shape)
            if array.size
            else np.empty(array.shape, array.dtype)
            for name, array in arrays.items()
        }

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def shared(arrays: Mapping[str, NDArray[Any]]) -> SharedInputs:
    """Return the arrays in a sealed file, copied only if they don't lie in one."""
    return arrays if isinstance(arrays, SharedInputs) else SharedInputs(arrays)


def _write(fd: int, array: NDArray[Any], offset: int) -> None:
    import numpy as np

    data = array.reshape(-1).view(np.uint8).data
    at = 0
    while at < len(data):
        at += os.pwrite(fd, data[at : at + _PIECE], offset + at)
