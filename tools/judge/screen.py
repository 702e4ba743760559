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
    r"|cooperative_groups(/[a-z_]+)?\.h|mma\.h|cub/[\w/]+\.cuh|cuda(Typedefs)?\.h"
    r"|cuda/(std/[\w/]+|atomic|barrier|bit|cmath|functional|latch|numeric|pipeline|ptx|semaphore|utility|warp)|device_(launch_parameters|functions)\.h"
    r"|(vector_types|vector_functions|math_constants|sm_\d+_intrinsics|cuda_device_runtime_api)\.h"
    r"|(math|stdint|stddef|float|limits|assert)\.h"
    r"|c(math|stdint|stddef|float|limits|assert)|algorithm|array|bit|concepts|initializer_list|limits|numeric|tuple|type_traits|utility"
)
_ALLOWED_API: Final = frozenset({
    "cudaDevAttrComputeCapabilityMajor", "cudaDevAttrComputeCapabilityMinor", "cudaDevAttrL2CacheSize",
    "cudaDevAttrMaxSharedMemoryPerBlockOptin", "cudaDevAttrMaxSharedMemoryPerMultiprocessor",
    "cudaDevAttrMultiProcessorCount", "cudaDeviceGetAttribute", "cudaDriverEntryPointQueryResult",
    "cudaDriverEntryPointSuccess", "cudaEnableDefault", "cudaError", "cudaErrorInvalidConfiguration",
    "cudaErrorInvalidValue", "cudaErrorMemoryAllocation", "cudaErrorNotSupported", "cudaErrorUnknown", "cudaError_t",
    "cudaFuncAttributeMaxDynamicSharedMemorySize", "cudaFuncAttributeNonPortableClusterSizeAllowed",
    "cudaFuncAttributePreferredSharedMemoryCarveout", "cudaFuncAttributes", "cudaFuncCachePreferL1",
    "cudaFuncCachePreferShared", "cudaFuncGetAttributes", "cudaFuncSetAttribute", "cudaFuncSetCacheConfig",
    "cudaGetDevice", "cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion", "cudaGetErrorName",
    "cudaGetErrorString", "cudaGetLastError", "cudaGetSymbolAddress", "cudaGridDependencySynchronize",
    "cudaLaunchAttribute", "cudaLaunchAttributeClusterDimension", "cudaLaunchAttributeCooperative",
    "cudaLaunchAttributeProgrammaticStreamSerialization", "cudaLaunchConfig_t", "cudaLaunchCooperativeKernel",
    "cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelExC", "cudaMemcpy2DAsync", "cudaMemcpyAsync",
    "cudaMemcpyDeviceToDevice", "cudaMemset2DAsync", "cudaMemsetAsync",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cudaOccupancyMaxActiveClusters", "cudaOccupancyMaxPotentialBlockSize", "cudaOccupancyMaxPotentialClusterSize",
    "cudaPeekAtLastError", "cudaSharedmemCarveoutMaxL1", "cudaSharedmemCarveoutMaxShared", "cudaStream_t",
    "cudaSuccess", "cudaTriggerProgrammaticLaunchCompletion",
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
_NEVER: Final = {
    "__managed__", "at_quick_exit", "atexit", "clock_gettime", "dl_iterate_phdr", "dlmopen", "dlopen", "dlsym",
    "dlvsym", "environ", "execl", "execlp", "execv", "execve", "execvp", "fdopen", "fopen", "freopen", "getcwd",
    "getenv", "gettimeofday", "longjmp", "memfd_create", "mmap", "mprotect", "mremap", "munmap", "nanosleep",
    "openat", "opendir", "popen", "posix_spawn", "process_vm_readv", "process_vm_writev", "pthread_create", "ptrace",
    "putenv", "quick_exit", "readlink", "scandir", "setenv", "setjmp", "shm_open", "sigaction", "thrd_create",
    "usleep", "vfork",
}  # fmt: skip
"""Names of the host's that nothing else has: they need not be called to be forbidden."""
_HOST: Final = {
    "_exit", "abort", "clone", "connect", "creat", "dladdr", "exit", "fork", "kill", "open", "pread", "pwrite",
    "raise", "rdtsc", "read", "recv", "send", "signal", "sleep", "socket", "syscall", "system", "write",
}  # fmt: skip
_RULES: Final[tuple[tuple[str, str], ...]] = (
    (
        r"\b(cu(?!TensorMapEncode)[A-Z]|nvrtc|cublas|cudnn|cusparse|cufft|curand)\w*",
        "no driver API and no vendor library",
    ),
    (r"\bcudaMemcpyAsync(?=\s*\((?![^;]*cudaMemcpyDeviceToDevice)[^;]*;)", _NO_COPY),
    (r"\b(accessPolicyWindow|cudaAccessProperty\w*)", "no lines pinned in the L2: they outlive the call"),
    (r"\bstd\s*::\s*(thread|jthread|async|[io]?fstream|chrono|filesystem|mutex|atomic)\b", _NO_HOST),
    (r"\b__attribute__\s*\(\s*\(\s*(__)?(constructor|destructor|ifunc|alias|weak|section)", "no code outside the call"),
    (r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}", "letters of names are written as they are"),
    (r"##|%:%:|\?\?=", "pasted tokens hide names from this check; write them out"),
    (r"^\s*(#|%:)\s*(include_next\b.*|include\s+[^\s<\"].*)", "only plain includes"),
    (
        r"\b_Pragma\b|^\s*#\s*pragma\s+(weak|redefine_extname|push_macro|pop_macro)\b",
        "only #pragma unroll and the like",
    ),
    (r"^\s*#\s*define\s+(cuda\w+|__global__|__device__|__host__|extern|atomicAdd)\b", "a macro may not rename CUDA"),
)
_ENTRY_POINT: Final = r"\bcudaGetDriverEntryPoint(?:ByVersion)?\b(?!\s*\(\s*\"cuTensorMapEncode\w+\"\s*,)"
_ASM: Final = (
    r'\b(?:__asm__|__asm|asm)\b(?:\s*(?:volatile|__volatile__|goto|inline))*\s*\((?:"(?:\\.|[^"\\])*"|[^";])*;?'
)
_HOST_ASM: Final = (
    r"\(\s*\"[\w$]+\"\s*\)|\b(?:syscall|sysenter|rdtscp?|int\s+\$0x80)\b"
    r"|(?<!\w)\.(?:incbin|include|section|pushsection|symver|globl|weak|set|quad)\b"
)
"""A name for the linker, an instruction of the host, or a directive that places code or data."""
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
    for match in re.finditer(r"\bcuda(?!Typedefs\.h)[A-Z]\w*", code):
        if match[0] not in _ALLOWED_API:
            report(match, match[0], next(why for pattern, why in _WHY_NOT if re.fullmatch(pattern, match[0])))
    for match in re.finditer(rf"(?<![\w.>])({'|'.join(sorted(_HOST))})(?=\s*\()", code):
        # A function of the file's own may have such a name; one that is only declared is the system's.
        if not re.search(rf"\b{match[0]}\s*\([^;{{}}]*\)[^;{{}}()]*\{{", code):
            report(match, match[0], _NO_HOST)
    for match in re.finditer(rf"(?<![\w.>])({'|'.join(sorted(_NEVER))})\b", code):
        report(match, match[0], _NO_HOST)
    for pattern, why in _RULES:
        for match in re.finditer(pattern, code, re.MULTILINE):
            report(match, " ".join(match[0].split()), why)
    with_literals = code_only(source, literals=True)
    for match in re.finditer(_ENTRY_POINT, with_literals):
        report(match, match[0], "only for cuTensorMapEncode…, its name written out")
    for match in re.finditer(_ASM, with_literals):
        if re.search(_HOST_ASM, match[0]):
            report(match, " ".join(match[0].split())[:60], "assembly is for the device: no host code, no directives")
    for entry in (contract.entry, contract.workspace_entry):
        if not re.search(rf"\b{entry}\s*\(", code):
            found.append(Violation(line=0, what=entry, why='the file must define this function with extern "C"'))
    return tuple(sorted(found, key=lambda v: v.line))
