"""What the runtime counted during one call, scaled from the traced blocks to all, with source lines."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ...records import Record, Resources
from .instructions import Mix, instruction_mix, total_mix
from .rewrite import HostSource

Space = Literal["global", "shared", "local"]
_SPACES: tuple[Space, ...] = ("global", "shared", "local")


class SiteCounters(Record):
    """One source position in one launch and one memory space, over all blocks (scaled where only some were traced)."""

    line: int
    space: Space
    bytes: int
    """Of one thread's access."""
    write: bool
    atomic: bool
    accesses: float
    """Of single threads."""
    requests: float
    """Of warps."""
    sectors: float = 0.0
    cache_lines: float = 0.0
    """128-byte lines, summed over the requests."""
    wavefronts: float = 0.0
    """Passes through the banks of shared memory or L1; of global atomics: lanes on one address follow each other."""
    missed_sectors: float = 0.0
    """Of loads: sectors that were not in the block's share of the L1."""
    missed_requests: float = 0.0
    """Loads with such a sector."""
    line_missed_requests: float = 0.0
    """Loads with a sector of whose line the L1 held nothing."""
    threads_per_request: float = 0.0


class LaunchCounters(Record):
    """One kernel launch."""

    kernel: str
    line: int
    """Of the launch."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    blocks: int
    threads: int
    dynamic_bytes: int
    static_bytes: int
    cooperative: bool
    barriers: int
    grid_barriers: int
    warp_ops: int
    atomics: int
    shared_atomics: int
    atomic_addresses: int
    same_address_atomics: int
    same_slice_atomics: int
    """Atomics on global memory that hit the most used 256 bytes: one slice of the L2 does them one after another."""
    float_atomics: int
    """Atomics on global memory in floating point."""
    shared_same_address_atomics: int
    traced: bool
    ran_blocks: int = 0
    sampled_blocks: int = 0
    idle_threads: float = 0.0
    redundant_threads: float = 0.0
    repeated_stores: float = 0.0
    stores: float = 0.0
    read_bytes: float = 0.0
    """Distinct bytes of global memory read, in whole sectors."""
    write_bytes: float = 0.0
    cold_read_bytes: float = 0.0
    """Of these, bytes that nothing in this call touched before."""
    cold_write_bytes: float = 0.0
    busiest_loads: float = 0.0
    """Global loads of the thread of a block that makes most: the others of its block wait for it."""
    load_groups: float = 0.0
    """Groups that they come in: between two groups lies a barrier."""
    store_groups: float = 0.0
    """More groups if a global store that might alias also ends a group."""
    load_positions: float = 1.0
    """Global loads ÷ those of the busiest source position: how many a loop makes per iteration."""
    local_bytes: float = 0.0
    mix: Mix | None = None
    """Instructions of all warps, by pipe; None where the code could not be read."""
    special_ops: float = 0.0
    double_ops: float = 0.0
    sites: tuple[SiteCounters, ...] = ()
    registers: int = 0
    """Of each thread, where nvcc said so."""
    unaliased: bool = False
    """The kernel's pointers are `__restrict__`, so that its loads need not wait for its stores."""
    rolled: bool = False
    """The kernel's loops have steps that are known at run time alone: nvcc does not unroll them."""

    @property
    def threads_per_block(self) -> int:
        """Threads of each block."""
        return self.block[0] * self.block[1] * self.block[2]

    def total(self, field: str, space: Space, *, write: bool | None = None, atomic: bool | None = False) -> float:
        """Sum a field of the sites in a memory space; `None` takes both kinds."""
        wanted = (
            getattr(site, field)
            for site in self.sites
            if site.space == space and write in (None, site.write) and atomic in (None, site.atomic)
        )
        return float(sum(wanted))


class RuntimeFinding(Record):
    """Something undefined or forbidden that the runtime saw."""

    kind: str
    kernel: str
    text: str
    line: int
    line2: int
    count: int

    @property
    def sentence(self) -> str:
        """One sentence with kernel and lines."""
        lines = [str(n) for n in dict.fromkeys((self.line, self.line2)) if n]
        place = f"line {lines[0]}" if len(lines) == 1 else f"lines {' and '.join(lines)}" if lines else "unknown line"
        times = f" [{self.count} times]" if self.count > 1 else ""
        return f"{self.kind}: kernel {self.kernel}, {place}: {self.text}{times}"


