"""Quantization as arithmetic on ordinary tensors: `divide, round, add, clip, convert`.

For scales and zero points that are computed, one for each block of an axis, or of elements that
are only stored. What is known at import and has 8, 16 or 32 bits becomes quantized types instead
(`glow.frontends.onnx.operators.quantization.quantized_types`), on which integer kernels work.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from glow.dialects.arith.casts import bit_width
from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    AddOp,
    BlockDequantizeOp,
    ClipOp,
    DivOp,
    LessOp,
    MulOp,
    RoundOp,
    SelectOp,
    SliceOp,
    SubOp,
)
from glow.dialects.glow.elementwise import is_integer
from glow.dialects.glow.quantization import WEIGHT_BITS
from glow.dialects.small_types import is_small, is_small_float
from glow.dialects.weight_table import dtype_of, element_type_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.operators.casts import cast_to
from glow.frontends.onnx.tensors import element_type_of_onnx

BYTE = element_type_of(np.dtype(np.uint8))


def is_computed(node: OnnxNode, *inputs: int) -> bool:
    """Whether one of the inputs is given and known at the call only."""
    return any(
        node.has(index) and not isinstance(node.value(index), Constant)
        for index in inputs
    )


def is_plain(node: OnnxNode, *parameters: int) -> bool:
    """Whether quantized types cannot say what scales and zero points do."""
    given = [node.value(index) for index in parameters if node.has(index)]
    ranks = [len(shape(value)) for value in given]
    small = any(is_small(element_type(value)) for value in (node.value(0), *given))
    blocked = node.attr_int("block_size", 0) > 0 or max(ranks) > 1
    narrow = element_type(given[0]) != f32 or node.attr_int("output_dtype", 0) > 0
    return is_computed(node, *parameters) or small or blocked or narrow


# -- linear quantization


def quantize(node: OnnxNode) -> Value:
    """QuantizeLinear-25: `saturate(round(x / scale) + zero_point)`."""
    precision = node.attr_int("precision", 0)
    of_scale = element_type(node.value(1))
    wide = element_type_of_onnx(precision) if precision else of_scale
    target = _quantized_type(node)
    operands = (node.convert(v, wide) for v in (node.value(0), _spread(node, 1)))
    scaled: Operand = node.emit(DivOp, *operands)
    point = _spread(node, 2) if node.has(2) else None
    saturates = bool(node.attr_int("saturate", 1))
    if not is_small_float(target):
        return rounded(node, scaled, point, target)
    if point is not None and not is_zero(point):
        scaled = _shifted(node, scaled, point)
    return cast_to(node, scaled, target, saturate=saturates, mode="up")


def is_zero(value: Operand) -> bool:
    """Whether all that is added is known to be 0."""
    return isinstance(value, Constant) and not value.array.astype(np.float32).any()


def _quantized_type(node: OnnxNode) -> Attribute:
    """The type of the zero point, else the one that is asked for, else ui8."""
    asked = node.attr_int("output_dtype", 0)
    wanted = element_type_of_onnx(asked) if asked else None
    if not node.has(2):
        return wanted or BYTE
    found = element_type(node.value(2))
    if wanted not in (None, found):
        raise GlowError(
            f"output_dtype is {wanted}, but the zero point has type {found}"
        )
    return found


def _shifted(node: OnnxNode, value: Operand, point: Operand) -> Operand:
    return node.emit(AddOp, node.convert(value, f32), node.convert(point, f32))


def rounded(
    node: OnnxNode, scaled: Operand, point: Operand | None, target: Attribute
) -> Operand:
    """Floats as saturated integers; NaN is the least one."""
    rounded: Operand = node.emit(RoundOp, scaled)
    if point is not None:
        rounded = _shifted(node, rounded, point)
    low, high = integer_limits(target)
    wide = node.convert(rounded, f32)
    least = node.number(low, wide)
    wide = node.emit(SelectOp, node.emit(LessOp, least, wide), wide, least)
    return node.convert(node.emit(ClipOp, wide, low=low, high=high), target)


def integer_limits(element: Attribute) -> tuple[float, float]:
    """The least and the largest number of an integer type."""
    dtype = dtype_of(element)
    if not is_integer(element):
        raise GlowError(f"quantized elements stored as {dtype} are not supported")
    bits, unsigned = bit_width(element), dtype.name.startswith("u")
    low = 0 if unsigned else -(2 ** (bits - 1))
    return float(low), float(low + 2**bits - 1)


def dequantize(node: OnnxNode) -> Value:
    """DequantizeLinear-25: `(x - zero_point) * scale`, rounded once."""
    asked = node.attr_int("output_dtype", 0)
    of_scale = element_type(node.value(1))
    target = element_type_of_onnx(asked) if asked else of_scale
    if target == of_scale and _are_block_weights(node):
        return _block_weights(node)
    wide = node.convert(node.value(0), f32)
    if node.has(2) and not is_zero(node.value(2)):
        found, point = element_type(node.value(0)), element_type(node.value(2))
        if found != point:
            raise GlowError(f"the zero point has type {point}, the tensor {found}")
        wide = node.emit(SubOp, wide, node.convert(_spread(node, 2), f32))
    scale = node.convert(_spread(node, 1), f32)
    return node.convert(node.emit(MulOp, wide, scale), target)


def _are_block_weights(node: OnnxNode) -> bool:
    """Whether these are constant integers of a few bits with a scale a block."""
    if node.attr_int("block_size", 0) <= 0 or is_computed(node, 0, 1, 2):
        return False
    element = element_type(node.value(0))
    return is_integer(element) and bit_width(element) in WEIGHT_BITS


def _block_weights(node: OnnxNode) -> Value:
    """As they are: products read them so, where a backend has a kernel for that."""
    count = 3 if node.has(2) and not is_zero(node.value(2)) else 2
    operands = [node.value(index) for index in range(count)]
    axis = node.positive(node.attr_int("axis", 1), len(node.shape(0)))
    size = node.attr_int("block_size", 0)
    return node.emit(BlockDequantizeOp, *operands, axis=axis, block_size=size)


def _spread(node: OnnxNode, index: int) -> Operand:
    """A scale or zero point so that it broadcasts to input 0."""
    value, sizes = node.value(index), node.shape(0)
    found, block = shape(value), node.attr_int("block_size", 0)
    if int(np.prod(found)) == 1 and not block:
        return node.reshape(value, ())
    axis = node.positive(node.attr_int("axis", 1), len(sizes))
    if block:
        return _spread_blocks(node, value, axis, block)
    if found != (sizes[axis],):
        raise GlowError(
            f"parameters of shape {list(found)} for axis {axis} of a tensor of shape "
            f"{list(sizes)}"
        )
    return node.reshape(
        value, [sizes[axis] if k == axis else 1 for k in range(len(sizes))]
    )


def _spread_blocks(node: OnnxNode, value: Operand, axis: int, block: int) -> Operand:
    """One number a block as one an element of the axis; the last block may be cut short."""
    found, sizes = shape(value), node.shape(0)
    expected = [*sizes]
    expected[axis] = -(-sizes[axis] // block)
    if block < 0 or list(found) != expected:
        raise GlowError(
            f"parameters of shape {list(found)} for blocks of {block} along axis {axis} "
            f"of a tensor of shape {list(sizes)}"
        )
    before, count, after = sizes[:axis], found[axis], sizes[axis + 1 :]
    apart = node.reshape(value, (*before, count, 1, *after))
    repeated = node.broadcast(apart, (*before, count, block, *after))
    whole = node.reshape(repeated, (*before, count * block, *after))
    if count * block == sizes[axis]:
        return whole
    if isinstance(whole, Constant):
        cut = np.take(whole.array, range(sizes[axis]), axis)
        return Constant(cut, whole.name)
    rank = len(sizes)
    return node.emit(
        SliceOp, whole, starts=[0] * rank, sizes=list(sizes), steps=[1] * rank
    )
