"""PoCL's record of a device is changed where all of it is as expected, and nowhere else."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from glow.backends.opencl import pocl
from glow.lowering.target import target

VERSION = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic"
ZEN3 = VERSION.replace("generic", "znver3")
UNKNOWN = b"generic\0"
TEXTS = (pocl.TRIPLE, UNKNOWN)

pytestmark = pytest.mark.skipif(
    not pocl.MEMORY.exists(), reason="memory is read through /proc/self/mem"
)


@pytest.fixture(autouse=True)
def _vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "host_target", lambda: SimpleNamespace(vector_bytes=32))


class Record:
    """A device whose record points to texts."""

    def __init__(self, texts: Sequence[bytes | None]) -> None:
        self.texts = [text and ctypes.create_string_buffer(text) for text in texts]
        self.memory = ctypes.create_string_buffer(pocl.NAME_OFFSET + 4 * pocl.POINTER)
        for offset, text in zip(
            (pocl.TRIPLE_OFFSET, pocl.NAME_OFFSET), self.texts, strict=True
        ):
            self.field(offset).value = text and ctypes.addressof(text)

    def field(self, offset: int) -> ctypes.c_void_p:
        return ctypes.c_void_p.from_address(ctypes.addressof(self.memory) + offset)

    def named(self, platform: str = pocl.PLATFORM, version: str = VERSION) -> bool:
        address = ctypes.addressof(self.memory)
        described = SimpleNamespace(version=platform)
        return pocl.name_cpu(
            SimpleNamespace(platform=described, version=version, int_ptr=address)
        )


def test_an_unknown_cpu_gets_a_name_once() -> None:
    record = Record(TEXTS)
    assert record.named()
    assert ctypes.string_at(record.field(pocl.NAME_OFFSET).value) == b"haswell"
    assert ctypes.string_at(record.field(pocl.TRIPLE_OFFSET).value) == TEXTS[0][:-1]
    assert not record.named()


@pytest.mark.parametrize(("size", "cpu"), [(64, b"skylake-avx512"), (32, b"haswell")])
def test_a_zen_gets_the_name_of_its_library(
    size: int, cpu: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = SimpleNamespace(vector_bytes=size)
    monkeypatch.setattr(target, "host_target", lambda: wide)
    record = Record((pocl.TRIPLE, b"znver3\0"))
    assert record.named(version=ZEN3)
    name = ctypes.string_at(record.field(pocl.NAME_OFFSET).value)
    assert name == cpu


@pytest.mark.parametrize(
    ("texts", "platform", "version"),
    [
        (TEXTS, "OpenCL 3.0 PoCL 4.0  Linux, Release, RELOC, LLVM 14.0.6", VERSION),
        (TEXTS, "OpenCL 3.0 LINUX", VERSION),
        (TEXTS, pocl.PLATFORM, ZEN3),
        ((pocl.TRIPLE, b"znver2\0"), pocl.PLATFORM, ZEN3.replace("znver3", "znver2")),
        (TEXTS[::-1], pocl.PLATFORM, VERSION),
        ((pocl.TRIPLE, b"znver3\0"), pocl.PLATFORM, VERSION),
        ((b"i686-unknown\0", UNKNOWN), pocl.PLATFORM, VERSION),
        ((None, UNKNOWN), pocl.PLATFORM, VERSION),
        ((pocl.TRIPLE, None), pocl.PLATFORM, VERSION),
    ],
)
def test_what_is_not_as_expected_is_left(
    texts: Sequence[bytes | None], platform: str, version: str
) -> None:
    record = Record(texts)
    before = record.memory.raw
    assert not record.named(platform, version)
    assert record.memory.raw == before
