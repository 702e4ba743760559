"""What Nsight Compute's failures mean, and what to do about each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class NcuProblem:
    """A recognised failure. `code` is stable, `explanation` says what happened, `fix` what to do next."""

    code: str
    explanation: str
    fix: str
    line: str = ""
    """Nsight Compute's own line."""

    @property
    def sentence(self) -> str:
        """One line for a person."""
        own = f" ({self.line})" if self.line else ""
        return f"{self.explanation}{own}: {self.fix}"


_PROBLEMS: Final[tuple[tuple[str, str, str, str], ...]] = (
    (
        r"ERR_NVGPUCTRPERM|permission issue with Performance Counters"
        r"|does not have permission to access NVIDIA GPU Performance",
        "no_permission",
        "this user may not read the GPU's performance counters",
        "run as root or with CAP_SYS_ADMIN (docker: --cap-add SYS_ADMIN), or load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0; on a rented GPU only the provider can; without it pass --profile none",
    ),
    (
        r"Failed to find metric",
        "unknown_metric",
        "this version of Nsight Compute, or this GPU, has no metric of that name",
        "see `ncu --query-metrics`, and correct the name in the metric registry",
    ),
    (
        r"[Dd]river (?:is )?not compatible with|Cuda driver is not compatible|unsupported driver|ERR_NVCMPT"
        r"|driver resource was unavailable|requires? a newer (?:display )?driver",
        "driver_mismatch",
        "the driver and this version of Nsight Compute don't fit, or another profiler holds the GPU",
        "use the ncu of the driver's CUDA version or a newer driver, and end other profilers (DCGM, nsys, ncu)",
    ),
    (
        r"Profiling is not supported on (?:this )?device|not supported on (?:this )?(?:device|GPU|system|virtual)",
        "unsupported_gpu",
        "this version of Nsight Compute can't profile this GPU or host",
        "install the ncu of a CUDA toolkit that knows the GPU; virtual GPUs may not expose counters at all",
    ),
    (
        r"No kernels were profiled",
        "no_kernels",
        "the process ended without a launch that the filter matched",
        "causes: a kernel name that doesn't match, a launch in a child process (--target-processes all), "
        "or an error before the first launch",
    ),
    (
        r"Unknown [Ee]rror on device",
        "unknown_error",
        "Nsight Compute failed while it replayed the kernel",
        "a sticky CUDA error or another user of the GPU is likely; check the kernel with compute-sanitizer first",
    ),
    (
        r"LibraryNotLoaded|Failed to (?:prepare|initialize) (?:kernel|the)|InterprocessLockFailed|lock file",
        "blocked",
        "Nsight Compute could not start a profile",
        "another ncu may be running, or its lock file in the temporary folder belongs to another user (set TMPDIR)",
    ),
    (
        r"==ERROR==",
        "other",
        "Nsight Compute reported an error",
        "see the line itself",
    ),
)


def explain_ncu(text: str) -> NcuProblem | None:
    """Recognise the first known failure in ncu's output (stdout and stderr together); None if there is none."""
    for pattern, code, explanation, fix in _PROBLEMS:
        if found := re.search(pattern, text):
            start = text.rfind("\n", 0, found.start()) + 1
            end = text.find("\n", found.end())
            return NcuProblem(code, explanation, fix, text[start : end if end >= 0 else None].strip()[:300])
    return None
