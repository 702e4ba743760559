"""Variables of a thread live in memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Finding
from ..finding import Rule, percent
from ..subject import MEMORY_STALLS, Kernel, Subject, at_most


class RegisterSpills(Rule):
    """Registers ran out, or an array is indexed at run time: its values go through local memory.

    Applies when local memory is accessed (counted, or in the machine code). The bound removes that traffic: its share
    of the sectors, on the fraction of time that warps wait for memory; without counters its share of the
    instructions.
    """

    name = "register_spills"
    strategies = ("fewer_registers", "launch_bounds", "unroll", "smaller_tile")
    reads = ("local_load_sectors", "local_store_sectors", "global_load_sectors", "global_store_sectors")
    stalls = ("long_scoreboard", "lg_throttle")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            fraction, evidence = _fraction(kernel)
            if fraction <= 0:
                continue
            resources = kernel.resources
            spilled = resources is not None and resources.spill_load_bytes + resources.spill_store_bytes > 0
            cause = (
                "registers ran out and spill"
                if spilled
                else "values live in local memory (spills or a dynamically indexed array)"
            )
            if resources is not None and spilled:
                evidence += (
                    f"; ptxas: {resources.registers} registers, {resources.spill_store_bytes} bytes of spill stores, "
                    f"{resources.spill_load_bytes} of loads"
                )
            yield self.finding(
                f"In {kernel.name} {cause}: each access is memory traffic.",
                evidence,
                subject.amdahl(kernel, 1e6, fraction),
                kernel,
            )


def _fraction(kernel: Kernel) -> tuple[float, str]:
    counted = [kernel.get(f"{space}_{way}_sectors") for space in ("local", "global") for way in ("load", "store")]
    if all(value is not None for value in counted):
        local, whole = sum(v or 0.0 for v in counted[:2]), sum(v or 0.0 for v in counted)
        waiting = kernel.stall(*MEMORY_STALLS, "short_scoreboard", "mio_throttle")
        share = local / whole if whole else 0.0
        return at_most(share) * at_most(waiting), f"{percent(share)} of all sectors are local memory"
    if kernel.sass is not None:
        share = kernel.sass.share(kernel.sass.local_loads + kernel.sass.local_stores)
        return (
            share,
            f"{kernel.sass.local_loads} local loads and {kernel.sass.local_stores} stores in "
            f"{kernel.sass.instructions} instructions",
        )
    return 0.0, ""
