"""What a linker needs of an ELF object for x86-64: sections, symbols, relocations.

Source: System V ABI, AMD64 Architecture Processor Supplement, chapter 4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

HEADER = b"\x7fELF\x02\x01\x01"
"""64 bits, little endian, version 1."""
RELOCATABLE, X86_64 = 1, 62

PROGRAM_BITS, SYMBOL_TABLE, RELOCATIONS, NO_BITS = 1, 2, 4, 8
PLAIN_RELOCATIONS = 9
WRITABLE, ALLOCATED, THREAD_LOCAL = 1, 2, 0x400

UNDEFINED, FIRST_RESERVED = 0, 0xFF00
LOCAL, WEAK = 0, 2


class UnsupportedObjectError(Exception):
    """An object that only LLVM's linker understands."""


@dataclass(frozen=True)
class Section:
    """A section header; `name` and others that nobody reads are left out."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int
    target: int
    """Of relocations: the section that they change."""
    alignment: int

    @property
    def is_loaded(self) -> bool:
        """Whether the section takes memory in the running program."""
        return bool(self.flags & ALLOCATED) and self.size > 0


@dataclass(frozen=True)
class Symbol:
    """A name; `section` 0 is that of names defined elsewhere."""

    name: str
    binding: int
    section: int
    value: int


@dataclass(frozen=True)
class Relocation:
    """Bytes of a section that depend on where a symbol is."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile:
    """An object's parts; raises UnsupportedObjectError for what is not x86-64 code."""

    def __init__(self, data: bytes) -> None:
        if data[: len(HEADER)] != HEADER:
            raise UnsupportedObjectError("not a 64-bit ELF object")
        if struct.unpack_from("<HH", data, 16) != (RELOCATABLE, X86_64):
            raise UnsupportedObjectError("not an object for x86-64")
        self.data = data

    @cached_property
    def sections(self) -> list[Section]:
        """All sections by number."""
        (start,) = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        sections: list[Section] = []
        for number in range(count):
            fields = struct.unpack_from("<IIQQQQIIQQ", self.data, start + number * size)
            _, kind, flags, _, offset, length, link, info, alignment, _ = fields
            sections.append(Section(kind, flags, offset, length, link, info, alignment))
        return sections

    @cached_property
    def symbols(self) -> list[Symbol]:
        """All symbols by number."""
        tables = [section for section in self.sections if section.kind == SYMBOL_TABLE]
        if len(tables) != 1:
            raise UnsupportedObjectError(f"{len(tables)} symbol tables")
        table = tables[0]
        names = self.sections[table.link].offset
        content = self.data[table.offset : table.offset + table.size]
        symbols: list[Symbol] = []
        for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", content):
            if section >= FIRST_RESERVED and info & 15 != 4:
                raise UnsupportedObjectError(f"a symbol in section {section:#x}")
            end = self.data.index(b"\0", names + name)
            text = self.data[names + name : end].decode()
            symbols.append(Symbol(text, info >> 4, section, value))
        return symbols

    def content(self, section: Section) -> bytes:
        """The bytes of a section; none where it starts as zeros."""
        if section.kind == NO_BITS:
            return b""
        return self.data[section.offset : section.offset + section.size]

    def relocations(self) -> Iterator[Relocation]:
        """The relocations of the sections that are loaded."""
        for section in self.sections:
            if section.kind == PLAIN_RELOCATIONS:
                raise UnsupportedObjectError("relocations without addends")
            if section.kind != RELOCATIONS:
                continue
            if not self.sections[section.target].is_loaded:
                continue
            content = self.content(section)
            for offset, info, addend in struct.iter_unpack("<QQq", content):
                yield Relocation(
                    section.target, offset, info & 0xFFFFFFFF, info >> 32, addend
                )
