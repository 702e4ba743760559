"""Gate 1: the source text. Cheap tripwires for what a candidate has no business to do; running it is the audit."""

from __future__ import annotations

import re
from typing import Final

from ...benchmark.contract import Contract
from ..records import Record
from .code import code_only, line_of


class Violation(Record):
    """One forbidden thing in the source."""

    line: int
    what: str
    why: str

    def __str__(self) -> str:
        """E.g. `line 12: cudaMalloc: …`; line 0 is the whole file."""
        return f"line {self.line}: {self.what}: {self.why}" if self.line else f"{self.what}: {self.why}"


_HEADERS: Final = re.compile(
    r"cuda_runtime(_api)?\.h|cuda_(bf16|fp16|fp8|pipeline|pipeline_primitives|awbarrier)(_helpers|_primitives)?\.h(pp)?"
    r"|cooperative_groups(/[a-z_]+)?\.h|mma\.h|cub/[\w/]+\.cuh|cuda/(std/)?[\w/]+|device_(launch_parameters|functions)\.h"
    r"|(vector_types|vector_functions|math_constants|sm_\d+_intrinsics|cuda_device_runtime_api)\.h"
    r"|(math|stdint|stddef|float|limits|assert)\.h"
    r"|c(math|stdint|stddef|float|limits|assert)|algorithm|array|bit|concepts|initializer_list|limits|numeric|tuple|type_traits|utility"
)
_ALLOWED_API: Final = frozenset({
    "cudaDevAttrComputeCapabilityMajor", "cudaDevAttrComputeCapabilityMinor",
    "cudaDevAttrMaxSharedMemoryPerBlockOptin", "cudaDevAttrMultiProcessorCount", "cudaDeviceGetAttribute",
    "cudaError", "cudaErrorInvalidConfiguration", "cudaErrorInvalidValue", "cudaErrorMemoryAllocation",
    "cudaErrorNotSupported", "cudaErrorUnknown", "cudaError_t", "cudaFuncAttributeMaxDynamicSharedMemorySize",
    "cudaFuncAttributeNonPortableClusterSizeAllowed", "cudaFuncAttributePreferredSharedMemoryCarveout",
    "cudaFuncAttributes", "cudaFuncCachePreferL1", "cudaFuncCachePreferShared", "cudaFuncGetAttributes",
    "cudaFuncSetAttribute", "cudaFuncSetCacheConfig", "cudaGetDevice", "cudaGetErrorName", "cudaGetErrorString",
    "cudaGetLastError", "cudaGridDependencySynchronize", "cudaLaunchAttribute", "cudaLaunchAttributeClusterDimension",
    "cudaLaunchAttributeCooperative", "cudaLaunchAttributeProgrammaticStreamSerialization", "cudaLaunchConfig_t",
    "cudaLaunchCooperativeKernel", "cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelExC",
    "cudaMemcpy2DAsync", "cudaMemcpyAsync", "cudaMemcpyDeviceToDevice", "cudaMemset2DAsync", "cudaMemsetAsync",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxPotentialBlockSize", "cudaPeekAtLastError",
    "cudaSharedmemCarveoutMaxL1", "cudaSharedmemCarveoutMaxShared", "cudaStream_t", "cudaSuccess",
    "cudaTriggerProgrammaticLaunchCompletion",
})  # fmt: skip
_NO_HOST: Final = "a candidate computes on the device and touches nothing else"
_NO_COPY: Final = "only the Async forms on the given stream, and with cudaMemcpyDeviceToDevice"
_WHY_NOT: Final[tuple[tuple[str, str], ...]] = (
    (r"cuda\w*Synchronize", "the call only enqueues work on its stream; to synchronize is the caller's"),
    (
        r"cuda(Malloc|Free|HostAlloc|Mem(Pool|Create|Map|Address))\w*",
        "no allocation inside the call: ask for workspace",
    ),
    (r"cuda(Memcpy|Memset)\w*", _NO_COPY),
    (r"cuda(Stream|Event|Graph|Launch)\w*", "all work goes to the given stream by plain launches"),
    (r"cuda\w*", "not among the calls that a candidate may make"),
)
_HOST: Final = {
    "dlopen", "dlmopen", "dlsym", "dlvsym", "dladdr", "dl_iterate_phdr", "system", "popen", "fork", "vfork", "clone",
    "execv", "execve", "execvp", "execl", "execlp", "posix_spawn", "syscall", "ptrace", "mmap", "mprotect", "munmap",
    "mremap", "memfd_create", "shm_open", "process_vm_readv", "process_vm_writev", "open", "openat", "fopen",
    "freopen", "fdopen", "creat", "read", "write", "pread", "pwrite", "socket", "connect", "send", "recv", "getenv",
    "setenv", "putenv", "environ", "signal", "sigaction", "raise", "kill", "abort", "exit", "_exit", "quick_exit",
    "atexit", "at_quick_exit", "longjmp", "setjmp", "pthread_create", "thrd_create", "usleep", "nanosleep", "sleep",
    "clock_gettime", "gettimeofday", "rdtsc",
}  # fmt: skip
_RULES: Final[tuple[tuple[str, str], ...]] = (
    (r"\b(cu[A-Z]|nvrtc|cublas|cudnn|cusparse|cufft|curand)\w*", "no driver API and no vendor library"),
    (r"\bcudaMemcpyAsync(?=\s*\((?![^;]*cudaMemcpyDeviceToDevice)[^;]*;)", _NO_COPY),
    (r"\b(accessPolicyWindow|cudaAccessProperty\w*)", "no lines pinned in the L2: they outlive the call"),
    (r"\bstd\s*::\s*(thread|jthread|async|[io]?fstream|chrono|filesystem|mutex|atomic)\b", _NO_HOST),
    (r"\b__attribute__\s*\(\s*\(\s*(__)?(constructor|destructor|ifunc|alias|weak|section)", "no code outside the call"),
    (r"##|%:%:|\?\?=", "pasted tokens hide names from this check; write them out"),
    (r"^\s*(#|%:)\s*(include_next\b.*|include\s+[^\s<\"].*)", "only plain includes"),
    (
        r"\b_Pragma\b|^\s*#\s*pragma\s+(weak|redefine_extname|push_macro|pop_macro)\b",
        "only #pragma unroll and the like",
    ),
    (r"^\s*#\s*define\s+(cuda\w+|__global__|__device__|__host__|extern|atomicAdd)\b", "a macro may not rename CUDA"),
)
_INCLUDE: Final = r"^\s*(?:#|%:)\s*include\s*(?:<([^>\n]*)>|\"([^\"\n]*)\")"


