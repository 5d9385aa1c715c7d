"""Unsigned bytes as signed ones, 128 lower: their highest bits flipped.

    %s = arith.xori %u, dense<-128> : vector<8x4xi8>
    %w = arith.extsi %s : vector<8x4xi8> to vector<8x4xi32>

A contraction flips the bits in the registers that it loads, so that the operation by itself is
lowered for what else extends its result.
"""

from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, i8
from xdsl.ir import Block, Operation

from glow.dialects import arith
from glow.dialects.attributes import is_splat

SIGN = -128
"""The highest bit of a byte, which makes an unsigned one signed and 128 lower."""


def is_lazy_flip(op: Operation | Block) -> bool:
    """Whether an op flips the highest bits of bytes, for what extends them and nobody else."""
    if not isinstance(op, arith.XOrIOp) or not isinstance(op.rhs.owner, Operation):
        return False
    value = op.rhs.owner.properties.get("value")
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return False
    dense = cast("DenseIntOrFPElementsAttr[IntegerType]", value)
    if dense.get_element_type() != i8 or not is_splat(dense):
        return False
    return dense.get_values()[0] == SIGN and all(
        isinstance(use.operation, arith.ExtSIOp) for use in op.result.uses
    )
