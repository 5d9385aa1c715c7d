"""PoCL 3.0 on CPUs that are newer than its LLVM.

PyPI has no newer PoCL than 3.0, built with LLVM 14. On an x86 CPU that this does not know it takes
`generic` for the CPU's name, which its compiler rejects: `unknown target CPU 'generic'`. A Zen 4 it
takes for a Zen 3, which has no AVX-512, while its library of functions is the one with AVX-512: the
vectors of kernels and library are passed in different registers, and kernels vanish
(`INVALID_KERNEL_NAME`) or end the process. With AVX2 the kernels of a Zen 3 call the `fma` of a
library that is built for a Haswell, and products take ten times as long.

No option of programs and no variable of the environment gives another name
(`POCL_EXTRA_BUILD_FLAGS` may hold what programs may, and no more), so that the name is replaced in
PoCL's record of the device. That is done for the one build whose record is known, where its string
of versions ends with such a name, and the record holds both this name and the triple before it
where they are expected; everything else is left as it is. Memory is read through a file, where a
wrong address is an error.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import pyopencl as cl

PLATFORM = "OpenCL 3.0 PoCL 3.0-rc2  Linux, Release, RELOC, LLVM 14.0.6, "
"""How the version of the platform of the known build begins: that of PyPI."""

TRIPLE = b"x86_64-unknown-linux-gnu\0"
TRIPLE_OFFSET, NAME_OFFSET = 632, 640
"""Where this build's record has the pointers to these texts."""

POINTER = 8

STAND_IN = {
    ("generic", 64): "skylake-avx512",
    ("generic", 32): "haswell",
    ("znver3", 64): "skylake-avx512",
    ("znver3", 32): "haswell",
}
"""CPUs that LLVM 14 knows, by the name that it took and the bytes of the CPU's vectors."""

MEMORY = Path("/proc/self/mem")


@cache
def _stand_in(taken: str, vector_bytes: int) -> ctypes.Array[ctypes.c_char] | None:
    """The name of a CPU instead of the one that was taken, in memory that stays."""
    name = STAND_IN.get((taken, vector_bytes))
    return None if name is None else ctypes.create_string_buffer(name.encode())


def name_cpu(device: cl.Device) -> bool:
    """Gives PoCL's device the name of a CPU that its compiler knows, where it has a wrong one.

    Returns whether it did.
    """
    if not (is_known_build(device) and MEMORY.exists()):
        return False
    from glow.lowering.target.target import host_target

    taken = taken_name(device)
    name, record = _stand_in(taken, host_target().vector_bytes), device.int_ptr
    if name is None:
        return False
    text = f"{taken}\0".encode()
    with MEMORY.open("rb", buffering=0) as memory:
        is_known = (
            text_of(memory, record + TRIPLE_OFFSET, len(TRIPLE)) == TRIPLE
            and text_of(memory, record + NAME_OFFSET, len(text)) == text
        )
    if not is_known:
        return False
    field = ctypes.c_void_p.from_address(record + NAME_OFFSET)
    field.value = ctypes.addressof(name)
    return True


def is_known_build(device: cl.Device) -> bool:
    """Whether a device is of the build of PoCL whose record is known."""
    return device.platform.version.startswith(PLATFORM) and sys.maxsize > 1 << 32


def taken_name(device: cl.Device) -> str:
    """The CPU's name that PoCL took: its device's version ends with triple and CPU."""
    _, _, name = device.version.strip().partition(f"-{TRIPLE[:-1].decode()}-")
    return name


def text_of(memory: BinaryIO, address: int, size: int) -> bytes:
    """The bytes that the pointer at an address points to; none where there is no memory."""
    pointer = int.from_bytes(_bytes_at(memory, address, POINTER), sys.byteorder)
    return _bytes_at(memory, pointer, size)


def _bytes_at(memory: BinaryIO, address: int, size: int) -> bytes:
    """Bytes of this process's memory; none where there is no memory."""
    try:
        memory.seek(address)
        return memory.read(size)
    except (OSError, OverflowError, ValueError):
        return b""
