"""Facts of a GPU that a kernel's author needs, one a line."""

from __future__ import annotations

from typing import Final, Literal

from ..tools.device.gpu_model import GpuModel

_EVERY: Final = "cp.async; ldmatrix and mma.sync with bf16 and tf32; __reduce_add_sync for integers"
_CLUSTERS: Final = "thread-block clusters with distributed shared memory; TMA and mbarrier"
_INSTRUCTIONS: Final = {
    80: _EVERY,
    86: _EVERY,
    89: f"{_EVERY}; fp8 mma.sync",
    90: f"{_EVERY}; {_CLUSTERS}; wgmma and setmaxnreg (arch sm_90a)",
    100: f"{_EVERY}; {_CLUSTERS}; tcgen05 with tensor memory (arch sm_100a); no wgmma",
    120: f"{_EVERY}; {_CLUSTERS}; no wgmma and no tcgen05",
}
"""By compute capability, times ten: what a kernel may use beyond plain CUDA C++."""


def hardware_text(gpu: GpuModel, device: Literal["cuda", "cpu"] = "cuda") -> str:
    """Return a GPU's rates and limits as the Hardware section of a prompt, and what the device can't do."""
    capability = int(gpu.arch.removeprefix("sm_").rstrip("af"))
    threads = gpu.multiprocessors * gpu.threads_per_sm
    lines = [
        f"{gpu.name}, {gpu.arch} (compute capability {capability // 10}.{capability % 10}), "
        f"{gpu.multiprocessors} SMs at {gpu.sm_clock_mhz:g} MHz",
        f"- peak TFLOP/s: fp32 {gpu.fp32_tflops:g}, packed bf16 {gpu.bf16_tflops:g}, "
        f"bf16 tensor cores {gpu.bf16_tensor_tflops:g}, tf32 tensor cores {gpu.tf32_tensor_tflops:g}",
        f"- device memory {gpu.dram_gbps:g} GB/s; L2 {gpu.l2_bytes / 2**20:.0f} MiB; "
        f"an empty launch takes {gpu.empty_launch_us:g} us",
        f"- per SM: {gpu.threads_per_sm} threads, {gpu.blocks_per_sm} blocks, {gpu.registers_per_sm} registers, "
        f"{gpu.shared_bytes_per_sm // 1024} KiB of shared memory; the whole GPU holds {threads} threads",
        f"- per block: 1024 threads, {gpu.shared_bytes_per_block // 1024} KiB of shared memory "
        "(above 48 KiB only dynamic, after cudaFuncSetAttribute)",
        "- warps of 32; sectors of 32 bytes in lines of 128; 32 shared-memory banks of 4 bytes",
    ]
    if device == "cuda" and capability in _INSTRUCTIONS:
        lines.append(f"- has {_INSTRUCTIONS[capability]}")
    if gpu.note:
        lines.append(f"- {gpu.note}")
    if device == "cpu":
        lines.append(
            "- there is no GPU at hand: the kernel is compiled for the host and really run, its time on this GPU "
            "estimated. So no inline PTX, no tensor-core, asynchronous-copy or cluster instructions"
        )
    return "\n".join(lines)
