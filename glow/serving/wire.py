"""Protocol buffers around large tensors, without a copy of their bytes.

A message object has every field of type `bytes` as a `bytes` object of its own. Here such a
field of the outermost message is taken out of the text before it is parsed, as views of it,
and put behind the text of the other fields; the order of fields does not matter.
https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5
_SIZES = {FIXED64: 8, FIXED32: 4}

CONTINUES = 0x80
"""The bit of a varint's byte after which another follows."""
VARINT_BYTES = 10
"""The most that a varint of 64 bits has."""


def take_field(data: bytes, field: int) -> tuple[bytes, list[memoryview]]:
    """The message without a field of bytes, and the field's values as views, in order.

    Raises ValueError where the data is no message.
    """
    wanted = field << 3 | LENGTH_DELIMITED
    view, place = memoryview(data), 0
    values: list[memoryview] = []
    others: list[memoryview] = []
    while place < len(data):
        tag, start = data[place], place + 1
        if tag >= CONTINUES:
            tag, start = _varint(data, place)
        if (
            tag & 7 == LENGTH_DELIMITED
            and start < len(data)
            and data[start] < CONTINUES
        ):
            size, start = data[start], start + 1
        else:
            size, start = _content(data, start, tag & 7)
        end = start + size
        if end > len(data):
            raise ValueError("the message ends within a field")
        if tag == wanted:
            values.append(view[start:end])
        else:
            others.append(view[place:end])
        place = end
    return (b"".join(others) if values else data), values


def with_field(data: bytes, field: int, values: Iterable[memoryview]) -> bytes:
    """The message with values of a field of bytes behind it."""
    tag = _varint_bytes(field << 3 | LENGTH_DELIMITED)
    pieces: list[bytes | memoryview] = [data]
    for value in values:
        pieces += [tag, _varint_bytes(value.nbytes), value]
    return b"".join(pieces)


def _content(data: Sequence[int], place: int, wire_type: int) -> tuple[int, int]:
    """The size of a field's content, and where it begins."""
    if wire_type == LENGTH_DELIMITED:
        return _varint(data, place)
    if wire_type == VARINT:
        return _varint(data, place)[1] - place, place
    if wire_type in _SIZES:
        return _SIZES[wire_type], place
    raise ValueError(f"the message has a field of the unknown wire type {wire_type}")


def _varint(data: Sequence[int], place: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    number = 0
    for index, byte in enumerate(data[place : place + VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * index
        if byte < CONTINUES:
            return number, place + index + 1
    raise ValueError("the message has a number without an end")


def _varint_bytes(number: int) -> bytes:
    text = bytearray()
    while number >= CONTINUES:
        text.append(number & 0x7F | CONTINUES)
        number >>= 7
    text.append(number)
    return bytes(text)
