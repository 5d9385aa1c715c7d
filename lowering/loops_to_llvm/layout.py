"""How types of the loops level are laid out in memory and in registers.

A vector `AxBxWxf32` is `A*B` rows of `W` lanes. A row is one LLVM vector where `W` is a
power of two (LLVM splits it into machine registers) and else a few of them, largest
first: 24 lanes are 16 + 8 on AVX-512. The cut depends on the width alone, so that an
f32 row and the i8 row that it is converted to fall into the same pieces. An i1 is one
byte in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects.bounded_cache import bounded_cache, identity_cache
from glow.dialects.llvm import X86_AMX
from glow.dialects.x86.amx import TileType
from glow.lowering.type_guards import is_integer, is_memref, is_vector

POINTER = LLVMPointerType()


def element_of(type_: Attribute) -> Attribute:
    """Returns the element type of a vector, or the scalar type itself."""
    if is_vector(type_):
        return type_.element_type
    return type_


@identity_cache
def lanes_of(type_: Attribute) -> int:
    """Returns the number of lanes of a register, 0 for a scalar."""
    return type_.get_shape()[0] if is_vector(type_) else 0


def integer_width(type_: Attribute) -> int:
    """Returns the width of an integer type, 0 for any other type."""
    if not is_integer(type_):
        return 0
    return type_.width.data


@identity_cache
def llvm_element(type_: Attribute) -> Attribute:
    """Returns the LLVM type of a scalar: index is i64, signed integers are signless."""
    if isinstance(type_, IndexType):
        return i64
    if is_integer(type_):
        return IntegerType(integer_width(type_))
    if isinstance(type_, AnyFloat):
        return type_
    raise DiagnosticException(f"loops-to-llvm: no LLVM type for element type {type_}")


@identity_cache
def element_bytes(type_: Attribute) -> int:
    """Returns the size in memory of an element, which is its alignment too."""
    if isinstance(type_, IndexType):
        return 8
    if is_integer(type_):
        return max(1, integer_width(type_) // 8)
    if isinstance(type_, AnyFloat):
        return type_.bitwidth // 8
    raise DiagnosticException(f"loops-to-llvm: no size for element type {type_}")


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides, in elements, of a contiguous array."""
    strides: list[int] = []
    size = 1
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))


@identity_cache
def byte_strides(type_: MemRefType) -> tuple[int, ...]:
    """Returns the strides of a memref in bytes; raises for dynamic strides."""
    size = element_bytes(type_.element_type)
    if not isinstance(type_.layout, StridedLayoutAttr):
        return tuple(size * stride for stride in row_major(type_.get_shape()))
    strides = type_.layout.get_strides()
    if any(stride is None for stride in strides):
        raise DiagnosticException(f"loops-to-llvm: {type_} has a dynamic stride")
    return tuple(size * stride for stride in strides if stride is not None)


@bounded_cache
def chunks_of(
    width: int, lanes: int, widest: int | None = None
) -> tuple[tuple[int, int], ...]:
    """Returns (first lane, width) of the registers of a row, none wider than `widest` if given."""
    if width & (width - 1) == 0 and (widest is None or width <= widest):
        return ((0, width),)
    chunks = [(first, lanes) for first in range(0, width - lanes + 1, lanes)]
    first, piece = len(chunks) * lanes, lanes // 2
    while first < width:
        if width - first >= piece:
            chunks.append((first, piece))
            first += piece
        piece //= 2
    return tuple(chunks)


class RegisterLayout(NamedTuple):
    """The registers of a scalar (one row without lanes) or of an n-D vector."""

    shape: tuple[int, ...]
    """The extents of all dimensions but the last."""
    width: int
    """Lanes of a row; 0 for a scalar."""
    chunks: tuple[tuple[int, int], ...]
    element: Attribute
    element_bytes: int
    row_types: tuple[Attribute, ...]
    """The LLVM types of the registers of one row."""
    types: tuple[Attribute, ...]
    """The LLVM types of all registers, row by row."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return prod(self.shape)


@bounded_cache
def layout_of(
    type_: Attribute, lanes: int, index: IntegerType = i64, widest: int | None = None
) -> RegisterLayout:
    """Returns the registers of a type, of at most `widest` lanes if given.

    `lanes` is the target's for 32-bit elements. An `index` of the target stands in the first
    bytes of eight where it is in memory, as little-endian machines have it.
    """
    if is_memref(type_):
        return RegisterLayout((), 0, ((0, 0),), POINTER, 8, (POINTER,), (POINTER,))
    if isinstance(type_, TileType):
        return RegisterLayout((), 0, ((0, 0),), X86_AMX, 1, (X86_AMX,), (X86_AMX,))
    if not is_vector(type_):
        is_index = isinstance(type_, IndexType)
        element = index if is_index else llvm_element(type_)
        size = element_bytes(type_)
        return RegisterLayout((), 0, ((0, 0),), element, size, (element,), (element,))
    shape = type_.get_shape() or (1,)
    element = llvm_element(element_of(type_))
    if isinstance(element_of(type_), IndexType) and index != i64:
        raise DiagnosticException(f"loops-to-llvm: {type_} needs indices of 64 bits")
    chunks = chunks_of(shape[-1], lanes, widest)
    row = tuple(register_type(element, width) for _, width in chunks)
    return RegisterLayout(
        shape[:-1],
        shape[-1],
        chunks,
        element,
        element_bytes(element_of(type_)),
        row,
        row * prod(shape[:-1]),
    )


def register_type(element: Attribute, width: int) -> Attribute:
    """Returns the LLVM type of a register; width 0 is the scalar itself."""
    known = _register_types(element)
    found = known.get(width)
    if found is None:
        found = known[width] = VectorType(element, [width]) if width else element
    return found


@identity_cache
def _register_types(element: Attribute) -> dict[int, Attribute]:
    """Those that are known, by width."""
    return {}


@identity_cache
def boolean_like(type_: Attribute) -> Attribute:
    """Returns i1, or the vector of i1 with the lanes of a register type."""
    return register_type(i1, lanes_of(type_))


def row_offsets(layout: RegisterLayout, strides: Sequence[int]) -> list[int]:
    """Returns the byte offset of every row."""
    ranges = [
        [k * stride for k in range(extent)]
        for extent, stride in zip(layout.shape, strides, strict=False)
    ]
    return [sum(offsets) for offsets in product(*ranges)]
