"""Facts of a GPU that a kernel's author needs, one a line."""

from __future__ import annotations

from typing import Literal

from ..tools.device.gpu_model import GpuModel


def hardware_text(gpu: GpuModel, device: Literal["cuda", "cpu"] = "cuda") -> str:
    """Return a GPU's rates and limits as the Hardware section of a prompt, and what the device can't do."""
    major, minor = divmod(int(gpu.arch.removeprefix("sm_").rstrip("af")), 10)
    lines = [
        f"{gpu.name}, {gpu.arch} (compute capability {major}.{minor}), {gpu.multiprocessors} SMs at {gpu.sm_clock_mhz:g} MHz",
        f"- peak: fp32 {gpu.fp32_tflops:g} TFLOP/s, packed bf16 {gpu.bf16_tflops:g}, "
        f"bf16 tensor cores {gpu.bf16_tensor_tflops:g}, tf32 tensor cores {gpu.tf32_tensor_tflops:g}",
        f"- device memory {gpu.dram_gbps:g} GB/s; L2 {gpu.l2_bytes / 2**20:.0f} MiB; an empty launch takes {gpu.empty_launch_us:g} us",
        f"- per SM: {gpu.threads_per_sm} threads, {gpu.blocks_per_sm} blocks, {gpu.registers_per_sm} registers, "
        f"{gpu.shared_bytes_per_sm // 1024} KiB shared memory",
        f"- per block: 1024 threads, {gpu.shared_bytes_per_block // 1024} KiB shared memory "
        "(above 48 KiB dynamic only, after cudaFuncSetAttribute)",
        f"- a kernel that fills the GPU has {gpu.multiprocessors * gpu.threads_per_sm} threads resident; sectors of 32 bytes, "
        "lines of 128 bytes, 32 shared-memory banks of 4 bytes",
    ]
    lines += [f"- {text}" for minimum, text in _FEATURES if major * 10 + minor >= minimum]
    if gpu.note:
        lines.append(f"- {gpu.note}")
    if device == "cpu":
        lines.append(
            "- no GPU is at hand: the kernel is compiled for the host and really run, and its time on this GPU is estimated. "
            "No inline PTX, no tensor-core or asynchronous-copy intrinsics, no cooperative groups beyond a block"
        )
    return "\n".join(lines)


_FEATURES: tuple[tuple[int, str], ...] = (
    (80, "cp.async (16-byte asynchronous copies to shared memory); mma.sync for bf16 and tf32; __reduce_add_sync for integers"),
    (90, "thread-block clusters with distributed shared memory; TMA; wgmma (needs arch sm_90a)"),
)
