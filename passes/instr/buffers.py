"""Facts about buffers that the instruction passes share: roots and sizes."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute, SSAValue

from glow.dialects import instr
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of

ALIGNMENT = 64
"""Buffers start on cache lines, which are also the widest vectors."""


def root_of(buffer: SSAValue) -> SSAValue:
    """The allocation, argument or weight behind a view."""
    owner = buffer.owner
    while isinstance(owner, instr.TensorviewOp | instr.DynamicViewOp):
        buffer = owner.source
        owner = buffer.owner
    return buffer


def item_size(buffer: SSAValue | Attribute) -> int:
    """The bytes of an element."""
    return dtype_of(element_of(buffer)).itemsize


def byte_size(buffer: SSAValue | Attribute) -> int:
    """The bytes of a buffer, not rounded."""
    return prod(shape_of(buffer)) * item_size(buffer)


def aligned(size: int) -> int:
    """The size rounded up to the alignment, at least one line."""
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT
