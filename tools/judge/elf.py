"""What a shared object says of itself in its ELF tables: symbols, libraries, code that runs when it is loaded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..records import Record

_MAGIC: Final = b"\x7fELF\x02\x01"
_SYMTAB: Final = 2
_RELA: Final = 4
_DYNAMIC: Final = 6
_NOBITS: Final = 8
_DYNSYM: Final = 11
_NEEDED: Final = 1
_INDIRECT: Final = {62: 37, 183: 1032}
"""Relocation types per machine, x86-64 and aarch64: an address that a function of the file returns."""


class Library(Record):
    """The tables of one shared object."""

    exported: frozenset[str]
    imported: frozenset[str]
    needed: tuple[str, ...]
    """File names of the libraries that it loads."""
    constructors: tuple[str, ...]
    """Names of the functions that run when it is loaded; `?` for one without a name."""
    indirect: int
    """Functions whose address is chosen by code that runs at loading."""
    section_bytes: dict[str, int]
    """Size in the file of each section by name."""


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int


def read_library(path: Path) -> Library | None:
    """Read a 64-bit little-endian ELF file; None if it is something else."""
    data = path.read_bytes()
    if data[:6] != _MAGIC:
        return None
    machine = struct.unpack_from("<H", data, 0x12)[0]
    sections = _sections(data)
    exported: set[str] = set()
    imported: set[str] = set()
    named: dict[int, str] = {}
    for section in sections:
        if section.kind in (_SYMTAB, _DYNSYM):
            for name, function, defined, address in _symbols(data, section, sections[section.link]):
                if section.kind == _DYNSYM:
                    (exported if defined else imported).add(name)
                if function and defined:
                    named.setdefault(address, name)
    relocations = {
        place: (kind, addend) for s in sections if s.kind == _RELA and s.address
        for place, kind, addend in _relocations(data, s)
    }  # fmt: skip
    started = [s for s in sections if s.name in (".init_array", ".preinit_array")]
    constructors = [
        named.get(relocations.get(place, (0, 0))[1], "?")
        for s in started
        for place in range(s.address, s.address + s.size, 8)
    ]
    return Library(
        exported=frozenset(exported),
        imported=frozenset(imported),
        needed=tuple(_needed(data, sections)),
        constructors=tuple(constructors),
        indirect=sum(kind == _INDIRECT.get(machine) for kind, _ in relocations.values()),
        section_bytes={s.name: s.size for s in sections if s.kind != _NOBITS},
    )


def section_data(path: Path, name: str) -> bytes:
    """Return the content of a section; empty if there is none of that name, or the file is something else."""
    data = path.read_bytes()
    if data[:6] != _MAGIC:
        return b""
    return next((data[s.offset : s.offset + s.size] for s in _sections(data) if s.name == name), b"")


def _sections(data: bytes) -> list[_Section]:
    start = struct.unpack_from("<Q", data, 0x28)[0]
    count, names = struct.unpack_from("<HH", data, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * i) for i in range(count)]
    strings = headers[names][4]
    return [
        _Section(_text(data, strings + name), kind, address, offset, size, link)
        for name, kind, _, address, offset, size, link, *_ in headers
    ]


def _symbols(data: bytes, table: _Section, strings: _Section) -> Iterator[tuple[str, bool, bool, int]]:
    for at in range(table.offset + 24, table.offset + table.size, 24):
        name, info, _, section, address = struct.unpack_from("<IBBHQ", data, at)
        yield _text(data, strings.offset + name), info & 15 == 2, section != 0, address


def _relocations(data: bytes, table: _Section) -> Iterator[tuple[int, int, int]]:
    for at in range(table.offset, table.offset + table.size, 24):
        place, info, addend = struct.unpack_from("<QQq", data, at)
        yield place, info & 0xFFFFFFFF, addend


def _needed(data: bytes, sections: list[_Section]) -> Iterator[str]:
    for table in sections:
        if table.kind == _DYNAMIC:
            for at in range(table.offset, table.offset + table.size, 16):
                tag, value = struct.unpack_from("<QQ", data, at)
                if tag == _NEEDED:
                    yield _text(data, sections[table.link].offset + value)


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="replace")
