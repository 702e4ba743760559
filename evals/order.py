"""What a suite is ordered with on the command line, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..benchmark.contract import Precision
from ..benchmark.registry import choose_units
from ..benchmark.task import Unit
from ..graph.checkpoints import Kind, check_checkpoints
from ..graph.errors import RunError
from ..graph.executor import Executor
from ..graph.manifest import read_options
from ..graph.pool import Pool, cores
from ..nodes.context import PRESETS, Context, Options
from ..tools.device.select import get_device, gpu_environments


class Order(NamedTuple):
    """Units and options for one suite or many."""

    units: list[Unit]
    options: Options
    executor: Executor
    checkpoints: Kind


def read_order(
    tasks: Sequence[str],
    *,
    precisions: Sequence[str],
    device: str,
    options: Mapping[str, Any],
    preset: str | None,
    executor: str,
    jobs: int | None,
    checkpoints: Kind,
    home: Path,
) -> Order:
    """Return the order; what is None in `options` is left to the preset or the default.

    Raises:
        UnknownTask, NoBaseline, DeviceUnavailable, ModelError, RunError: one clear line each.
    """
    chosen = choose_device(device, executor)
    if preset is not None and preset not in PRESETS:
        raise RunError(f"unknown preset {preset!r}: there is {', '.join(PRESETS)}")
    given = {key: value for key, value in options.items() if value is not None}
    settings = read_options({**PRESETS.get(preset or "", {}), **given, "device": chosen})
    units = choose_units(tasks, [Precision(p) for p in precisions])
    order = Order(units, settings, choose_executor(executor, jobs, settings, home), checkpoints)
    check_options(order, settings)
    return order


def check_options(order: Order, options: Options) -> None:
    """Refuse models and checkpoints that cannot be had here: they would fail every unit.

    The nodes of a cluster may have keys and servers that this machine lacks.

    Raises:
        ModelError, RunError: one clear line each.
    """
    if isinstance(order.executor, Pool):
        Context(**options.model_dump()).check_models()
        check_checkpoints(order.checkpoints)


def choose_device(device: str, executor: str) -> str:
    """Return the device's name. A cluster's nodes may have one that this machine lacks, so there it must be named.

    Raises:
        DeviceUnavailable: the local pool was asked for, and this machine lacks the device.
        RunError: `auto` on a cluster.
    """
    if executor == "ray":
        if device == "auto":
            raise RunError("--executor ray: say --device cuda or --device cpu, for the nodes and not for this machine")
        return device
    found = get_device(device)
    found.info()
    return found.name


def choose_executor(name: str, jobs: int | None, options: Options, home: Path) -> Executor:
    """Return the local pool, its jobs spread over the GPUs, or Ray: the cluster of `$RAY_ADDRESS`, else its own."""
    if name == "ray":
        from .ray_executor import RayExecutor

        return RayExecutor(gpus=1.0 if options.device == "cuda" else 0.0, jobs=jobs, home=home)
    return Pool(jobs or cores(), gpu_environments() if options.device == "cuda" else ({},))
