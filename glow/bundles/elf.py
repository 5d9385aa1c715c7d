"""What is in an ELF object, of 32 or 64 bits: its sections and symbols, for sizes and checks.

Source: System V ABI, chapter 4 (object files). `glow.runtime.linking` has a reader of its own
for the relocations of the machine that it links for.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

WRITABLE, ALLOCATED, EXECUTABLE = 1, 2, 4
"""Flags of sections; those that are allocated are there when a program runs."""

MAGIC = b"\x7fELF"
WIDE, LITTLE = 2, 1

SYMBOL_TABLE, NO_BITS = 2, 8
NOTHING, OBJECT, FUNCTION, SECTION, FILE = range(5)


class ObjectFormatError(Exception):
    """Bytes that are no little-endian ELF file."""


@dataclass(frozen=True)
class ObjectSection:
    """A section: what the linker places as a whole."""

    name: str
    kind: int
    flags: int
    address: int
    """Of a program that is linked; 0 in an object."""
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def is_loaded(self) -> bool:
        """Whether the section takes memory in the running program."""
        return bool(self.flags & ALLOCATED) and self.size > 0

    @property
    def is_code(self) -> bool:
        """Whether it holds instructions."""
        return self.is_loaded and bool(self.flags & EXECUTABLE)

    @property
    def is_constant(self) -> bool:
        """Whether it holds data that nobody writes."""
        return self.is_loaded and not self.flags & (EXECUTABLE | WRITABLE)


@dataclass(frozen=True)
class ObjectSymbol:
    """A name with what it stands for; `section` 0 is that of names defined elsewhere."""

    name: str
    kind: int
    is_global: bool
    section: int
    value: int
    size: int


class ObjectSymbols:
    """The sections and symbols of an object; raises ObjectFormatError for other bytes."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != MAGIC or data[5] != LITTLE:
            raise ObjectFormatError("not a little-endian ELF file")
        self.data = data
        self.is_wide = data[4] == WIDE

    @cached_property
    def sections(self) -> list[ObjectSection]:
        """All sections by number."""
        place, start_format = (40, "<Q") if self.is_wide else (32, "<I")
        (start,) = struct.unpack_from(start_format, self.data, place)
        counts = 58 if self.is_wide else 46
        size, count, names = struct.unpack_from("<HHH", self.data, counts)
        form = "<IIQQQQIIQQ" if self.is_wide else "<IIIIIIIIII"
        rows = [
            struct.unpack_from(form, self.data, start + number * size)
            for number in range(count)
        ]
        return [
            ObjectSection(self._text(rows[names][4] + row[0]), *row[1:9])
            for row in rows
        ]

    @cached_property
    def symbols(self) -> list[ObjectSymbol]:
        """All symbols by number."""
        tables = [each for each in self.sections if each.kind == SYMBOL_TABLE]
        found: list[ObjectSymbol] = []
        for table in tables:
            names = self.sections[table.link].offset
            content = self.data[table.offset : table.offset + table.size]
            form = "<IBBHQQ" if self.is_wide else "<IIIBBH"
            for row in struct.iter_unpack(form, content):
                if self.is_wide:
                    name, info, _, section, value, size = row
                else:
                    name, value, size, info, _, section = row
                text = self._text(names + name)
                found.append(
                    ObjectSymbol(text, info & 15, info >> 4 > 0, section, value, size)
                )
        return found

    @property
    def undefined(self) -> list[str]:
        """The names that the linker has to find elsewhere."""
        return [one.name for one in self.symbols if one.name and not one.section]

    @property
    def defined(self) -> list[ObjectSymbol]:
        """The functions and data that the object has, and others with a name."""
        kinds = (SECTION, FILE)
        return [
            one
            for one in self.symbols
            if one.name and one.section and one.kind not in kinds
        ]

    def function_bytes(self) -> dict[str, int]:
        """The bytes of each function's code, by name."""
        return {one.name: one.size for one in self.defined if one.kind == FUNCTION}

    def loaded_bytes(self) -> int:
        """The bytes of code and constants."""
        return sum(each.size for each in self.sections if each.flags & ALLOCATED)

    def content(self, section: ObjectSection) -> bytes:
        """The bytes of a section; zeros where the file has none."""
        if section.kind == NO_BITS:
            return bytes(section.size)
        return self.data[section.offset : section.offset + section.size]

    def _text(self, start: int) -> str:
        return self.data[start : self.data.index(b"\0", start)].decode()


def linked_weights(code: bytes, name: str, size: int) -> bytes:
    """The weights that an object of a bundle holds."""
    symbols = ObjectSymbols(code)
    for symbol in symbols.symbols:
        if symbol.name == f"{name}_constants":
            section = symbols.sections[symbol.section]
            return symbols.content(section)[symbol.value : symbol.value + size]
    return b""
