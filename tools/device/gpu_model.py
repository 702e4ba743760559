"""What a GPU can do at best: rates, sizes and limits, from datasheets or from this machine's own calibration."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from ..records import Record

DEFAULT_GPU: Final = "NVIDIA H200"

WARP: Final = 32
"""Threads per warp, on every GPU."""


class GpuModel(Record):
    """Peak rates and limits of one GPU. Rates are dense, at boost clock; a multiply-add is two operations."""

    name: str
    aliases: tuple[str, ...] = ()
    arch: str
    """E.g. `sm_90`."""
    multiprocessors: int
    sm_clock_mhz: float
    fp32_tflops: float
    bf16_tflops: float
    """Packed bf16 on the ordinary pipes."""
    bf16_tensor_tflops: float
    """Tensor cores, bf16 in, FP32 accumulation."""
    tf32_tensor_tflops: float
    fp64_tflops: float
    dram_gbps: float
    l2_bytes: int
    l1_bytes_per_sm: int
    """L1 and shared memory together."""
    empty_launch_us: float
    """Device time of a kernel that does nothing, as events see it."""
    threads_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    shared_bytes_per_sm: int
    shared_bytes_per_block: int
    """The most that one block may have, with the opt-in attribute."""
    comment: str = ""
    """Where the figures come from."""
    note: str = ""
    """Set when these figures stand in for a GPU that is not listed, or were calibrated."""

    @property
    def warps_per_sm(self) -> int:
        """Most warps resident on one multiprocessor."""
        return self.threads_per_sm // WARP

    @property
    def shared_bytes_reserved(self) -> int:
        """Shared memory per block that the driver keeps for itself."""
        return 1024

    @property
    def special_ops_per_second(self) -> float:
        """Special functions (exp2, log2, rsqrt, sin, …): 16 lanes per multiprocessor and clock."""
        return 16 * self.multiprocessors * self.sm_clock_mhz * 1e6

    @property
    def instructions_per_second(self) -> float:
        """Warp instructions: 4 schedulers per multiprocessor, one each per clock."""
        return 4 * self.multiprocessors * self.sm_clock_mhz * 1e6


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    """Return every GPU of `gpus.json`, in its order."""
    rows: list[dict[str, Any]] = json.loads((files(__package__) / "gpus.json").read_text())
    return tuple(GpuModel.model_validate(row) for row in rows)


def gpu_model(name_or_arch: str = DEFAULT_GPU) -> GpuModel:
    """Look a GPU up by name (`NVIDIA H200`, `h100`) or architecture (`sm_89`, `8.9`).

    A GPU or architecture that is not listed gets the nearest figures (the newest listed architecture that is not newer,
    else the H200) and says so in `note`; nothing raises, because a figure that is a little wrong beats no analysis.
    """
    wanted = name_or_arch.strip().lower()
    arch = re.fullmatch(r"(?:sm_|compute_)?(\d{2,3})[af]?|(\d{1,2})\.(\d)", wanted)
    if arch:
        number = int(arch[1] or arch[2] + arch[3])
        older = [g for g in gpu_models() if int(g.arch[3:]) <= number] or list(gpu_models())[:1]
        best = max(older, key=lambda g: int(g.arch[3:]))
        if int(best.arch[3:]) == number:
            return best
        return best.model_copy(update={"note": f"{name_or_arch} is not listed: figures of {best.name} ({best.arch})"})
    for gpu in gpu_models():
        if wanted == gpu.name.lower():
            return gpu
    for gpu in gpu_models():
        if any(re.search(rf"\b{re.escape(alias.lower())}\b", wanted) for alias in (gpu.name, *gpu.aliases)):
            return gpu
    fallback = next(g for g in gpu_models() if g.name == DEFAULT_GPU)
    return fallback.model_copy(update={"note": f"{name_or_arch!r} is not listed: figures of {DEFAULT_GPU}"})


CALIBRATED_FIELDS: Final = (
    "dram_gbps",
    "fp32_tflops",
    "bf16_tflops",
    "bf16_tensor_tflops",
    "tf32_tensor_tflops",
    "fp64_tflops",
    "empty_launch_us",
)
"""What a calibration may replace; every value is a measurement on the GPU itself."""


def calibration_file(gpu: str, home: Path) -> Path:
    """Return where a GPU's calibration lives in a home folder: a JSON object of `CALIBRATED_FIELDS`."""
    return home / "calibration" / (re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") + ".json")


def calibrated(model: GpuModel, home: Path | None, gpu: str = "") -> GpuModel:
    """Return the model with what was measured on this machine in place of the datasheet's figures, if anything was.

    `gpu` is the name that the driver reports, if it differs from the model's.

    Raises:
        ValueError: the calibration file exists, but is not a JSON object of positive numbers.
    """
    if home is None or not (path := calibration_file(gpu or model.name, home)).is_file():
        return model
    try:
        measured = json.loads(path.read_text())
        update: dict[str, Any] = {k: float(measured[k]) for k in CALIBRATED_FIELDS if measured.get(k) is not None}
        if any(not value > 0 for value in update.values()):
            raise ValueError("a figure is not positive")
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"calibration file {path} can't be used ({error}): delete it, or calibrate again") from error
    return model.model_copy(update={**update, "note": f"{len(update)} figures calibrated on this machine"})
