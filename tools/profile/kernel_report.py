"""What is known of each kernel of a call: what the compiler made of it, what fits on the GPU, where its time goes."""

from __future__ import annotations

from ..records import Record, Resources
from .occupancy import Occupancy
from .roofline import Roof, roofline
from .sass import SassMix
from .subject import Subject


class KernelReport(Record):
    """One kernel; what could not be found out is None."""

    kernel: str
    line: int | None
    launches: int
    share: float
    """Of the call's time."""
    resources: Resources | None
    """Of ptxas."""
    occupancy: Occupancy | None
    """Theoretical."""
    sass: SassMix | None
    """The mix of its machine code."""
    roof: Roof | None
    """Of its longest launch."""


def kernel_reports(subject: Subject) -> tuple[KernelReport, ...]:
    """Return a report for each kernel of a call, longest first."""
    roofs = sorted(roofline(subject.profile, subject.gpu), key=lambda roof: roof.time_us)
    longest = {roof.kernel: roof for roof in roofs}
    return tuple(
        KernelReport(
            kernel=kernel.name,
            line=kernel.line,
            launches=len(kernel.launches),
            share=kernel.share,
            resources=kernel.resources,
            occupancy=kernel.occupancy,
            sass=kernel.sass,
            roof=longest.get(kernel.name),
        )
        for kernel in subject.kernels
    )


def report_text(reports: tuple[KernelReport, ...]) -> str:
    """Return the reports for people: a paragraph each."""
    return "\n".join(line for report in reports for line in _lines(report))


def _lines(report: KernelReport) -> list[str]:
    place = f" (line {report.line})" if report.line else ""
    launches = f"{report.launches} launch{'es' if report.launches > 1 else ''}"
    lines = [f"{report.kernel}{place}: {launches}, {100 * report.share:.0f} % of the time"]
    if roof := report.roof:
        memory = f"{roof.dram_gbps:,.0f} GB/s ({roof.dram_pct:.0f} %)" if roof.dram_gbps is not None else "unknown"
        compute = f"{roof.gflops:,.0f} GFLOP/s ({roof.compute_pct:.0f} %)" if roof.gflops is not None else "unknown"
        lines.append(
            f"  roofline: {roof.time_us:,.1f} us; device memory {memory}; arithmetic {compute}: {roof.limiter}"
        )
    if fits := report.occupancy:
        lines.append(
            f"  occupancy: {fits.pct:.0f} % in theory, {fits.blocks_per_sm} blocks fit, limited by {fits.limiter}"
        )
    if used := report.resources:
        spilled = used.spill_store_bytes + used.spill_load_bytes
        lines.append(
            f"  compiler: {used.registers} registers, {used.shared_bytes} bytes shared, {used.stack_bytes} stack, "
            f"{spilled} spilled, {used.barriers} barriers"
        )
    if report.sass:
        lines.append(f"  machine code: {_mix(report.sass)}")
    return lines


def _mix(sass: SassMix) -> str:
    widths = [f"{count} loads of {bits} bits" for bits, count in sorted(sass.load_bits.items())]
    widths += [f"{count} stores of {bits} bits" for bits, count in sorted(sass.store_bits.items())]
    counts = {
        "tensor-core": sass.tensor, "double": sass.double, "special": sass.special, "atomic": sass.atomics,
        "barrier": sass.barriers, "local-memory": sass.local_loads + sass.local_stores,
    }  # fmt: skip
    named = [f"{count} {name}" for name, count in counts.items() if count]
    return f"{sass.instructions} instructions; {', '.join([*widths, *named]) or 'no memory accesses'}"
