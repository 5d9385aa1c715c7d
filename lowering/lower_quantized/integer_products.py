"""Int8 products as sums in i32, with constant weights or dynamic operands.

  %y = glow.conv2d %x, %w, %b : tensor<...x!quant.uniform<u8:f32, 0.1:3>>
becomes
  %0 = glow.conv2d_integer %x, %w, %x_zero_point, %w_zero_point : tensor<...xi32>
  %1 = glow.add %0, %b : tensor<...xi32>
and what requantizes %1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.quant import Quantization, quantization_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import constant_value, stored_value
from glow.interpreter.arrays import Array
from glow.lowering.lower_quantized.byte_weights import MATRIX, ByteWeights, Product
from glow.lowering.lower_quantized.int16_halves import (
    INT16,
    Half,
    int8_halves,
    joined,
    numbered,
)
from glow.lowering.lower_quantized.parts import BYTE, Parts
from glow.lowering.lower_quantized.products import ACTIVATION, finish_product
from glow.passes.rewriting.node_builder import attributes_of, name_of

MAX_DEPTH = 1 << 15
"""A panel of 16 columns of a deeper matrix would not fit on the stack."""


def byte_weights(op: NodeOp) -> ByteWeights | None:
    """The weights less their zero points, if the product is one of bytes."""
    data = quantization_of(op.inputs[0].type)
    if data is None or data.axis is not None or data.bits > INT16:
        return None
    if data.signed and data.bits <= BYTE:
        return None
    if any(stored_value(bias) is None for bias in op.inputs[2:]):
        return None
    weights, stored = op.inputs[1], stored_value(op.inputs[1])
    of_weights = quantization_of(weights.type)
    if stored is None or not stored.size or of_weights is None:
        return None
    points = np.array(of_weights.zero_points)
    return ByteWeights.of(stored, points, 1 if stored.ndim == MATRIX else 0)


def integer_product(
    node: type[NodeOp], op: Operation, parts: Parts, channel_axis: int, rank: int
) -> bool:
    """Replace a product by an int8 matmul, or by two of the halves of int16 activations.

    Returns whether it can be.
    """
    assert isinstance(op, NodeOp)
    weights = byte_weights(op)
    if weights is None:
        return False
    attributes = attributes_of(op)
    for name in ACTIVATION:
        attributes.pop(name, None)
    halves = int8_halves(parts, op.inputs[0])
    constant = parts.constant(weights.stored, name_of(op.inputs[1]))
    totals = [
        Product(node, *half, weights, attributes).sums(parts, constant)
        for half in halves
    ]
    total = joined(parts, numbered(totals))
    element = element_of(total)
    for bias in op.inputs[2:]:
        array = stored_value(bias)
        assert array is not None
        extents = [1] * rank
        extents[channel_axis] = array.size
        addend = array.astype(dtype_of(element)).reshape(extents)
        total = parts.node(glow.AddOp, total, parts.constant(addend, name_of(bias)))
    finish_product(op, parts, total, channel_axis)
    return True


def convolution(op: Operation, parts: Parts) -> bool:
    """`glow.conv2d`."""
    return integer_product(glow.Conv2dIntegerOp, op, parts, 1, 4)


def matrix_product(op: Operation, parts: Parts) -> bool:
    """`glow.fully_connected`, and `glow.matmul` with a matrix."""
    assert isinstance(op, NodeOp)
    transposed = isinstance(op, glow.MatmulOp) and (
        op.transpose_lhs is not None or op.transpose_rhs is not None
    )
    rank = len(shape_of(op.results[0]))
    if transposed or len(shape_of(op.inputs[1])) != 2 or rank < 2:
        return computed_product(op, parts)
    return integer_product(glow.MatmulIntegerOp, op, parts, rank - 1, rank) or (
        computed_product(op, parts)
    )


def computed_product(op: NodeOp, parts: Parts) -> bool:
    """`glow.matmul` of two int8 or int16 tensors, of which none need be constant."""
    data = [quantization_of(value.type) for value in op.inputs[:2]]
    if not isinstance(op, glow.MatmulOp) or not all(map(has_int8_halves, data)):
        return False
    swaps = (op.transpose_lhs is not None, op.transpose_rhs is not None)
    factors = list[Sequence[Half]]()
    for value, swapped in zip(op.inputs, swaps, strict=True):
        axes = list(range(len(shape_of(value))))
        if swapped:
            axes[-2:] = axes[:-3:-1]
        halves = int8_halves(parts, value)
        factors.append([(parts.transpose(one, axes), point) for one, point in halves])
    if not is_multiplied(*(shape_of(halves[0][0]) for halves in factors)):
        return False
    lefts, rights = map(numbered, factors)
    terms = [
        (i + k, parts.node(glow.MatmulIntegerOp, left[0], right[0], left[1], right[1]))
        for i, left in lefts
        for k, right in rights
    ]
    finish_product(op, parts, joined(parts, terms), len(shape_of(op.result)) - 1)
    return True


def has_int8_halves(data: Quantization | None) -> bool:
    """Whether elements are int8 or int16, of one scale."""
    return data is not None and data.bits in (BYTE, INT16) and data.axis is None


def is_multiplied(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> bool:
    """Whether the kernel of computed bytes takes matrices of those shapes."""
    return 0 < lhs[-1] <= MAX_DEPTH and 0 not in (*lhs, *rhs)


def has_byte_kernel(op: glow.MatmulIntegerOp) -> bool:
    """Whether the kernel of computed bytes takes a product."""
    points = (op.lhs_zero_point, op.rhs_zero_point)
    scalars = all(point is None or prod(shape_of(point)) == 1 for point in points)
    return scalars and is_multiplied(shape_of(op.lhs), shape_of(op.rhs))


@dataclass(frozen=True)
class Int8Factors:
    """What kernels of bytes are made of beside the input, which is unsigned."""

    weights: Array
    """Signed bytes around zero."""
    zero_point: int
    """Of the input."""


IntegerProduct: TypeAlias = glow.MatmulIntegerOp | glow.Conv2dIntegerOp


def int8_factors(op: IntegerProduct) -> Int8Factors | None:
    """The constants of a product of integers; None where it has others, or computed ones."""
    weights, point = signed_weights(op), zero_points(op)[0]
    of_input = np.zeros(1, np.uint8) if point is None else constant_value(point)
    if weights is None or of_input is None or of_input.size != 1:
        return None
    return Int8Factors(weights, int(of_input.reshape(())))


def signed_weights(op: IntegerProduct) -> Array | None:
    """The weights of a product of unsigned bytes, if they are constant signed ones around zero."""
    weights, point = constant_value(op.inputs[1]), zero_points(op)[1]
    around = np.zeros(1, np.int8) if point is None else constant_value(point)
    if weights is None or around is None or around.any() or not weights.size:
        return None
    is_unsigned = dtype_of(element_of(op.inputs[0])) == np.uint8
    return weights if is_unsigned and weights.dtype == np.int8 else None


def zero_points(op: IntegerProduct) -> tuple[SSAValue | None, SSAValue | None]:
    """Those of the factors; what is left out is 0."""
    if isinstance(op, glow.MatmulIntegerOp):
        return op.lhs_zero_point, op.rhs_zero_point
    return op.input_zero_point, op.weights_zero_point


def integer_convolution(op: Operation, parts: Parts) -> bool:
    """`glow.conv2d_integer`, which stays as it is where a kernel takes it.

    Weights that are no signed bytes get there by a shift. A zero point that is computed is taken
    off the sums, as that many times the sum of each channel's weights, and stands in the padding:

        %0 = glow.conv2d_integer %x, %w, %z pads [1, 1, 1, 1]
      becomes
        %1 = glow.select %inside, (glow.pad %x), %z
        %0 = glow.conv2d_integer %1, %w - %z * %sums
    """
    assert isinstance(op, glow.Conv2dIntegerOp)
    if int8_factors(op) is not None:
        return True
    weights, (point, _) = constant_weights(op), zero_points(op)
    if weights is None or (point is not None and prod(shape_of(point)) != 1):
        return False
    image, attributes = op.input, attributes_of(op)
    is_known = point is None or constant_value(point) is not None
    computed = None if is_known else point
    if computed is not None:
        pads = op.attributes_view().ints("pads")
        image = padded_with(parts, image, computed, cast(Pads, pads))
        attributes["pads"] = [0] * len(pads)
    known = point if is_known else None
    product = Product(glow.Conv2dIntegerOp, image, known, weights, attributes)
    constant = op.weights
    if signed_weights(op) is None:
        constant = parts.constant(weights.stored, name_of(op.weights))
    total = product.sums(parts, constant)
    if computed is not None:
        total = less_point(parts, total, computed, weights)
    parts.replace(total)
    return True


def less_point(
    parts: Parts, total: SSAValue, point: SSAValue, weights: ByteWeights
) -> SSAValue:
    """Sums less as many times those of each channel's weights."""
    of_channels = weights.whole.sum(axis=(1, 2, 3), dtype=np.int32)[:, None, None]
    wide = parts.convert(parts.reshape(point, ()), i32)
    shift = parts.node(glow.MulOp, wide, parts.constant(of_channels, "weight_sums"))
    return parts.node(glow.SubOp, total, shift)


