"""Gate 3: what the built library offers and asks for, read from its ELF tables."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from ...benchmark.contract import Contract
from ..records import Record

_FORBIDDEN: Final = frozenset({
    "dlopen", "dlmopen", "dlsym", "dlvsym", "system", "popen", "fork", "vfork", "clone", "execve", "execv", "execvp",
    "posix_spawn", "syscall", "ptrace", "mmap", "mmap64", "mprotect", "memfd_create", "open", "open64", "openat",
    "fopen", "fopen64", "socket", "connect", "pthread_create", "thrd_create", "signal", "sigaction", "kill", "exit",
    "_exit", "quick_exit", "atexit", "process_vm_writev", "process_vm_readv", "setenv", "getenv", "cudaMalloc",
    "cudaMallocAsync", "cudaMallocManaged", "cudaFree", "cudaHostAlloc", "cudaMallocHost", "cudaMemcpy",
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaStreamCreate",
    "cudaStreamCreateWithFlags", "cudaEventRecord", "cudaEventElapsedTime", "cudaLaunchHostFunc", "cudaDeviceReset",
    "cudaStreamBeginCapture", "cudaGraphLaunch", "cudaStreamSetAttribute", "cudaDeviceSetLimit",
})  # fmt: skip


class Symbols(Record):
    """The dynamic symbols of a shared object."""

    exported: frozenset[str]
    imported: frozenset[str]


def read_symbols(library: Path) -> Symbols | None:
    """Read the dynamic symbol table of a 64-bit little-endian ELF file; None if it is something else."""
    data = library.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return None
    sections, count = struct.unpack_from("<Q", data, 0x28)[0], struct.unpack_from("<H", data, 0x3C)[0]
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + 64 * i) for i in range(count)]
    exported: set[str] = set()
    imported: set[str] = set()
    for _, kind, _, _, offset, size, link, *_ in headers:
        if kind != 11:  # SHT_DYNSYM
            continue
        strings = headers[link][4]
        for at in range(offset + 24, offset + size, 24):
            name_at, _, _, section = struct.unpack_from("<IBBH", data, at)
            name = data[strings + name_at : data.index(b"\0", strings + name_at)].decode(errors="replace")
            (exported if section else imported).add(name)
    return Symbols(exported=frozenset(exported), imported=frozenset(imported))


def symbol_faults(library: Path, contract: Contract) -> tuple[str, ...]:
    """Return what is wrong with a library's symbols, one sentence each.

    Imports are judged only where the CUDA runtime itself is imported: a runtime linked into the library brings its own.
    """
    symbols = read_symbols(library)
    if symbols is None:
        return ()
    wanted = (contract.entry, contract.workspace_entry)
    faults = [
        f'the library does not export {name}: define it with extern "C"'
        for name in wanted
        if name not in symbols.exported
    ]
    if any(name.startswith("cuda") for name in symbols.imported):
        faults += [
            f"the library calls {name}, which a candidate may not" for name in sorted(symbols.imported & _FORBIDDEN)
        ]
    return tuple(faults)
