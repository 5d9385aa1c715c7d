"""Finds local response normalization in the division that ends it.

  x / (offset + factor * s) ^ beta    with s the sums of x * x over windows of channels
becomes
  glow.local_response_norm %x size 5 alpha ... beta ... offset ...
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.frontends.stablehlo.hlo_builder import HloBuilder


def local_response_norm(builder: HloBuilder) -> SSAValue | None:
    """The node that a quotient is, if it is one."""
    value, divisor = builder.op.operands
    if len(shape_of(value)) != 4:
        return None
    power = _with_number(builder, divisor, glow.PowOp)
    base = power and _with_number(builder, power[0], glow.AddOp)
    scaled = base and _with_number(builder, base[0], glow.MulOp)
    if power is None or base is None or scaled is None:
        return None
    size = _channels_summed(builder, scaled[0], value)
    if size is None:
        return None
    return builder.node(
        glow.LocalResponseNormOp,
        value,
        size=size,
        alpha=scaled[1] * size,
        beta=power[1],
        offset=base[1],
    )


def _with_number(
    builder: HloBuilder, value: SSAValue, node: type[NodeOp]
) -> tuple[SSAValue, float] | None:
    """The other operand of a node that has a number as its second."""
    owner = value.owner
    if not isinstance(owner, node):
        return None
    array = builder.known(owner.operands[1])
    if array is None or not array.size or (array != array.flat[0]).any():
        return None
    return owner.operands[0], float(array.flat[0].item())


def _channels_summed(
    builder: HloBuilder, total: SSAValue, value: SSAValue
) -> int | None:
    """How many channels of x * x each sum has, where its window is that of the node.

    The window came here as an average pool times its size, along an axis that was moved last.
    """
    scaled = _with_number(builder, _unmoved(total), glow.MulOp)
    pool = scaled[0].owner if scaled else None
    if not isinstance(pool, glow.AvgPool2dOp) or scaled is None:
        return None
    size, view = int(scaled[1]), pool.attributes_view()
    before, after = (size - 1) // 2, size // 2
    is_window = (
        view.ints("kernel") == (1, size)
        and view.ints("strides") == (1, 1)
        and view.ints("dilations") == (1, 1)
        and view.ints("pads") == (0, before, 0, after)
    )
    moved = pool.input.owner
    while isinstance(moved, glow.ReshapeOp):
        moved = moved.input.owner
    if not is_window or not isinstance(moved, glow.TransposeOp):
        return None
    squares = moved.input.owner
    is_square = isinstance(squares, glow.MulOp) and set(squares.operands) == {value}
    order = moved.attributes_view().ints("permutation")
    return size if is_square and order[-1] == 1 else None


def _unmoved(value: SSAValue) -> SSAValue:
    """A value before it was reshaped and transposed."""
    while isinstance(owner := value.owner, glow.ReshapeOp | glow.TransposeOp):
        value = owner.input
    return value