def allowed_header(name: str) -> bool:
    """Tell whether a candidate may include a header."""
    return _HEADERS.fullmatch(name) is not None


def screen(source: str, contract: Contract) -> tuple[Violation, ...]:
    """Return what is forbidden in a candidate's source, in order of lines; empty if nothing is."""
    code = code_only(source)
    found: list[Violation] = []

    def report(match: re.Match[str], what: str, why: str) -> None:
        found.append(Violation(line=line_of(code, match.end()), what=what, why=why))

    for match in re.finditer(_INCLUDE, code, re.MULTILINE):
        if not allowed_header(header := match[1] or match[2] or ""):
            report(match, f"#include <{header}>", "not among the headers that a candidate may use")
    for match in re.finditer(r"\bcuda[A-Z]\w*", code):
        if match[0] not in _ALLOWED_API:
            report(match, match[0], next(why for pattern, why in _WHY_NOT if re.fullmatch(pattern, match[0])))
    for match in re.finditer(rf"(?<![\w.>])({'|'.join(sorted(_HOST))})(?=\s*\()", code):
        # A function of the file's own may have such a name; one that is only declared is the system's.
        if not re.search(rf"\b{match[0]}\s*\([^;{{}}]*\)[^;{{}}()]*\{{", code):
            report(match, match[0], _NO_HOST)
    for pattern, why in _RULES:
        for match in re.finditer(pattern, code, re.MULTILINE):
            report(match, " ".join(match[0].split()), why)
    for entry in (contract.entry, contract.workspace_entry):
        if not re.search(rf"\b{entry}\s*\(", code):
            found.append(Violation(line=0, what=entry, why='the file must define this function with extern "C"'))
    return tuple(sorted(found, key=lambda v: v.line))
