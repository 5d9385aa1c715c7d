"""Element-wise operations: nodes of `glow` one to one, or formulas of a few."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f32, i1, i8, i64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of
from glow.dialects.weight_table import dtype_of
from glow.frontends.formulas import averages
from glow.frontends.tosa import borders
from glow.frontends.tosa.quantized import clamped
from glow.frontends.tosa.tosa_builder import Handlers, TosaBuilder

NODES: Mapping[str, type[NodeOp]] = {
    "abs": glow.AbsOp,
    "add": glow.AddOp,
    "bitwise_and": glow.BitwiseAndOp,
    "bitwise_not": glow.BitwiseNotOp,
    "bitwise_or": glow.BitwiseOrOp,
    "bitwise_xor": glow.BitwiseXorOp,
    "ceil": glow.CeilOp,
    "cos": glow.CosOp,
    "equal": glow.EqualOp,
    "erf": glow.ErfOp,
    "exp": glow.ExpOp,
    "floor": glow.FloorOp,
    "intdiv": glow.DivOp,
    "log": glow.LogOp,
    "logical_and": glow.AndOp,
    "logical_left_shift": glow.ShiftLeftOp,
    "logical_not": glow.NotOp,
    "logical_or": glow.OrOp,
    "logical_xor": glow.XorOp,
    "maximum": glow.MaxOp,
    "minimum": glow.MinOp,
    "pow": glow.PowOp,
    "rsqrt": glow.RsqrtOp,
    "select": glow.SelectOp,
    "sigmoid": glow.SigmoidOp,
    "sin": glow.SinOp,
    "sub": glow.SubOp,
    "tanh": glow.TanhOp,
}

SWAPPED: Mapping[str, type[NodeOp]] = {
    "greater": glow.LessOp,
    "greater_equal": glow.LessEqualOp,
}
"""With their operands exchanged."""

SQUARE_ROOT = 0.5


def plain(builder: TosaBuilder) -> SSAValue:
    """A node with the operation's operands."""
    builder.propagate_nan()
    name = builder.op.name.partition(".")[2]
    return builder.node(NODES[name], *builder.op.operands)


def swapped(builder: TosaBuilder) -> SSAValue:
    """A comparison the other way round."""
    name = builder.op.name.partition(".")[2]
    lhs, rhs = builder.op.operands
    return builder.node(SWAPPED[name], rhs, lhs)


def power(builder: TosaBuilder) -> SSAValue:
    """A power; to one half a square root, which TOSA has no operation for."""
    base, exponent = builder.op.operands
    array = builder.known(exponent)
    if array is not None and array.size == 1 and array.item() == SQUARE_ROOT:
        return builder.node(glow.SqrtOp, base)
    return plain(builder)


def multiply(builder: TosaBuilder) -> SSAValue:
    """A product; of i32 shifted to the right, rounded half up."""
    lhs, rhs, *rest = builder.op.operands
    shift = builder.numbers(rest[0], "the shift")[0] if rest else 0
    if shift == 0:
        return (
            averages.scaled_sum(builder, lhs, rhs)
            or _quotient(builder)
            or borders.with_scale(builder, lhs, rhs)
            or builder.node(glow.MulOp, lhs, rhs)
        )
    wide = [builder.convert(one, i64) for one in (lhs, rhs)]
    product = builder.node(glow.MulOp, *wide)
    half = builder.number(1 << (shift - 1), product)
    total = builder.node(glow.AddOp, product, half)
    shifted = builder.node(glow.ShiftRightOp, total, builder.number(shift, total))
    return builder.convert(shifted, builder.result.element_type)


def _quotient(builder: TosaBuilder) -> SSAValue | None:
    """A product with a reciprocal: TOSA has no division of floats."""
    lhs, rhs = builder.op.operands[:2]
    for value, inverse in ((lhs, rhs), (rhs, lhs)):
        owner = inverse.owner
        if isinstance(owner, glow.DivOp) and inverse.has_one_use():
            one = builder.known(owner.lhs)
            if one is not None and (one == 1).all():
                return builder.node(glow.DivOp, value, owner.rhs)
    return None


def negate(builder: TosaBuilder) -> SSAValue:
    """`zero point of the result - (x - zero point of x)`, saturated."""
    (x, *_) = builder.op.operands
    if isinstance(element_of(x), AnyFloat):
        return builder.node(glow.NegOp, x)
    total = builder.number(builder.zero_point(1) + builder.zero_point(2), x)
    wide = [builder.convert(one, i64) for one in (total, x)]
    return builder.saturated(builder.node(glow.SubOp, *wide))


