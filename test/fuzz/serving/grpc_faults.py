"""Clients of gRPC that do wrong, in frames of HTTP/2 that they write themselves (RFC 9113)."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_HEADERS = 4
METHOD = "/inference.GRPCInferenceService/ModelInfer"
GIGABYTE = 1 << 30
WINDOW = 1 << 16
"""What may be sent before the server asks for more."""


def frame(kind, content=b"", flags=0, stream=0):
    """A frame."""
    return (
        struct.pack(">I", len(content))[1:]
        + struct.pack(">BBI", kind, flags, stream)
        + content
    )


def headers():
    """The headers of a call, each a literal without indexing (RFC 7541, 6.2.2)."""
    fields = {":method": "POST", ":scheme": "http", ":path": METHOD, ":authority": "t"}
    fields |= {"content-type": "application/grpc", "te": "trailers"}
    text = b""
    for name, value in fields.items():
        text += b"\0" + bytes([len(name)]) + name.encode()
        text += bytes([len(value)]) + value.encode()
    return frame(HEADERS, text, END_HEADERS, stream=1)


def message(size, sent):
    """The beginning of a message that is announced with a size."""
    content = struct.pack(">BI", 0, size) + bytes(sent)
    pieces = [content[start : start + 16384] for start in range(0, len(content), 16384)]
    return b"".join(frame(DATA, piece, stream=1) for piece in pieces)


class GrpcFaults:
    """What is done to a server of gRPC."""

    def __init__(self, address):
        self.address = address

    def connect(self):
        """A connection on which nothing was said."""
        return socket.create_connection(self.address, timeout=20)

    def idle(self, stack, count):
        """Connect many times, and begin calls now and then."""
        for index in range(count):
            client = stack.enter_context(self.connect())
            if index % 4 == 1:
                client.sendall(PREFACE + frame(SETTINGS))
            if index % 4 == 2:
                client.sendall(PREFACE + frame(SETTINGS) + headers())

    def slow(self, stack, count):
        """Begin messages of many bytes, and send a few of them."""
        start = PREFACE + frame(SETTINGS) + headers() + message(200 << 20, WINDOW // 2)
        for _ in range(count):
            stack.enter_context(self.connect()).sendall(start)

    def announced(self):
        """Announce a gigabyte; the answer is RESOURCE_EXHAUSTED, before it is sent."""
        with self.connect() as client:
            client.sendall(
                PREFACE + frame(SETTINGS) + headers() + message(GIGABYTE, 64)
            )
            found = b""
            while piece := client.recv(4096):
                found += piece
                if b"larger than max" in found:
                    return True
        return False

    def garbage(self, random):
        """Send what is no HTTP/2, or frames of nothing."""
        sent = random.randbytes(random.randrange(1, 4000))
        start = random.choice([b"", PREFACE, PREFACE + frame(SETTINGS)])
        with self.connect() as client, suppress(ConnectionError):
            client.sendall(start + sent)
            client.shutdown(socket.SHUT_WR)
            return b"Traceback" not in client.recv(1 << 16)
        return True
