"""Links objects in memory without LLVM: a known network then needs no LLVM at all.

LLVM's libraries take 60 MB and a tenth of a second to load, many times what most networks
need. The kernels are simple objects: code and constants, calls of each other and of a few
functions of the C library.

    code and constants | stubs | page border | data

Code is 64-byte aligned, whatever else is linked. A stub is a jump to a function that is
not near, with its address behind; no page is writable and executable at once.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable, Sequence
from functools import cache

from glow.runtime.linking.elf import (
    LOCAL,
    THREAD_LOCAL,
    UNDEFINED,
    WRITABLE,
    ObjectFile,
    Relocation,
    UnsupportedObjectError,
)

CODE_ALIGNMENT = 64

STUB = bytes.fromhex("ff2502000000 0f0b")
"""`jmp *2(%rip)`, then `ud2`; the eight bytes of the address follow."""
STUB_BYTES = 16
ADDRESS_IN_STUB = 8

ABSOLUTE_64, PC_RELATIVE, CALL = 1, 2, 4
TABLE_ENTRIES = (9, 41, 42)
"""Displacements of a table entry that holds an address: a stub's address serves."""

READ, READ_EXECUTE = 1, 5


def aligned(size: int, alignment: int) -> int:
    """Returns the next multiple of `alignment`."""
    return -(-size // alignment) * alignment


class Image:
    """Linked code in this process; lives as long as this object does.

    Raises UnsupportedObjectError for objects with unknown relocations or sections, and
    LookupError, with the name, for a symbol that neither objects nor `resolve` know.
    """

    def __init__(
        self, objects: Sequence[bytes], resolve: Callable[[str], int | None]
    ) -> None:
        self._objects = [ObjectFile(data) for data in objects]
        self._resolve = resolve
        self._places: dict[tuple[int, int], int] = {}
        code_end = self._place(0, writable=False)
        self._stubs = {
            name: code_end + number * STUB_BYTES
            for number, name in enumerate(self._external_names())
        }
        code_end = aligned(code_end + len(self._stubs) * STUB_BYTES, mmap.PAGESIZE)
        self._size = self._place(code_end, writable=True)
        self._memory = mmap.mmap(
            -1, max(self._size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._write()
        protect(self.base, code_end, READ_EXECUTE)

    def address(self, name: str) -> int:
        """Returns the address of a global symbol of the objects."""
        return self.base + self._globals[name]

    # -- layout

    def _place(self, position: int, *, writable: bool) -> int:
        """Gives each section that is loaded a place; returns the end of the last."""
        for number, file in enumerate(self._objects):
            for index, section in enumerate(file.sections):
                if not section.is_loaded or bool(section.flags & WRITABLE) != writable:
                    continue
                if section.flags & THREAD_LOCAL:
                    raise UnsupportedObjectError("thread-local data")
                position = aligned(position, max(section.alignment, CODE_ALIGNMENT))
                self._places[number, index] = position
                position += section.size
        return position

    def _external_names(self) -> list[str]:
        """The names that no object defines; finds those that one does."""
        self._globals: dict[str, int] = {}
        wanted: dict[str, None] = {}
        for number, file in enumerate(self._objects):
            for symbol in file.symbols:
                if symbol.binding == LOCAL:
                    continue
                if symbol.section == UNDEFINED:
                    wanted[symbol.name] = None
                elif (number, symbol.section) in self._places:
                    start = self._places[number, symbol.section]
                    self._globals.setdefault(symbol.name, start + symbol.value)
        return [name for name in wanted if name not in self._globals]

    # -- content

    def _write(self) -> None:
        for (number, index), place in self._places.items():
            file = self._objects[number]
            content = file.content(file.sections[index])
            self._memory[place : place + len(content)] = content
        for name, place in self._stubs.items():
            address = self._resolve(name)
            if address is None:
                raise LookupError(name)
            self._memory[place : place + len(STUB)] = STUB
            struct.pack_into("<Q", self._memory, place + ADDRESS_IN_STUB, address)
        for number, file in enumerate(self._objects):
            for relocation in file.relocations():
                self._relocate(number, file, relocation)

    def _relocate(self, number: int, file: ObjectFile, relocation: Relocation) -> None:
        place = self._places[number, relocation.section] + relocation.offset
        target = self._target(number, file, relocation.symbol)
        if relocation.kind == ABSOLUTE_64:
            value = self.base + target + relocation.addend
            struct.pack_into("<Q", self._memory, place, value)
            return
        name = file.symbols[relocation.symbol].name
        if relocation.kind in TABLE_ENTRIES:
            target = self._table_entry(name)
        elif relocation.kind == PC_RELATIVE and name in self._stubs:
            raise UnsupportedObjectError(f"'{name}' is read, not called")
        elif relocation.kind not in (PC_RELATIVE, CALL):
            raise UnsupportedObjectError(f"relocation {relocation.kind}")
        struct.pack_into("<i", self._memory, place, target + relocation.addend - place)

    def _target(self, number: int, file: ObjectFile, index: int) -> int:
        """Where a symbol is in the image; the stub of one that is not."""
        symbol = file.symbols[index]
        if symbol.section != UNDEFINED:
            if (number, symbol.section) not in self._places:
                raise UnsupportedObjectError(f"symbol '{symbol.name}' is nowhere")
            return self._places[number, symbol.section] + symbol.value
        if symbol.name in self._globals:
            return self._globals[symbol.name]
        return self._stubs[symbol.name]

    def _table_entry(self, name: str) -> int:
        if name not in self._stubs:
            raise UnsupportedObjectError(f"the address of '{name}' in a table")
        return self._stubs[name] + ADDRESS_IN_STUB


@cache
def _mprotect() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


def protect(address: int, size: int, protection: int) -> None:
    """Sets what may be done with whole pages; raises OSError where that is refused."""
    if size and _mprotect()(address, size, protection):
        raise OSError(ctypes.get_errno(), "mprotect failed")