class Counters(Record):
    """One call of the entry function."""

    launches: tuple[LaunchCounters, ...]
    findings: tuple[RuntimeFinding, ...]
    allocations: int = 0
    copies: int = 0
    synchronizations: int = 0


def read_counters(raw: Mapping[str, Any], library: Path | None, source: HostSource | None = None) -> Counters:
    """Turn the runtime's JSON into records. `library` is the instrumented one whose addresses are to become lines.

    `source` is what the rewriter learned of the candidate's kernels.
    """
    offsets = {site["pc"] for launch in raw["launches"] for site in launch.get("sites", ())}
    offsets |= {offset for f in raw["findings"] for offset in (f["pc"], f["pc2"])}
    lines = source_lines(library, offsets - {0}) if library else {}
    findings: dict[tuple[str, str, int, int], RuntimeFinding] = {}
    for f in raw["findings"]:
        line, line2 = f["line"] or lines.get(f["pc"], 0), f["line2"] or lines.get(f["pc2"], 0)
        key = (f["kind"], f["kernel"], line, line2)
        count = f["count"] + (findings[key].count if key in findings else 0)
        text = findings[key].text if key in findings else f["text"]
        findings[key] = RuntimeFinding(
            kind=f["kind"], kernel=f["kernel"], text=text, line=line, line2=line2, count=count
        )
    mixes = instruction_mix(library) if library else {}
    launches = [_launch(launch, lines, mixes, source) for launch in raw["launches"]]
    return Counters(
        launches=tuple(_fill_untraced(launches)), findings=tuple(findings.values()), allocations=raw["allocations"],
        copies=raw["copies"], synchronizations=raw["synchronizations"],
    )  # fmt: skip


def with_registers(counters: Counters, resources: Sequence[Resources]) -> Counters:
    """Add what nvcc said of each kernel; of a template's instances that can't be told apart, the most."""

    def registers(launch: LaunchCounters) -> int:
        name = re.sub(r"\s", "", launch.kernel)
        exact = [r.registers for r in resources if re.sub(r"\s", "", r.kernel) == name]
        alike = [r.registers for r in resources if base_name(r.kernel) == base_name(launch.kernel)]
        return max(exact or alike, default=0)

    launches = tuple(launch.model_copy(update={"registers": registers(launch)}) for launch in counters.launches)
    return counters.model_copy(update={"launches": launches})


