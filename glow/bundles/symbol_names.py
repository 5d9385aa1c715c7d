"""Gives the local labels of an object names that begin with the bundle's.

LLVM keeps labels of constants (`.LCPI0_1`) where sections of them may be merged. The table of
names is written anew behind the file, and symbols and section headers point there.
"""

from __future__ import annotations

import struct

from glow.bundles.elf import FILE, SYMBOL_TABLE, ObjectSymbol, ObjectSymbols

MAPPING = "$"
"""Begins symbols by which Arm and RISC-V tell code from data: tools know them by name."""


def with_prefixed_symbols(code: bytes, prefix: str) -> bytes:
    """The object with the prefix before all names that it defines."""
    file, content = ObjectSymbols(code), bytearray(code)
    tables = [each for each in file.sections if each.kind == SYMBOL_TABLE]
    if len(tables) != 1:
        return code
    (table,) = tables  # Which names of sections may be in, too.
    names = bytearray(file.content(file.sections[table.link]))
    entry_bytes = 24 if file.is_wide else 16
    for number, symbol in enumerate(file.symbols):
        place = 0
        if name := prefixed(symbol, prefix):
            place = len(names)
            names += name.encode() + b"\0"
        struct.pack_into("<I", content, table.offset + number * entry_bytes, place)
    content += bytes(-len(content) % entry_bytes)
    form, header = header_place(file, table.link)
    struct.pack_into(form, content, header, len(content), len(names))
    return bytes(content + names)


def prefixed(symbol: ObjectSymbol, prefix: str) -> str:
    """The name of a symbol from now on."""
    name = symbol.name
    is_ours = symbol.section and symbol.kind != FILE and name[:1] != MAPPING
    if not name or not is_ours or name.startswith(prefix):
        return name
    return prefix + name


def header_place(file: ObjectSymbols, section: int) -> tuple[str, int]:
    """Where the header of a section says its offset and size, and in which form."""
    if file.is_wide:
        (headers,) = struct.unpack_from("<Q", file.data, 40)
        return "<QQ", headers + section * 64 + 24
    (headers,) = struct.unpack_from("<I", file.data, 32)
    return "<II", headers + section * 40 + 16
