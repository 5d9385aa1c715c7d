"""Gives the local labels of an object names that begin with the bundle's.

LLVM keeps labels of constants (`.LCPI0_1`) where sections of them may be merged. The table of
names is written anew behind the file, and symbols and section headers point there.
"""

from __future__ import annotations

import struct

from glow.bundles.elf import FILE, SYMBOL_TABLE, ObjectSymbols

MAPPING = "$"
"""Begins symbols by which Arm and RISC-V tell code from data: tools know them by name."""


def with_prefixed_symbols(code: bytes, prefix: str) -> bytes:
    """The object with the prefix before all names that it defines."""
    file, content = ObjectSymbols(code), bytearray(code)
    names = bytearray(b"\0")
    tables = [s for s in file.sections if s.kind == SYMBOL_TABLE]
    if len(tables) != 1:
        return code
    table = tables[0]
    entry_bytes = 24 if file.is_wide else 16
    for number, symbol in enumerate(file.symbols):
        name = symbol.name
        is_own = symbol.section and symbol.kind != FILE and name[:1] != MAPPING
        if name and is_own and not name.startswith(prefix):
            name = prefix + name
        place = len(names) if name else 0
        if name:
            names += name.encode() + b"\0"
        struct.pack_into("<I", content, table.offset + number * entry_bytes, place)
    if file.is_wide:
        (headers,) = struct.unpack_from("<Q", code, 40)
        header_bytes, at, form = 64, 24, "<QQ"
    else:
        (headers,) = struct.unpack_from("<I", code, 32)
        header_bytes, at, form = 40, 16, "<II"
    # Section names may be in the same table: it stays where it is, behind them.
    shared = file.sections[table.link]
    old = file.content(shared)
    moved = old + bytes(names)
    for number in range(len(file.symbols)):
        place = table.offset + number * entry_bytes
        (start,) = struct.unpack_from("<I", content, place)
        struct.pack_into("<I", content, place, start and start + len(old))
    header = headers + table.link * header_bytes + at
    struct.pack_into(form, content, header, len(content), len(moved))
    return bytes(content + moved)
