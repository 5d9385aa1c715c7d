"""Separates the weights of an ONNX file from its graph without copying them.

Protocol Buffers copies every weight twice: into the message, and out of it at each
access. For ResNet-50 that takes longer than the whole import. So this reads just enough
of the wire format to cut the bytes of large weights out of a file: the small rest goes
to the parser, the weights stay views of the (memory-mapped) file.

    ModelProto { 7: GraphProto { 5: TensorProto { 8: name, 9: raw_data }, ... }, ... }

Source: protobuf.dev/programming-guides/encoding, onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

LENGTH = 2
"""The wire type of values that start with their length."""

FIXED_SIZES = {1: 8, 5: 4}
"""Bytes by wire type."""

GRAPH, INITIALIZER, NAME, RAW_DATA = 7, 5, 8, 9
"""Field numbers of ModelProto, GraphProto and TensorProto."""

SMALL = 4096
"""Tensors of fewer bytes stay in the message."""


class Field(NamedTuple):
    """A field of a message: its number, and where its tag and its value lie."""

    number: int
    start: int
    value: int
    end: int


def split_weights(data: memoryview) -> tuple[bytes, dict[str, memoryview]]:
    """The model without the bytes of large weights, and those bytes by name.

    Raises ValueError or IndexError where the data is no well-formed model.
    """
    rest: list[bytes | memoryview] = []
    weights: dict[str, memoryview] = {}
    for field in _fields(data, 0, len(data)):
        if field.number == GRAPH:
            graph = _graph_without_weights(data, field, weights)
            rest += [_tag(GRAPH), _varint(len(graph)), graph]
        else:
            rest.append(data[field.start : field.end])
    return b"".join(rest), weights


def _graph_without_weights(
    data: memoryview, graph: Field, weights: dict[str, memoryview]
) -> bytes:
    rest: list[bytes | memoryview] = []
    for field in _fields(data, graph.value, graph.end):
        if field.number == INITIALIZER and field.end - field.value >= SMALL:
            tensor = _tensor_without_weights(data, field, weights)
            rest += [_tag(INITIALIZER), _varint(len(tensor)), tensor]
        else:
            rest.append(data[field.start : field.end])
    return b"".join(rest)


def _tensor_without_weights(
    data: memoryview, tensor: Field, weights: dict[str, memoryview]
) -> bytes | memoryview:
    """The tensor without its raw data, which goes to `weights` under its name."""
    fields = list(_fields(data, tensor.value, tensor.end))
    names = [field for field in fields if field.number == NAME]
    raw = [field for field in fields if field.number == RAW_DATA]
    if len(names) != 1 or len(raw) != 1:
        return data[tensor.value : tensor.end]
    name = str(data[names[0].value : names[0].end], "utf-8")
    if name in weights:
        raise ValueError(f"two weights are named '{name}'")
    weights[name] = data[raw[0].value : raw[0].end]
    return b"".join((data[tensor.value : raw[0].start], data[raw[0].end : tensor.end]))


def _fields(data: memoryview, start: int, end: int) -> Iterator[Field]:
    """The fields of the message in `data[start:end]`."""
    while start < end:
        tag, value = _read_varint(data, start)
        stop = _end_of_value(data, tag & 7, value)
        if tag & 7 == LENGTH:
            _, value = _read_varint(data, value)
        if stop > end:
            raise ValueError("a field is longer than its message")
        yield Field(tag >> 3, start, value, stop)
        start = stop


def _end_of_value(data: memoryview, wire_type: int, position: int) -> int:
    if wire_type in FIXED_SIZES:
        return position + FIXED_SIZES[wire_type]
    number, end = _read_varint(data, position)
    if wire_type == LENGTH:
        return end + number
    if wire_type != 0:
        raise ValueError(f"unknown wire type {wire_type}")
    return end


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    """The integer at a position, and the position after it."""
    result = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
    raise ValueError("an integer is longer than 64 bits")


def _varint(number: int) -> bytes:
    result = bytearray()
    while number >= 0x80:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def _tag(number: int) -> bytes:
    return _varint(number << 3 | LENGTH)
