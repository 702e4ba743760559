"""The cpu device's counters beside Nsight Compute's: `python -m tests.tools.device.cpu.h200` writes the page."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudamaster.tools.device.cpu.counters import LaunchCounters, Space, read_counters

from .conftest import Host, draw, f32

REPOSITORY: Final = Path(__file__).parents[4]
KERNELS: Final = REPOSITORY / "tests/data/counters"
PAGE: Final = REPOSITORY / "docs/results/cpu_device_h200.md"
N: Final = 16384

EXPLAINED: Final[dict[str, str]] = {
    "two_branches": "nvcc keeps one store in each branch, each a request of half a warp; the host compiler moves "
    "the store behind the branches, as nvcc does elsewhere.",
    "loaded_again": "Only nvcc knows that shared and global memory can't overlap: it loads once, and keeps the "
    "shared variable in a register.",
    "tree_interleaved": "nvcc joins the two loads of the first step into one of 8 bytes. Nsight Compute's requests are "
    "instructions, with those that a predicate switches off for a whole warp; they touch no bank.",
    "tree_sequential": "Nsight Compute's requests are instructions, with those that a predicate switches off for a "
    "whole warp; they touch no bank.",
    "shared_stride_16": "Nsight Compute's requests are instructions, with those that a predicate switches off.",
    "shared_stride_32": "Nsight Compute's requests are instructions, with those that a predicate switches off.",
    "shared_stride_33": "Nsight Compute's requests are instructions, with those that a predicate switches off.",
}
"""Why a kernel's counters differ, checked against its machine code's counts."""


@dataclass(frozen=True)
class Pair:
    """Requests of warps and the sectors or wavefronts that they needed, on the cpu device and on the GPU."""

    kernel: str
    access: str
    cpu: tuple[float, float]
    gpu: tuple[float, float]

    @property
    def same_ratio(self) -> bool:
        """Sectors (or wavefronts) per request are equal."""
        return self.cpu[1] * self.gpu[0] == self.gpu[1] * self.cpu[0]

    @property
    def near(self) -> bool:
        """The totals of sectors (or wavefronts) differ by at most 10 %."""
        return abs(self.cpu[1] - self.gpu[1]) <= 0.1 * self.gpu[1]


_ACCESSES: Final[tuple[tuple[str, Space, bool, bool, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("global load", "global", False, False, ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
     ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",)),
    ("global store", "global", True, False, ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
     ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",)),
    ("global atomic", "global", True, True,
     ("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
     ("l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum")),
    ("shared load", "shared", False, False, ("smsp__inst_executed_op_shared_ld.sum",),
     ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",)),
    ("shared store", "shared", True, False, ("smsp__inst_executed_op_shared_st.sum",),
     ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",)),
    ("shared atomic", "shared", True, True, ("smsp__inst_executed_op_shared_atom.sum",),
     ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",)),
)  # fmt: skip


def measured() -> dict[str, dict[str, str]]:
    """What Nsight Compute counted, by kernel."""
    with (KERNELS / "h200.csv").open() as file:
        return {row["Kernel Name"]: row for row in csv.DictReader(file)}


def counted(host: Host) -> dict[str, LaunchCounters]:
    """What the cpu device counts of the same kernels, by kernel."""
    libraries, calls = [], []
    for path in sorted(KERNELS.glob("*.cu")):
        if path.stem == "main":
            continue
        build = host.build(path.read_text(), [path.stem])
        assert build.ok, build.log
        libraries.append(host.trace(build))
        calls.append((str(libraries[-1]), path.stem, [f32(40 * N), draw(40 * N, 1), N]))
    results = host.run(calls, CPUSIM_SAMPLE_BLOCKS="100000")
    launches: dict[str, LaunchCounters] = {}
    for library, result in zip(libraries, results, strict=True):
        assert result["status"] == 0, result["message"]
        launches |= {launch.kernel: launch for launch in read_counters(result["counters"], library).launches}
    return launches


def pairs(cpu: Mapping[str, LaunchCounters], gpu: Mapping[str, Mapping[str, str]]) -> Iterator[Pair]:
    """Every kind of access that a kernel makes on either side."""
    for kernel, launch in cpu.items():
        for access, space, write, atomic, requests, units in _ACCESSES:
            unit = "sectors" if space == "global" else "wavefronts"
            mine = tuple(launch.total(field, space, write=write, atomic=atomic) for field in ("requests", unit))
            theirs = tuple(sum(float(gpu[kernel][column]) for column in columns) for columns in (requests, units))
            if any(mine) or any(theirs):
                yield Pair(kernel, access, (mine[0], mine[1]), (theirs[0], theirs[1]))


def comments() -> dict[str, str]:
    """What each kernel shows, from the comment behind its head."""
    found = {}
    for path in KERNELS.glob("*.cu"):
        for line in path.read_text().splitlines():
            if line.startswith("__global__ void ") and "//" in line:
                found[line.split("(")[0].removeprefix("__global__ void ")] = line.rsplit("// ", 1)[1]
    return found


def page(compared: Sequence[Pair]) -> str:
    """The comparison as Markdown."""
    kernels = list(dict.fromkeys(pair.kernel for pair in compared))
    same, near = sum(pair.same_ratio for pair in compared), sum(pair.near for pair in compared)
    shows = comments()
    rows = [
        f"| {p.kernel} | {shows[p.kernel]} | {p.access} | {p.cpu[0]:.0f} | {p.cpu[1]:.0f} "
        f"| {p.gpu[0]:.0f} | {p.gpu[1]:.0f} | {'' if p.cpu == p.gpu else 'differs'} |"
        for p in compared
    ]
    return "\n".join(
        [
            "# Counters of the cpu device beside Nsight Compute's",
            "",
            f"{len(kernels)} kernels (`tests/data/counters`), {len(compared)} kinds of access. The GPU's half was",
            "recorded on one NVIDIA H200 (2026-11-30, driver 580.159.04, CUDA 13.0.88, Nsight Compute 2025.3.1); the",
            "cpu device's is counted anew by a test.",
            "",
            f"- sectors or wavefronts per request are equal in {same} of {len(compared)} ({same / len(compared):.1%})",
            f"- total sectors or wavefronts are within 10 % in {near} of {len(compared)} ({near / len(compared):.1%})",
            "",
            "## Differences",
            "",
            "| kernel | access | requests, units here | on the GPU | why |",
            "| --- | --- | --- | --- | --- |",
            *(
                f"| {p.kernel} | {p.access} | {p.cpu[0]:.0f}, {p.cpu[1]:.0f} | {p.gpu[0]:.0f}, {p.gpu[1]:.0f} "
                f"| {EXPLAINED[p.kernel]} |"
                for p in compared
                if p.cpu != p.gpu
            ),
            "",
            "## All",
            "",
            "Units are 32-byte sectors for global memory, wavefronts for shared memory.",
            "",
            "| kernel | shows | access | requests | units | GPU requests | GPU units | |",
            "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(page(list(pairs(counted(Host(Path(folder))), measured()))))
    print(PAGE)
