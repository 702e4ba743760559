"""Chooses the device by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from .port import Device, DeviceUnavailable

if TYPE_CHECKING:
    from .cuda.device import CudaDevice

NAMES: Final = ("auto", "cuda", "cpu")


def get_device(name: str = "auto") -> Device:
    """Return a device: `cuda`, `cpu`, or `auto`: cuda if a GPU answers a real launch, else cpu.

    Raises:
        DeviceUnavailable: `cuda` was asked for and is not to be had, or neither is; the message says what to do.
        ValueError: there is no device of that name.
    """
    if name == "cuda":
        return _cuda()
    if name == "cpu":
        return _cpu()
    if name != "auto":
        raise ValueError(f"unknown device {name!r}: choose one of {', '.join(NAMES)}")
    try:
        return _cuda()
    except DeviceUnavailable as no_gpu:
        try:
            return _cpu()
        except DeviceUnavailable as no_cpu:
            raise DeviceUnavailable(f"no device: cuda: {no_gpu}; cpu: {no_cpu}") from None


def gpu_environments() -> Sequence[Mapping[str, str]]:
    """Return what processes find set that share the GPUs of this machine, one for each; nothing where there is none."""
    try:
        return _cuda().environments()
    except DeviceUnavailable:
        return ({},)


@cache
def _cuda() -> CudaDevice:
    from .cuda.device import CudaDevice

    device = CudaDevice()
    device.info()
    return device


@cache
def _cpu() -> Device:
    from .cpu.device import CpuDevice

    device = CpuDevice()
    device.info()
    return device
