"""What is in a WebAssembly object: its functions and the symbols that it lacks.

Source: WebAssembly Core Specification, 5.5 (modules); the tool conventions' `Linking.md`, version
2 (symbol tables). It answers as `ObjectSymbols` does for ELF.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from glow.bundles.elf import ObjectFormatError, ObjectSymbols

MAGIC = b"\0asm"
HEADER_BYTES = 8
CUSTOM, IMPORT, CODE = 0, 2, 10
"""Sections by number."""
FUNCTION, TABLE, MEMORY, GLOBAL, TAG = range(5)
"""What an import is."""
SYMBOL_TABLE = 8
"""A part of the custom section `linking`."""
DATA, SECTION = 1, 3
"""Kinds of symbols that are no imports: bytes, and sections."""
FUNCTION_SYMBOL = 0
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40
"""Flags of symbols."""
LINKER_SYMBOLS = ("__stack_pointer", "__linear_memory", "__indirect_function_table")
"""What the linker makes for any module."""


class Reader:
    """Reads numbers and names one after the other."""

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data, self.place = data, start
        self.end = len(data) if end is None else end

    def byte(self) -> int:
        """One byte."""
        self.place += 1
        return self.data[self.place - 1]

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def name(self) -> str:
        """A length and so many bytes of UTF-8."""
        size = self.number()
        self.place += size
        return self.data[self.place - size : self.place].decode()

    def limits(self) -> None:
        """Skip the sizes of a memory or table."""
        flags = self.byte()
        self.number()
        if flags & 1:
            self.number()


@dataclass(frozen=True)
class WasmSymbol:
    """A name; `index` is that of its function, and None where it is defined elsewhere."""

    name: str
    kind: int
    index: int | None


class WasmSymbols:
    """The functions and symbols of an object; ObjectFormatError for other bytes."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != MAGIC:
            raise ObjectFormatError("not a WebAssembly file")
        self.data = data

    def sections(self) -> Iterator[tuple[int, Reader]]:
        """All sections: the number, and what reads the content."""
        reader = Reader(self.data, HEADER_BYTES)
        while reader.place < reader.end:
            number, size = reader.byte(), reader.number()
            yield number, Reader(self.data, reader.place, reader.place + size)
            reader.place += size

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """What each import is, and its name."""
        found: list[tuple[int, str]] = []
        for number, reader in self.sections():
            if number == IMPORT:
                for _ in range(reader.number()):
                    reader.name()
                    name, kind = reader.name(), reader.byte()
                    _skip_import(reader, kind)
                    found.append((kind, name))
        return found

    @cached_property
    def bodies(self) -> list[tuple[int, int]]:
        """Where the code of each defined function starts and ends."""
        found: list[tuple[int, int]] = []
        for number, reader in self.sections():
            if number == CODE:
                for _ in range(reader.number()):
                    size = reader.number()
                    found.append((reader.place, reader.place + size))
                    reader.place += size
        return found

    @cached_property
    def symbols(self) -> list[WasmSymbol]:
        """All symbols of the object by number."""
        for number, reader in self.sections():
            if number == CUSTOM and reader.name() == "linking":
                reader.number()  # The version.
                while reader.place < reader.end:
                    part, size = reader.byte(), reader.number()
                    if part == SYMBOL_TABLE:
                        return list(self._symbols(reader))
                    reader.place += size
        return []

    def _symbols(self, reader: Reader) -> Iterator[WasmSymbol]:
        names = {
            kind: [name for each, name in self.imports if each == kind]
            for kind in (FUNCTION, TABLE, GLOBAL, TAG)
        }
        import_kinds = {0: FUNCTION, 2: GLOBAL, 4: TAG, 5: TABLE}
        for _ in range(reader.number()):
            kind, flags = reader.byte(), reader.number()
            is_defined, name, index = not flags & UNDEFINED, "", 0
            if kind == DATA:
                name = reader.name()
                if is_defined:
                    index, _, _ = reader.number(), reader.number(), reader.number()
            elif kind == SECTION:
                index = reader.number()
            else:
                index = reader.number()
                if is_defined or flags & EXPLICIT_NAME:
                    name = reader.name()
                else:
                    name = names[import_kinds[kind]][index]
            yield WasmSymbol(name, kind, index if is_defined else None)

    @property
    def undefined(self) -> list[str]:
        """The names that the linker has to find elsewhere."""
        return [each.name for each in self.symbols if each.index is None]

    def loaded_bytes(self) -> int:
        """The bytes of code and constants: all that engines load."""
        return len(self.data)

    def function_bytes(self) -> dict[str, int]:
        """The bytes of each function's code, by name."""
        first = sum(kind == FUNCTION for kind, _ in self.imports)
        found: dict[str, int] = {}
        for each in self.symbols:
            if each.kind == FUNCTION_SYMBOL and each.index is not None:
                start, end = self.bodies[each.index - first]
                found[each.name] = end - start
        return found


def _skip_import(reader: Reader, kind: int) -> None:
    """Skip the type of an import."""
    if kind == FUNCTION:
        reader.number()
    elif kind == TABLE:
        reader.byte()
        reader.limits()
    elif kind == MEMORY:
        reader.limits()
    else:  # Globals and tags: two numbers.
        reader.byte()
        reader.byte()


def symbols_of(code: bytes) -> ObjectSymbols | WasmSymbols:
    """What is in an object of either format; raises ObjectFormatError for other bytes."""
    return WasmSymbols(code) if code[:4] == MAGIC else ObjectSymbols(code)
