"""Our linker: calls, constants, data, what is missing, and what is left to LLVM's."""

from __future__ import annotations

import ctypes
import gc
import math

import pytest

import glow.runtime.linking.library as library
from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target, host_target
from glow.runtime.linking.elf import ObjectFile, UnsupportedObjectError
from glow.runtime.linking.image import Image
from glow.runtime.linking.library import Library, process_address
from glow.runtime.native_code import LinkedLibrary, compile_object

CALLER = """
declare double @twice(double)
declare double @cos(double)
define double @f(double %x) {
  %y = call double @twice(double %x)
  %z = call double @cos(double %y)
  %sum = fadd double %z, 0.625
  ret double %sum
}
"""
CALLEE = """
define double @twice(double %x) {
  %y = fmul double %x, 2.0
  ret double %y
}
"""
COUNTER = """
@count = private global i64 40, align 64
@zero = private global i64 0, align 8
define i64 @next() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  store i64 %new, ptr @zero
  %result = load i64, ptr @zero
  ret i64 %result
}
"""
TABLE = """
@names = private constant [2 x ptr] [ptr @first, ptr @second]
define i64 @first() { ret i64 11 }
define i64 @second() { ret i64 22 }
define i64 @choose(i64 %index) {
  %entry = getelementptr [2 x ptr], ptr @names, i64 0, i64 %index
  %function = load ptr, ptr %entry
  %result = call i64 %function()
  ret i64 %result
}
"""
ADDRESS = """
declare double @cos(double)
define ptr @g() { ret ptr @cos }
"""
OUTSIDE = """
@elsewhere = external global i64
define i64 @h() {
  %value = load i64, ptr @elsewhere
  ret i64 %value
}
"""
THREAD_LOCAL = """
@own = thread_local global i64 7
define ptr @own_address() { ret ptr @own }
"""

needs_our_linker = pytest.mark.skipif(
    not host_target().triple.startswith("x86_64"), reason="links x86-64 only"
)


def objects(*texts: str) -> list[bytes]:
    """Returns the objects of LLVM IR texts."""
    return [compile_object(text, host_target()) for text in texts]


def resolve(name: str) -> int | None:
    """The functions of the C library."""
    return process_address(name)


@needs_our_linker
def test_calls_between_objects_and_outside() -> None:
    image = Image(objects(CALLER, CALLEE), resolve)
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(image.address("f"))
    assert call(0.25) == math.cos(0.5) + 0.625


@needs_our_linker
def test_data_can_be_written() -> None:
    image = Image(objects(COUNTER), resolve)
    call = ctypes.CFUNCTYPE(ctypes.c_int64)(image.address("next"))
    assert [call(), call()] == [41, 42]


@needs_our_linker
def test_images_have_data_of_their_own() -> None:
    images = [Image(objects(COUNTER), resolve) for _ in range(2)]
    calls = [
        ctypes.CFUNCTYPE(ctypes.c_int64)(image.address("next")) for image in images
    ]
    assert [calls[0](), calls[0](), calls[1]()] == [41, 42, 41]


@needs_our_linker
@pytest.mark.parametrize("index", [0, 1])
def test_addresses_in_constants(index: int) -> None:
    image = Image(objects(TABLE), resolve)
    choose = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(image.address("choose"))
    assert choose(index) == 11 * (index + 1)


@needs_our_linker
def test_address_of_a_function_outside() -> None:
    image = Image(objects(ADDRESS), resolve)
    call = ctypes.CFUNCTYPE(ctypes.c_void_p)(image.address("g"))
    assert call() == process_address("cos")


@needs_our_linker
def test_code_is_aligned() -> None:
    image = Image(objects(CALLEE, TABLE, CALLER), resolve)
    for name in ("twice", "first", "f"):
        assert image.address(name) % 64 == 0


@needs_our_linker
def test_missing_function() -> None:
    with pytest.raises(LookupError, match="twice"):
        Image(objects(CALLER), resolve)


@needs_our_linker
@pytest.mark.parametrize("text", [THREAD_LOCAL])
def test_what_is_left_to_llvm(text: str) -> None:
    with pytest.raises(UnsupportedObjectError):
        Image(objects(text), resolve)


@pytest.mark.parametrize("target", ["neon"])
def test_other_machines_are_left_to_llvm(target: str) -> None:
    image = compile_object(CALLEE, Target.from_string(target))
    with pytest.raises(UnsupportedObjectError):
        ObjectFile(image)
    with pytest.raises(UnsupportedObjectError):
        ObjectFile(b"MZ" + image[2:])


def test_imports_come_first() -> None:
    twice = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x + 1)
    address = ctypes.cast(twice, ctypes.c_void_p).value
    assert address
    linked = Library(objects(CALLER), ["f"], {"twice": address})
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(linked.address("f"))
    assert call(0.5) == math.cos(1.5) + 0.625


def test_a_variable_outside() -> None:
    value = ctypes.c_int64(77)
    linked = Library(objects(OUTSIDE), ["h"], {"elsewhere": ctypes.addressof(value)})
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(linked.address("h"))() == 77


def test_code_lives_as_long_as_its_library() -> None:
    linked = Library(objects(CALLEE), ["twice"])
    gc.collect()
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(linked.address("twice"))
    assert call(1.5) == 3.0


def test_llvm_links_what_ours_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Image:
        raise UnsupportedObjectError("none of it")

    monkeypatch.setattr(library, "Image", refuse)
    linked = library.link(objects(CALLER, CALLEE), ["f"], {})
    assert isinstance(linked, LinkedLibrary)
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(linked.address("f"))
    assert call(0.25) == math.cos(0.5) + 0.625
    with pytest.raises(GlowError, match="cannot be linked"):
        library.link(objects(CALLER), ["f"], {})