def constant_weights(op: glow.Conv2dIntegerOp) -> ByteWeights | None:
    """Those of a convolution of unsigned bytes, if they and their zero points are constants."""
    stored, point = constant_value(op.weights), op.weights_zero_point
    around = np.zeros(1, np.int8) if point is None else constant_value(point)
    is_unsigned = dtype_of(element_of(op.input)) == np.uint8
    if stored is None or around is None or not is_unsigned:
        return None
    return ByteWeights.of(stored, around, 0)


Pads: TypeAlias = tuple[int, int, int, int]


def padded_with(parts: Parts, image: SSAValue, fill: SSAValue, pads: Pads) -> SSAValue:
    """[N, C, H, W] with a computed number around each plane."""
    if not any(pads):
        return image
    top, left, bottom, right = pads
    around = [0, 0, top, left, 0, 0, bottom, right]
    padded = parts.node(glow.PadOp, image, pads=around)
    plane = np.ones(shape_of(image)[2:], np.bool_)
    inside = np.pad(plane, ((top, bottom), (left, right)))
    number = parts.reshape(fill, ())
    mask = parts.constant(inside, "inside")
    return parts.node(glow.SelectOp, mask, padded, number)


def kept_product(op: Operation, parts: Parts) -> bool:
    """`glow.matmul_integer`, which stays as it is where a kernel takes it."""
    return isinstance(op, glow.MatmulIntegerOp) and has_byte_kernel(op)


LOWERINGS: dict[type[Operation], Callable[[Operation, Parts], bool]] = {
    glow.Conv2dOp: convolution,
    glow.MatmulOp: matrix_product,
    glow.FullyConnectedOp: matrix_product,
    glow.MatmulIntegerOp: kept_product,
    glow.Conv2dIntegerOp: integer_convolution,
}
"""Each returns whether it replaced the node."""