def clamp(builder: TosaBuilder) -> SSAValue:
    """Between two numbers; from 0 to the largest float is ReLU."""
    builder.propagate_nan()
    (x,) = builder.op.operands
    low, high = builder.scalar("min_val"), builder.scalar("max_val")
    dtype = dtype_of(element_of(x))
    if dtype.kind in "biu":
        bounds = int(low), int(high)
        return clamped(builder, x, *bounds) or builder.clamp(x, *bounds)
    largest = _largest(dtype)
    low, high = (
        float(np.copysign(np.inf, one)) if abs(one) >= largest else one
        for one in (low, high)
    )
    if low == 0 and np.isposinf(high):
        return builder.node(glow.ReluOp, x)
    return builder.node(glow.ClipOp, x, low=low, high=high)


def _largest(dtype: np.dtype[np.generic]) -> float:
    """The largest finite number of a float type, as converters round it."""
    name = dtype.name
    largest = float(np.finfo(np.float32 if name == "bfloat16" else name).max)
    return largest * (1 - 2**-7) if name == "bfloat16" else largest


def reciprocal(builder: TosaBuilder) -> SSAValue:
    """1 / x; of 1 / sqrt(x) the square root."""
    (x,) = builder.op.operands
    if isinstance(x.owner, glow.RsqrtOp):
        return builder.node(glow.SqrtOp, x.owner.operands[0])
    return builder.node(glow.DivOp, builder.number(1, x), x)


def identity(builder: TosaBuilder) -> SSAValue:
    """The operand."""
    return builder.op.operands[0]


def cast(builder: TosaBuilder) -> SSAValue:
    """To other elements; floats are rounded to even, and saturate as integers."""
    (x,) = builder.op.operands
    target = builder.result.element_type
    is_float = dtype_of(element_of(x)).kind not in "biu"
    dtype = dtype_of(target)
    if target == f32:
        return borders.dequantized(builder, x) or builder.convert(x, target)
    if target == i8:
        return borders.quantized(builder, x) or builder.convert(x, target)
    if is_float and dtype.kind in "iu":
        bounds = np.iinfo(dtype.name)
        x = builder.node(glow.RoundOp, x)
        x = builder.node(glow.ClipOp, x, low=float(bounds.min), high=float(bounds.max))
    return builder.convert(x, target)


def shift_right(builder: TosaBuilder) -> SSAValue:
    """Bits to the right with the sign, rounded half up where it says so."""
    x, distance = builder.op.operands
    result = builder.node(glow.ShiftRightOp, x, distance)
    if not builder.flag("round"):
        return result
    one, zero = builder.number(1, x), builder.number(0, x)
    before = builder.node(glow.SubOp, distance, one)
    last = builder.node(glow.ShiftRightOp, x, builder.node(glow.MaxOp, before, zero))
    bit = builder.node(glow.BitwiseAndOp, last, one)
    is_moved = builder.node(glow.LessOp, zero, distance)
    return builder.node(
        glow.AddOp, result, builder.node(glow.SelectOp, is_moved, bit, zero)
    )


def logical_shift_right(builder: TosaBuilder) -> SSAValue:
    """Zeros come from the left: what the sign has brought is taken off again."""
    x, distance = builder.op.operands
    shifted = builder.node(glow.ShiftRightOp, x, distance)
    ones = builder.number(-1, x)
    width = 8 * dtype_of(element_of(x)).itemsize
    kept = builder.node(
        glow.ShiftLeftOp,
        ones,
        builder.node(glow.SubOp, builder.number(width, x), distance),
    )
    mask = builder.node(glow.BitwiseNotOp, kept)
    is_moved = builder.node(glow.LessOp, builder.number(0, x), distance)
    masked = builder.node(glow.BitwiseAndOp, shifted, mask)
    return builder.node(glow.SelectOp, is_moved, masked, x)


def select(builder: TosaBuilder) -> SSAValue:
    """The one operand or the other."""
    predicate, one, other = builder.op.operands
    if element_of(predicate) != i1:
        raise GlowError("a predicate that is not of truth values")
    return builder.node(glow.SelectOp, predicate, one, other)


HANDLERS: Handlers = {
    **dict.fromkeys(NODES, plain),
    **dict.fromkeys(SWAPPED, swapped),
    "arithmetic_right_shift": shift_right,
    "cast": cast,
    "clamp": clamp,
    "identity": identity,
    "logical_right_shift": logical_shift_right,
    "mul": multiply,
    "negate": negate,
    "pow": power,
    "reciprocal": reciprocal,
    "select": select,
}
