"""Gate 3: what the built library offers and asks for, and what it would do when it is loaded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ...benchmark.contract import Contract
from .elf import Library, read_library

_FORBIDDEN: Final = frozenset({
    "dlopen", "dlmopen", "dlsym", "dlvsym", "system", "popen", "fork", "vfork", "clone", "execve", "execv", "execvp",
    "posix_spawn", "syscall", "ptrace", "mmap", "mmap64", "mprotect", "memfd_create", "open", "open64", "openat",
    "opendir", "fopen", "fopen64", "socket", "connect", "pthread_create", "thrd_create", "signal", "sigaction", "kill",
    "exit", "_exit", "quick_exit", "atexit", "process_vm_writev", "process_vm_readv", "setenv", "getenv", "cudaMalloc",
    "cudaMallocAsync", "cudaMallocManaged", "cudaFree", "cudaHostAlloc", "cudaMallocHost", "cudaMemcpy",
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaStreamCreate",
    "cudaStreamCreateWithFlags", "cudaEventRecord", "cudaEventElapsedTime", "cudaLaunchHostFunc", "cudaDeviceReset",
    "cudaStreamBeginCapture", "cudaGraphLaunch", "cudaStreamSetAttribute", "cudaDeviceSetLimit",
})  # fmt: skip
_LAST_ERROR: Final = "cudamaster_last_error"
"""A function that the build adds, to ask for launch errors that the entry kept quiet."""
_SYSTEM: Final = re.compile(
    r"(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cpusim|c\+\+|c\+\+abi|unwind)|ld-linux[\w-]*)\.so\b"
)
_LOADING: Final = re.compile(
    r"frame_dummy|libcudart_static_\w+|_ZL24__sti____cudaRegisterAllv|_sub_I_00099_0|_GLOBAL__I_000099"
)
"""What the compilers and the CUDA runtime themselves run at loading."""
_MOST_HOST_BYTES: Final = 1 << 20
_MOST_DEVICE_BYTES: Final = 4 << 20
"""Constants of the host's code, and the device's code with its own. Usual candidates have some kilobytes of either."""


def symbol_faults(path: Path, contract: Contract) -> tuple[str, ...]:
    """Return what is wrong with a library, one sentence each; "may not" in it: forbidden rather than forgotten.

    Imports are not judged where the CUDA runtime is linked into the library: it brings its own.
    """
    library = read_library(path)
    if library is None:
        return ()
    wanted = {contract.entry, contract.workspace_entry}
    faults = [
        f'the library does not export {name}: define it with extern "C"' for name in sorted(wanted - library.exported)
    ]
    if not any(name.startswith("libcudart_static") for name in library.constructors):
        faults += [
            f"the library calls {name}, which a candidate may not" for name in sorted(library.imported & _FORBIDDEN)
        ]
    return (*faults, *_beyond_its_calls(library, wanted))


def _beyond_its_calls(library: Library, wanted: set[str]) -> list[str]:
    """Return what reaches beyond the two entry points."""
    faults = [
        f"the library exports {name}, which a candidate may not: only {' and '.join(sorted(wanted))}"
        for name in sorted(library.exported - wanted - {_LAST_ERROR})
        if not name.startswith("_")  # a linker's own, such as _init and _end
    ]
    faults += [
        f"the library needs {name}, which a candidate may not: no library but the system's own"
        for name in library.needed
        if not _SYSTEM.match(name)
    ]
    own = [name for name in library.constructors if not _LOADING.fullmatch(name)]
    own += sorted({name for name in library.constructors if library.constructors.count(name) > 1 and name not in own})
    if own or library.indirect:
        faults.append(
            f"code runs when the library is loaded ({', '.join(own) or 'an indirect function'}), which a candidate may "
            "not: no constructors, and no variable outside functions that is not initialised by a constant"
        )
    host = sum(library.section_bytes.get(name, 0) for name in (".rodata", ".data", ".data.rel.ro"))
    for what, size, most in (
        ("the host's constants", host, _MOST_HOST_BYTES),
        ("device code and its constants", library.section_bytes.get(".nv_fatbin", 0), _MOST_DEVICE_BYTES),
    ):
        if size > most:
            faults.append(f"{what} take {size:,} bytes, which a candidate may not: at most {most:,}, no tables")
    return faults
