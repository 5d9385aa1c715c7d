"""Convolutions with transformed weights, as the direct sums that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.reference.blocks import from_blocks, to_blocks
from glow.backends.cpu.reference.epilogue import apply_epilogue
from glow.backends.cpu.reference.integers import convolve_bytes
from glow.dialects import glow
from glow.dialects.attributes import Attributes, int_attr, ints_attr
from glow.dialects.errors import GlowError
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array
from glow.interpreter.convolution import convolve

Unpacking: TypeAlias = Callable[[Attributes, Array, Array], Array]
"""`unpacking(attributes, input, packed)`: the plain weights of nodes that read
transformed ones, of which every packed number mixes several."""


def run_winograd_conv2d(
    op: GlowOp,
    factors: Array,
    image: Array,
    weights: Array,
    bias: Array,
    *epilogue_operands: Array,
    packing: Unpacking | None = None,
) -> Array:
    """`cpu.winograd_conv2d`, as the direct sums that it stands for."""
    attributes, plain = op.attributes_view(), untransformed(op, image, weights, packing)
    window = {"pads": ints_attr(*attributes.ints("pads"))}
    total = convolve(
        Attributes(glow.Conv2dOp.get_irdl_definition(), window),
        from_blocks(image, attributes.int("input_channels")),
        plain,
        bias.reshape(-1)[: plain.shape[0]],
        attributes.int("group"),
    )
    largest = largest_of_squares(total, attributes.int("pool"))
    return apply_epilogue(op, to_blocks(largest, bias.shape[1]), epilogue_operands)


def untransformed(
    op: GlowOp, image: Array, weights: Array, packing: Unpacking | None
) -> Array:
    """The plain weights of a node with transformed ones."""
    if packing is None:
        raise GlowError(
            f"{op.name} has transformed weights",
            hint="interpreting it needs the backend's packing",
        )
    return packing(op.attributes_view(), image, weights)


def run_int8_winograd_conv2d(
    op: GlowOp,
    image: Array,
    weights: Array,
    bias: Array,
    *epilogue_operands: Array,
    packing: Unpacking | None = None,
) -> Array:
    """`cpu.int8_winograd_conv2d`, as the direct sums that it stands for."""
    attributes, plain = op.attributes_view(), untransformed(op, image, weights, packing)
    window = {
        "pads": ints_attr(*attributes.ints("pads")),
        "zero_point": int_attr(attributes.int("zero_point")),
    }
    total = convolve_bytes(
        Attributes(cpu.Int8Conv2dOp.get_irdl_definition(), window),
        from_blocks(image, attributes.int("input_channels")),
        plain,
        bias.reshape(-1)[: plain.shape[0]],
        attributes.int("group"),
    )
    return apply_epilogue(op, to_blocks(total, bias.shape[1]), epilogue_operands)


def largest_of_squares(planes: Array, size: int) -> Array:
    """The largest element of each `size` x `size` square of [N, C, H, W]."""
    *outer, height, width = planes.shape
    squares = planes.reshape(*outer, height // size, size, width // size, size)
    return squares.max((3, 5))
