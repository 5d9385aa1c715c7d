"""Reads weights from IREE's parameter archives, `.irpa` files.

An archive is a header, a table of entries, their names, and their bytes; one file may hold several,
each of which says where the next begins. Entries have no types: the program says what bytes are.
The layout is that of `runtime/src/iree/schemas/parameter_archive.h` in IREE, version 0. An entry is
bytes of the file or a pattern that is repeated; one in another file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from struct import Struct
from struct import error as StructError

import numpy as np
from xdsl.ir import Attribute

from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import Array, dtype_of
from glow.dialects.weights import held_type
from glow.frontends.mapped_file import file_bytes

HEADER = Struct("<4sHHQQQ7Q")
"""Magic, versions, size, next header, flags; entries, and offset and length of each segment."""

ENTRY = Struct("<QIQQQQQQ")
"""Size, kind, flags, offset and length of the name and of other data, alignment."""

DATA = Struct("<QQ")
"""Offset and length in the segment of bytes."""

SPLAT = Struct("<Q16sB")
"""Length, pattern, and how many bytes of the pattern count."""

MAGIC, MAJOR_VERSION = b"IRPA", 0
ENTRY_ALIGNMENT = 16
SKIPPED, REPEATED, STORED = 0, 1, 2


@dataclass(frozen=True)
class Parameter:
    """Bytes, which are repeated up to a length."""

    content: memoryview
    length: int

    def array(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """The numbers; ValueError for another number of bytes."""
        if self.length != prod(shape) * dtype.itemsize:
            raise ValueError(f"{self.length} bytes")
        content = self.content
        if self.length != len(content):
            content = memoryview(bytes(content) * (self.length // len(content)))
        return np.frombuffer(content, dtype).reshape(shape)


def read_archive(path: Path, types: Mapping[str, Attribute]) -> dict[str, Array]:
    """The weights of those names and types.

    Raises GlowError for a file that is missing or damaged, or that has a weight not, in another
    file, or of another size.
    """
    try:
        found = dict(_parameters(file_bytes(path)))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"the weight file '{path}': {reason}") from None
    except (StructError, ValueError) as error:
        raise GlowError(
            f"the weight file '{path}' is no parameter archive that is read: {error}"
        ) from None
    arrays: dict[str, Array] = {}
    for name, program in types.items():
        parameter = found.get(name)
        if parameter is None:
            raise GlowError(f"weight '{name}' is missing from the weight file '{path}'")
        held = held_type(program)
        try:
            arrays[name] = parameter.array(shape_of(held), dtype_of(element_of(held)))
        except ValueError as error:
            raise GlowError(
                f"weight '{name}' has {error} in the weight file '{path}', the program "
                f"says {program}"
            ) from None
    return arrays


def _parameters(data: memoryview) -> Iterator[tuple[str, Parameter]]:
    """What the archives of a file hold; struct.error and ValueError where they are damaged."""
    start = 0
    while True:
        magic, major, _, _, further, _, count, *segments = HEADER.unpack_from(
            data, start
        )
        if magic != MAGIC:
            raise ValueError(f"it begins with {magic!r}")
        if major != MAJOR_VERSION:
            raise ValueError(f"it has version {major}")
        entries, names, stored = (
            _part(data, start + segments[at], segments[at + 1]) for at in (0, 2, 4)
        )
        place = 0
        for _ in range(count):
            size, kind, _, name, length, *_ = ENTRY.unpack_from(entries, place)
            if kind != SKIPPED:
                text = str(_part(names, name, length), "utf-8")
                yield (
                    text,
                    _parameter(kind, entries[place + ENTRY.size :], stored, text),
                )
            place += -(-size // ENTRY_ALIGNMENT) * ENTRY_ALIGNMENT
        if not further:
            return
        start += further


def _parameter(
    kind: int, entry: memoryview, stored: memoryview, name: str
) -> Parameter:
    if kind == STORED:
        offset, length = DATA.unpack_from(entry)
        return Parameter(_part(stored, offset, length), length)
    if kind == REPEATED:
        length, pattern, size = SPLAT.unpack_from(entry)
        if not 0 < size <= len(pattern) or length % size:
            raise ValueError(f"'{name}' repeats {size} bytes in {length}")
        return Parameter(memoryview(pattern[:size]), length)
    raise ValueError(
        f"'{name}' is an entry of kind {kind}, such as one in another file"
    )


def _part(data: memoryview, offset: int, length: int) -> memoryview:
    if offset + length > len(data):
        raise ValueError("it ends too soon")
    return data[offset : offset + length]
