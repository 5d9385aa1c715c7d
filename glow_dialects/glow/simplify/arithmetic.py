"""Simplifications of arithmetic for `canonicalize`: the same bits with less work.

Rows of the table in `canonicalization`; here stand those about numbers and broadcasting.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects.attributes import float_attr
from glow.dialects.glow.activations import ClipOp
from glow.dialects.glow.arithmetic import ConvertOp, MulOp, NotOp
from glow.dialects.glow.shape import BroadcastOp, TileOp
from glow.dialects.glow.storage import ConstantOp, SplatOp
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import constant_value

Replacement = SSAValue | NodeOp | None

STORAGE = (ConstantOp, SplatOp)


def result_type(op: NodeOp) -> TensorType[Attribute]:
    """The type of the first result."""
    return cast("TensorType[Attribute]", op.results[0].type)


def rebuilt(op: NodeOp, operands: list[SSAValue]) -> NodeOp:
    """The node with other operands, and the same attributes and result."""
    properties = {
        name: op.properties[name]
        for name in op.property_names()
        if name in op.properties
    }
    return type(op).build_node(operands, [result_type(op)], **properties)  # pyright: ignore[reportArgumentType]


def constant_last(op: NodeOp) -> Replacement:
    """`x op c` for `c op x` of a commutative node, the one form that others look for."""
    lhs, rhs = op.inputs
    if isinstance(lhs.owner, STORAGE) and not isinstance(rhs.owner, STORAGE):
        return rebuilt(op, [rhs, lhs])
    return None


def negated_condition(op: NodeOp) -> Replacement:
    """`c ? y : x` for `not c ? x : y`."""
    condition, lhs, rhs = op.inputs
    negation = condition.owner
    if not isinstance(negation, NotOp):
        return None
    return rebuilt(op, [negation.inputs[0], rhs, lhs])


def equal_branches(op: NodeOp) -> Replacement:
    """x for a choice between x and x."""
    _, lhs, rhs = op.inputs
    return lhs if lhs is rhs and lhs.type == op.results[0].type else None


def without_broadcasts(op: NodeOp) -> Replacement:
    """Operands as they are before they are broadcast: the node does that itself."""
    operands = [_before_broadcast(value) for value in op.inputs]
    if operands == list(op.inputs):
        return None
    shape = np.broadcast_shapes(*map(shape_of, operands))
    return rebuilt(op, operands) if shape == shape_of(op.results[0]) else None


def _before_broadcast(value: SSAValue) -> SSAValue:
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        return owner.input
    if isinstance(owner, TileOp):
        sizes = zip(
            shape_of(owner.input), owner.attributes_view().ints("repeats"), strict=True
        )
        if all(size == 1 or count == 1 for size, count in sizes):
            return owner.input
    return value


def exact_reciprocal(op: NodeOp) -> Replacement:
    """`x * (1 / c)` for `x / c` where c is a power of two, whose reciprocal is exact."""
    lhs, rhs = op.inputs
    owner = rhs.owner
    if not isinstance(owner, SplatOp) or isinstance(
        result_type(op).element_type, IntegerType
    ):
        return None
    number = float(owner.number)
    mantissa, exponent = np.frexp(number)
    # Beyond this the reciprocal has no normal number in half precision.
    if abs(mantissa) != 0.5 or abs(int(exponent)) > 13:
        return None
    splat = SplatOp.from_number(1 / number, cast("TensorType[Attribute]", rhs.type))
    block = op.parent
    assert block is not None
    block.insert_op_before(splat, op)
    return MulOp.build_node([lhs, splat.result], [result_type(op)])


def square(op: NodeOp) -> Replacement:
    """`x * x` for `x ^ 2`."""
    lhs, rhs = op.inputs
    array = constant_value(rhs) if isinstance(rhs.owner, STORAGE) else None
    if (
        array is None
        or array.size != 1
        or array.item() != 2
        or lhs.type != op.results[0].type
    ):
        return None
    return MulOp.build_node([lhs, lhs])


def bounds_beyond_type(op: NodeOp) -> Replacement:
    """A clip without the bounds that no element can pass."""
    element = result_type(op).element_type
    if op.is_quantized:
        return None  # `simplify-bounds` knows which numbers are stored
    attributes = op.attributes_view()
    low, high = attributes.float("low"), attributes.float("high")
    smallest, largest = _range(element)
    new_low = float("-inf") if low <= smallest else low
    new_high = float("inf") if high >= largest else high
    if (new_low, new_high) == (low, high):
        return None
    return ClipOp.build_node(
        [op.inputs[0]], low=float_attr(new_low), high=float_attr(new_high)
    )


def _range(element: Attribute) -> tuple[float, float]:
    """What bounds must pass to bound nothing: the limits of integers, else infinity."""
    dtype = dtype_of(element)
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.str)
        return float(limits.min), float(limits.max)
    # 65520 is the first number that rounds to infinity in half precision.
    is_half = dtype == np.float16
    return (-65520.0, 65520.0) if is_half else (float("-inf"), float("inf"))


def merge_conversions(op: NodeOp) -> Replacement:
    """One conversion for two, where the first keeps every value."""
    inner = op.inputs[0].owner
    if not isinstance(inner, ConvertOp):
        return None
    source = dtype_of(cast("TensorType[Attribute]", inner.inputs[0].type).element_type)
    between = dtype_of(
        cast("TensorType[Attribute]", inner.results[0].type).element_type
    )
    if source.kind == "b" or not np.can_cast(source, between, "safe"):
        return None
    return ConvertOp.build_node([inner.inputs[0]], [result_type(op)])
