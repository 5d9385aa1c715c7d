"""What a host and its device process say to each other, and in what form.

Requests and answers go through one connection a slot; arrays lie in the slot's block of
shared memory (`shared_block.py`): the inputs from its start on, then the outputs. A message is

    request: network | threads | length of the text | number      text: shapes of the inputs
    answer:  status            | length of the text | number      text: shapes, or an error

Shapes are sent for networks with open sizes only; both sides know all others. The control
connection carries frames of JSON, where a network's file goes along as a descriptor.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import cast

from glow.dialects.errors import GlowError

REQUEST = struct.Struct("<IIIQ")
ANSWER = struct.Struct("<IIQ")
DONE, FAILED = 0, 1
LONGEST_TEXT = 1 << 20
"""What is longer is no message of ours."""

_LENGTH = struct.Struct("<I")
_PARTS = ("message", "node", "location", "hint")

Frame = Mapping[str, object]


class ConnectionLost(Exception):
    """The other side is gone, or sends what is no message."""


def receive_into(connection: socket.socket, buffer: memoryview) -> None:
    """Fill a buffer; raises ConnectionLost where the connection ends before."""
    start, size = 0, len(buffer)
    while start < size:
        try:
            count = connection.recv_into(buffer[start:] if start else buffer)
        except OSError as error:
            raise ConnectionLost("its connection broke") from error
        if not count:
            raise ConnectionLost("its connection was closed")
        start += count


def receive_text(connection: socket.socket, size: int) -> bytes:
    """The text of a message; raises ConnectionLost for one that cannot be ours."""
    if size > LONGEST_TEXT:
        raise ConnectionLost("it sent what is no answer")
    text = bytearray(size)
    receive_into(connection, memoryview(text))
    return bytes(text)


def send_frame(
    connection: socket.socket, frame: Frame, descriptors: Sequence[int] = ()
) -> None:
    """Send a frame, and descriptors with it; raises ConnectionLost."""
    text = json.dumps(frame).encode()
    data = _LENGTH.pack(len(text)) + text
    try:
        if descriptors:
            sent = socket.send_fds(connection, [data], list(descriptors))
            data = data[sent:]
        connection.sendall(data)
    except OSError as error:
        raise ConnectionLost("its connection broke") from error


def receive_frame(connection: socket.socket) -> tuple[Frame, list[int]]:
    """The next frame, and the descriptors that came with it; raises ConnectionLost."""
    try:
        data, descriptors, _, _ = socket.recv_fds(connection, _LENGTH.size, 1)
    except OSError as error:
        raise ConnectionLost("its connection broke") from error
    try:
        rest = bytearray(_LENGTH.size - len(data))
        receive_into(connection, memoryview(rest))
        (size,) = _LENGTH.unpack(data + rest)
        frame: object = json.loads(receive_text(connection, size))
        if not isinstance(frame, dict):
            raise ConnectionLost("it sent what is no answer")
    except ValueError as error:
        raise ConnectionLost("it sent what is no answer") from error
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return cast(Frame, frame), descriptors


def error_as_frame(error: BaseException) -> Frame:
    """An error to be sent."""
    if isinstance(error, GlowError):
        return {part: getattr(error, part) for part in _PARTS}
    return {"message": f"{type(error).__name__}: {error}"}


def error_of_frame(frame: object) -> GlowError:
    """The error that was sent; raises ConnectionLost where it is none."""
    if not isinstance(frame, dict):
        raise ConnectionLost("it sent what is no answer")
    parts = {
        part: text
        for part, text in cast(dict[str, object], frame).items()
        if part in _PARTS and isinstance(text, str)
    }
    return GlowError(
        parts.get("message", "unknown"),
        node=parts.get("node"),
        location=parts.get("location"),
        hint=parts.get("hint"),
    )
