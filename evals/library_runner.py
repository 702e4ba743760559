"""Runs and times a library's arm in this process, through PyTorch, behind the port that the judge runs kernels by."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from statistics import median
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from ..benchmark.contract import Precision
from ..benchmark.library.arm import Arm, Call
from ..benchmark.library.tensors import from_gpu, strict, to_gpu
from ..benchmark.task import Case, Task
from ..tools.device.port import CallResult, Unsupported

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REFUSALS: Final = (
    RuntimeError, ValueError, TypeError, NotImplementedError, ImportError, OSError, AttributeError
)  # fmt: skip
"""How PyTorch and ctypes say that something is not to be had."""
_HELD_CYCLES_PER_US: Final = 2000
"""Of `torch.cuda._sleep`, at least: a GPU's clock is slower."""
_LONGEST_HOLD_US: Final = 5_000
_PLANNED_CALLS: Final = 5


class LibraryRunner:
    """One arm of one unit (implements `port.Runner`). Nobody else uses the GPU in this process."""

    def __init__(
        self, arm: Arm, task: Task, precision: Precision, hold: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self.hold = hold
        self._arm, self._task, self._precision = arm, task, precision
        self._case: Case | None = None
        self._tensors: dict[str, Any] = {}
        self._call: Call | None = None

    def load_case(self, case: Case, arrays: Mapping[str, NDArray[Any]], *, new_pointers: bool = True) -> None:
        """Put a case's arrays on the GPU."""
        strict()
        self.close()
        self._case = case
        self._tensors = to_gpu(arrays, self._task.contract, self._precision)

    def call(self, poison: int = 0xFF, positions: Mapping[str, NDArray[np.int64]] | None = None) -> CallResult:
        """Plan, call once and bring the outputs back.

        Raises:
            Unsupported: the library refuses the case; the message is its own.
        """
        import torch

        assert self._case is not None
        try:
            self._call = self._arm.plan(self._tensors, self._case)
            found = self._call()
            torch.cuda.synchronize()
        except (
            RuntimeError,
            ValueError,
            TypeError,
            NotImplementedError,
            ImportError,
            OSError,
            AttributeError,
        ) as error:
            raise Unsupported(f"{type(error).__name__}: {str(error).strip().splitlines()[0][:250]}") from error
        outputs = {}
        for argument in self._task.contract.outputs:
            if argument.name not in found:
                continue
            tensor = found[argument.name]
            if positions and argument.name in positions:
                tensor = tensor.reshape(-1)[torch.tensor(positions[argument.name], device="cuda")]
            outputs[argument.name] = from_gpu(tensor, argument.dtype.resolve(self._precision))
        return CallResult("ok", outputs=outputs)

    def time(self, calls: int) -> list[float]:
        """Return the device times of planned calls with a cold L2, microseconds; fewer calls where they are long."""
        import torch

        assert self._call is not None
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        flush = torch.zeros(l2_bytes * 5 // 2 // 4 + (4 << 20), device="cuda")
        begin = time.perf_counter()
        self._call()
        queue_us = (time.perf_counter() - begin) * 1e6
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        held = int(min(30 + 2 * queue_us, _LONGEST_HOLD_US) * _HELD_CYCLES_PER_US)
        samples = []
        for _ in range(calls if seconds < 0.05 else 2):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.sum()
            torch.cuda._sleep(held)
            start.record()
            self._call()
            stop.record()
            stop.synchronize()
            samples.append(start.elapsed_time(stop) * 1e3)
        return samples

    def time_planned(self) -> float:
        """Return the host's time of planning, calling and waiting, microseconds: the median of a few."""
        import torch

        assert self._case is not None
        samples = []
        for _ in range(_PLANNED_CALLS):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            self._arm.plan(self._tensors, self._case)()
            torch.cuda.synchronize()
            samples.append((time.perf_counter() - begin) * 1e6)
        return median(samples)

    def close(self) -> None:
        """Let go of the case's memory."""
        import torch

        self._call, self._tensors = None, {}
        torch.cuda.empty_cache()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
