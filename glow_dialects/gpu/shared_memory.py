"""Warps, and the memory that the threads of a block share, as `gpu` and `nvgpu` know them."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from glow.dialects.tensor_types import element_of

WARP = 32
SHARED = IntegerAttr(3, i64)
"""The memory space of what the threads of a block share."""


def is_shared(type_: Attribute) -> bool:
    """Whether a memref lies in the memory that a block's threads share."""
    return isinstance(type_, MemRefType) and type_.memory_space == SHARED


def element_bits(type_: Attribute) -> int:
    """The size of an element of a vector or memref."""
    bits = getattr(element_of(type_), "bitwidth", None)
    if not isinstance(bits, int):
        raise VerifyException(f"{type_} has no elements of fixed size")
    return bits
