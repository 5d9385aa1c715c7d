"""PoCL on CPUs that are newer than its LLVM.

PoCL 3.0, which PyPI has, is built with LLVM 14. On a CPU that this does not know by name it asks
its compiler for the CPU `generic`, which x86 has not, and rejects every program. The name is a
field of the device, which PoCL shows to nobody; here it is found and replaced by that of
a CPU with the same vectors. Memory is read through a file, where a wrong address is an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import pyopencl as cl

UNKNOWN = b"generic\0"
FIELD, DEVICE_BYTES = 8, 4096
PAGE = 4096

STAND_IN = {64: "skylake-avx512", 32: "haswell"}
"""CPUs that LLVM 14 knows, by the bytes of their vectors."""

MEMORY = Path("/proc/self/mem")


@cache
def _name(vector_bytes: int) -> ctypes.Array[ctypes.c_char] | None:
    """The name of a CPU, in memory that stays."""
    name = STAND_IN.get(vector_bytes)
    return None if name is None else ctypes.create_string_buffer(name.encode())


def name_cpu(device: cl.Device) -> None:
    """Gives PoCL's device the name of a CPU that its compiler knows, where it has none."""
    from glow.lowering.target.target import host_target

    if "Portable Computing Language" not in device.platform.name or not MEMORY.exists():
        return
    target = host_target()
    name = _name(target.vector_bytes) if target.triple.startswith("x86_64") else None
    if name is None:
        return
    with MEMORY.open("rb", buffering=0) as memory:
        for address in _fields_with(memory, device.int_ptr, UNKNOWN):
            ctypes.c_void_p.from_address(address).value = ctypes.addressof(name)


def _fields_with(memory: BinaryIO, start: int, text: bytes) -> Iterator[int]:
    """The addresses of the pointers to a text among the fields of an object."""
    for address in range(start, start + DEVICE_BYTES, FIELD):
        pointer = int.from_bytes(_bytes_at(memory, address, FIELD), "little")
        if pointer > PAGE and _bytes_at(memory, pointer, len(text)) == text:
            yield address


def _bytes_at(memory: BinaryIO, address: int, size: int) -> bytes:
    """Bytes of this process's memory; none where there is no memory."""
    try:
        memory.seek(address)
        return memory.read(size)
    except (OSError, OverflowError, ValueError):
        return b""