def source_lines(library: Path, offsets: Iterable[int]) -> dict[int, int]:
    """Return the candidate's source line of each address (an offset in the library), through inlined calls.

    Addresses without debugging information, or a machine without addr2line, give no entry.
    """
    wanted = sorted(offsets)
    if not wanted:
        return {}
    text = "".join(f"{offset:#x}\n" for offset in wanted)
    try:
        done = subprocess.run(
            ["addr2line", "-a", "-i", "-e", str(library)], input=text, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[int, int] = {}
    offset = 0
    for row in done.stdout.splitlines():
        if row.startswith("0x"):
            offset = int(row, 16)
        elif offset not in found and (place := re.search(r"candidate\.(?:cu|cpp):([1-9]\d*)", row)):
            found[offset] = int(place[1])
    return found


def base_name(kernel: str) -> str:
    """Return a kernel's name without namespaces and template arguments."""
    return kernel.split("<")[0].split("::")[-1].strip("& ")


_COUNTED = (
    "barriers", "warp_ops", "atomics", "shared_atomics", "atomic_addresses", "same_address_atomics",
    "same_slice_atomics", "float_atomics",
)  # fmt: skip
"""What the runtime counts in every block that runs, traced or not."""
_REQUESTS = {"requests": "requests", "sectors": "sectors", "cache_lines": "lines", "wavefronts": "wavefronts"}
_MISSES = ("missed_sectors", "missed_requests", "line_missed_requests")
_FIELDS: dict[Space, dict[str, str]] = {
    "global": _REQUESTS | {name: name for name in _MISSES},
    "shared": _REQUESTS,
    "local": _REQUESTS,
}
"""What is kept of each site, by memory space: our name, and the runtime's."""
_OF_A_BLOCK = ("busiest_loads", "load_groups", "store_groups")
"""What is averaged over the traced blocks."""
_DISTINCT = {
    "read_bytes": "unique_read_bytes", "write_bytes": "unique_write_bytes", "cold_read_bytes": "cold_read_bytes",
    "cold_write_bytes": "cold_write_bytes",
}  # fmt: skip
"""What the runtime has extrapolated to all blocks: they may touch the same bytes."""
_TRACED = (
    "idle_threads", "redundant_threads", "repeated_stores", "stores", "read_bytes", "write_bytes", "cold_read_bytes",
    "cold_write_bytes", "busiest_loads", "load_groups", "store_groups", "load_positions", "local_bytes", "mix",
    "special_ops", "double_ops", "sites", "sampled_blocks",
)  # fmt: skip
"""What is known of traced blocks alone."""


def _launch(
    raw: Mapping[str, Any], lines: Mapping[int, int], mixes: Mapping[int, Mix], source: HostSource | None
) -> LaunchCounters:
    scale = raw["blocks"] / raw["sampled_blocks"] if raw.get("sampled_blocks") else 1.0
    sites: dict[tuple[Any, ...], dict[str, float]] = {}
    for site in raw.get("sites", ()):
        line = site["line"] or lines.get(site["pc"], 0)
        for index, space in enumerate(_SPACES):
            if not site["accesses"][index]:
                continue
            # Accesses beyond the tracer's room are counted, but formed no request.
            formed = scale * site["accesses"][index] / site["lanes"][index] if site["lanes"][index] else 0.0
            if site["pc"] == 0 and site["atomic"]:
                key: tuple[Any, ...] = (line, space, site["bytes"], True, True)
            else:
                key = (line, space, site["bytes"], bool(site["write"]), False)
            sums = sites.setdefault(key, dict.fromkeys(("accesses", *_FIELDS[space]), 0.0))
            sums["accesses"] += site["accesses"][index] * scale
            for name, field in _FIELDS[space].items():
                counted = site[field]
                sums[name] += formed * (counted[index] if isinstance(counted, list) else counted)
    code = [(mixes[pc], warps * scale, threads * scale) for pc, warps, threads in raw.get("code", ()) if pc in mixes]
    loads = [s["accesses"][0] for s in raw.get("sites", ()) if s["accesses"][0] and not s["write"]]
    scaled = {
        name: raw.get(name, 0) * scale
        for name in (
            "idle_threads",
            "redundant_threads",
            "repeated_stores",
            "stores",
            "local_bytes",
        )
    }
    all_blocks = raw["blocks"] / raw["ran_blocks"] if raw["ran_blocks"] else 1.0
    return LaunchCounters(
        **{name: raw[name] for name in (
            "kernel", "line", "grid", "block", "blocks", "threads", "dynamic_bytes", "static_bytes", "cooperative",
            "grid_barriers", "shared_same_address_atomics", "traced", "ran_blocks",
        )},
        **{name: round(raw[name] * all_blocks) for name in _COUNTED},
        sampled_blocks=raw.get("sampled_blocks", 0),
        **scaled,
        **{name: float(raw.get(field, 0)) for name, field in _DISTINCT.items()},
        unaliased=source is not None and base_name(raw["kernel"]) in source.unaliased,
        rolled=source is not None and base_name(raw["kernel"]) in source.rolled,
        **{name: raw.get(name, 0) / (raw.get("sampled_blocks") or 1) for name in _OF_A_BLOCK},
        load_positions=sum(loads) / max(loads) if loads else 1.0,
        mix=total_mix((mix, warps) for mix, warps, _ in code) if code else None,
        special_ops=sum(mix.special_calls * threads for mix, _, threads in code),
        double_ops=sum(mix.double_calls * threads for mix, _, threads in code),
        sites=tuple(
            SiteCounters(
                line=line, space=space, bytes=size, write=write, atomic=atomic, **sums,
                threads_per_request=sums["accesses"] / sums["requests"] if sums["requests"] else 0.0,
            )
            for (line, space, size, write, atomic), sums in sorted(sites.items())
        ),
    )  # fmt: skip


def _fill_untraced(launches: list[LaunchCounters]) -> list[LaunchCounters]:
    """Give launches after the traced ones of their kernel and shape what the last of those did."""
    known: dict[tuple[Any, ...], LaunchCounters] = {}
    filled = []
    for launch in launches:
        key = (launch.kernel, launch.grid, launch.block)
        if launch.traced:
            known[key] = launch
        elif key in known:
            names = (*_TRACED, *(_COUNTED if not launch.ran_blocks else ()))
            update = {name: getattr(known[key], name) for name in names}
            launch = launch.model_copy(update=update)
        filled.append(launch)
    return filled
