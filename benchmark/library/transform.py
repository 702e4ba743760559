"""Fourier transforms: cuFFT through PyTorch, which keeps its plans; planar data are interleaved for it and back."""

from __future__ import annotations

from ..task import Case
from .arm import Arm, Call, Tensors


def _plan(t: Tensors, case: Case) -> Call:
    import torch

    torch.backends.cuda.cufft_plan_cache.clear()

    def call() -> Tensors:
        transformed = torch.fft.fft(torch.complex(t["in_re"].float(), t["in_im"].float()))
        return {"out_re": transformed.real, "out_im": transformed.imag}

    return call


ARMS: dict[str, tuple[Arm, ...]] = {"fft": (Arm("cuFFT", _plan),)}
