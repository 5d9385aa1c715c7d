"""Element-wise operations: nodes of `glow` one to one, or formulas of a few."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of
from glow.dialects.quant import DequantizeCastOp, QuantizeCastOp
from glow.dialects.quantized import is_quantized
from glow.dialects.stablehlo.attributes import Enumeration
from glow.dialects.weight_table import dtype_of
from glow.frontends.formulas import averages
from glow.frontends.formulas.hyperbolic import FORMULAS as HYPERBOLIC
from glow.frontends.stablehlo.bits import as_integers, total_order
from glow.frontends.stablehlo.hlo_builder import (
    Handler,
    Handlers,
    HloBuilder,
    is_boolean,
)

NODES: Mapping[str, type[NodeOp]] = {
    "stablehlo.abs": glow.AbsOp,
    "stablehlo.add": glow.AddOp,
    "stablehlo.ceil": glow.CeilOp,
    "stablehlo.cosine": glow.CosOp,
    "stablehlo.divide": glow.DivOp,
    "stablehlo.exponential": glow.ExpOp,
    "stablehlo.floor": glow.FloorOp,
    "stablehlo.log": glow.LogOp,
    "stablehlo.logistic": glow.SigmoidOp,
    "stablehlo.maximum": glow.MaxOp,
    "stablehlo.minimum": glow.MinOp,
    "stablehlo.multiply": glow.MulOp,
    "stablehlo.negate": glow.NegOp,
    "stablehlo.power": glow.PowOp,
    "stablehlo.remainder": glow.FmodOp,
    "stablehlo.round_nearest_even": glow.RoundOp,
    "stablehlo.rsqrt": glow.RsqrtOp,
    "stablehlo.sign": glow.SignOp,
    "stablehlo.sine": glow.SinOp,
    "stablehlo.sqrt": glow.SqrtOp,
    "stablehlo.subtract": glow.SubOp,
    "stablehlo.tan": glow.TanOp,
    "stablehlo.tanh": glow.TanhOp,
    "chlo.acos": glow.AcosOp,
    "chlo.asin": glow.AsinOp,
    "chlo.atan": glow.AtanOp,
    "chlo.erf": glow.ErfOp,
    "chlo.tan": glow.TanOp,
}

OF_TRUTH: Mapping[str, type[NodeOp]] = {
    "stablehlo.add": glow.OrOp,
    "stablehlo.and": glow.AndOp,
    "stablehlo.maximum": glow.OrOp,
    "stablehlo.minimum": glow.AndOp,
    "stablehlo.multiply": glow.AndOp,
    "stablehlo.not": glow.NotOp,
    "stablehlo.or": glow.OrOp,
    "stablehlo.xor": glow.XorOp,
}
"""On i1."""

OF_BITS: Mapping[str, type[NodeOp]] = {
    "stablehlo.and": glow.BitwiseAndOp,
    "stablehlo.not": glow.BitwiseNotOp,
    "stablehlo.or": glow.BitwiseOrOp,
    "stablehlo.xor": glow.BitwiseXorOp,
}
"""On integers."""


def plain(builder: HloBuilder) -> SSAValue:
    """A node with the operation's operands."""
    name, operands = builder.op.name, builder.op.operands
    if is_boolean(element_of(operands[0])) and name in OF_TRUTH:
        return builder.node(OF_TRUTH[name], *operands)
    if name in OF_BITS:
        return builder.node(OF_BITS[name], *operands)
    if is_quantized(builder.result):
        shape = builder.result.get_shape()
        return builder.typed(NODES[name], list(operands), shape)
    return builder.node(NODES[name], *operands)


def bound(builder: HloBuilder) -> SSAValue:
    """A maximum or minimum, or the one operand where the other one is its infinite end."""
    end = float("-inf") if builder.op.name == "stablehlo.maximum" else float("inf")
    for value, other in (builder.op.operands, reversed(builder.op.operands)):
        array = builder.known(other)
        if array is not None and array.size and array.dtype.kind not in "biu":
            if (array == end).all():
                return value
    return plain(builder)


def divide(builder: HloBuilder) -> SSAValue:
    """A quotient; a sum by the number of its terms is a mean."""
    lhs, rhs = builder.op.operands
    if _is_integer(lhs):
        return integer_quotient(builder)
    count = builder.known(rhs)
    if count is None or not count.size:
        return averages.pool(builder, lhs, averages.spread(builder, rhs)) or plain(
            builder
        )
    return (
        averages.pool(builder, lhs, count)
        or averages.mean(builder, lhs, count)
        or plain(builder)
    )


def multiply(builder: HloBuilder) -> SSAValue:
    """A product; a sum times one over the number of its terms is a mean.

    torch-mlir multiplies a layer's result and bias by a `beta` of 1.
    """
    for value, other in (builder.op.operands, reversed(builder.op.operands)):
        array = builder.known(other)
        is_number = array is not None and not any(array.strides)
        if array is not None and is_number and array.dtype.kind == "f":
            if (array == 1).all():
                return value
    return averages.scaled_sum(builder, *builder.op.operands) or plain(builder)


def _is_integer(value: SSAValue) -> bool:
    element = element_of(value)
    return not is_boolean(element) and isinstance(element, IntegerType)


def integer_quotient(builder: HloBuilder) -> SSAValue:
    """`divide` or `remainder`; by 0 all bits are set, and the dividend is left, as in XLA."""
    lhs, rhs = builder.op.operands
    result, divisor = plain(builder), builder.known(rhs)
    if divisor is not None and divisor.all():
        return result
    is_zero = builder.node(glow.EqualOp, rhs, builder.number(0, rhs))
    is_quotient = builder.op.name == "stablehlo.divide"
    dtype = dtype_of(element_of(lhs))
    ones = -1 if dtype.kind == "i" else int(np.iinfo(dtype.name).max)
    other = builder.number(ones, lhs) if is_quotient else lhs
    return builder.node(glow.SelectOp, is_zero, other, result)


def remainder(builder: HloBuilder) -> SSAValue:
    """What is left of a division, with the sign of the dividend."""
    if _is_integer(builder.op.operands[0]):
        return integer_quotient(builder)
    return plain(builder)


def counted(builder: HloBuilder) -> SSAValue:
    """A sum or difference; of a loop's index and a known number it is an index again."""
    result = plain(builder)
    lhs, rhs = builder.op.operands
    is_sum = builder.op.name == "stablehlo.add"
    for index_of, other, is_first in ((lhs, rhs, True), (rhs, lhs, False)):
        found, array = builder.loop_indices.get(index_of), builder.known(other)
        if found is None or array is None or array.size != 1:
            continue
        number = int(array.item())
        if is_sum or is_first:
            moved = found.moved(builder, number if is_sum else -number)
        else:
            moved = found.turned(builder, number)
        builder.loop_indices[result] = moved
    return result


def convert(builder: HloBuilder) -> SSAValue:
    """Elements of another type; one known number is converted here, so that rules see it."""
    (value,) = builder.op.operands
    element, array = builder.result.element_type, builder.known(value)
    is_number = array is not None and array.size == 1 and array.dtype.kind in "iuf"
    if array is None or not is_number or not isinstance(element, AnyFloat):
        return builder.convert(value, element)
    return builder.put(array.astype(dtype_of(element)))


def bitcast(builder: HloBuilder) -> SSAValue:
    """The bits of elements as those of another type of the same width."""
    (value,) = builder.op.operands
    return builder.create(glow.BitcastOp, [value], {}, types=[builder.result])


COMPARISONS: Mapping[str, tuple[type[NodeOp], bool]] = {
    "LT": (glow.LessOp, False),
    "LE": (glow.LessEqualOp, False),
    "GT": (glow.LessOp, True),
    "GE": (glow.LessEqualOp, True),
    "EQ": (glow.EqualOp, False),
    "NE": (glow.NotEqualOp, False),
}
"""The node, and whether operands change places."""


def compare(builder: HloBuilder) -> SSAValue:
    """A comparison; NaN is unequal to everything."""
    lhs, rhs = builder.op.operands
    direction = word(builder, "comparison_direction")
    kind = word(builder, "compare_type")
    if kind == "TOTALORDER":
        lhs, rhs = (total_order(builder, one) for one in (lhs, rhs))
    node, is_swapped = COMPARISONS[direction]
    found = builder.loop_indices.get(lhs)
    bound = builder.known(rhs)
    if direction == "LT" and found and found.start >= 0 and bound is not None:
        if not bound.any():  # A position that is never negative.
            return builder.put(np.zeros(builder.result.get_shape(), np.bool_))
    if is_boolean(element_of(lhs)):
        different = builder.node(glow.XorOp, lhs, rhs)
        if direction in ("EQ", "NE"):
            return (
                different if direction == "NE" else builder.node(glow.NotOp, different)
            )
        if is_swapped:
            lhs, rhs = rhs, lhs
        both = glow.AndOp if direction in ("LT", "GT") else glow.OrOp
        return builder.node(both, builder.node(glow.NotOp, lhs), rhs)
    return builder.node(node, *((rhs, lhs) if is_swapped else (lhs, rhs)))


def word(builder: HloBuilder, name: str) -> str:
    """The word of a property that is an enumeration; empty where it is left out."""
    value = builder.op.properties.get(name)
    return value.word.data if isinstance(value, Enumeration) else ""


def select(builder: HloBuilder) -> SSAValue:
    """The one operand or the other; a known predicate of rank 0 tells which."""
    predicate, one, other = builder.op.operands
    array = builder.known(predicate)
    if array is not None and array.size == 1:
        return one if array.item() else other
    return builder.node(glow.SelectOp, predicate, one, other)


def clamp(builder: HloBuilder) -> SSAValue:
    """`min(max(x, low), high)`."""
    low, value, high = builder.op.operands
    return builder.node(glow.MinOp, builder.node(glow.MaxOp, value, low), high)


def cast(builder: HloBuilder) -> SSAValue:
    """To or from quantized elements."""
    (value,) = builder.op.operands
    is_quantizing = builder.op.name == "stablehlo.uniform_quantize"
    kind = QuantizeCastOp if is_quantizing else DequantizeCastOp
    op = kind.create(operands=[value], result_types=[builder.result])
    op.verify_()
    return builder.insert(op).results[0]


def shift(builder: HloBuilder) -> SSAValue:
    """Shifts by less than the width; by more, all bits are gone."""
    value, distance = builder.op.operands
    nodes = {
        "stablehlo.shift_left": glow.ShiftLeftOp,
        "stablehlo.shift_right_arithmetic": glow.ShiftRightOp,
    }
    if builder.op.name in nodes:
        return builder.node(nodes[builder.op.name], value, distance)
    plain_type = builder.result
    dtype = dtype_of(plain_type.element_type)
    if dtype.kind == "u":
        return builder.node(glow.ShiftRightOp, value, distance)
    value, distance = (as_integers(builder, one, "u") for one in (value, distance))
    shifted = builder.node(glow.ShiftRightOp, value, distance)
    return as_integers(builder, shifted, "i")


def log_plus_one(builder: HloBuilder) -> SSAValue:
    """log(1 + x) as `log(u) * x / (u - 1)` of u = 1 + x, which is x where u is 1.

    The quotient takes back what the rounding of u lost (Goldberg, theorem 4).
    """
    (x,) = builder.op.operands
    one = builder.number(1, x)
    total = builder.node(glow.AddOp, x, one)
    rest = builder.node(glow.SubOp, total, one)
    product = builder.node(glow.MulOp, builder.node(glow.LogOp, total), x)
    ratio = builder.node(glow.DivOp, product, rest)
    is_infinite = builder.node(glow.EqualOp, total, builder.number(float("inf"), x))
    ratio = builder.node(glow.SelectOp, is_infinite, total, ratio)
    is_tiny = builder.node(glow.EqualOp, rest, builder.number(0, x))
    return builder.node(glow.SelectOp, is_tiny, x, ratio)


def exponential_minus_one(builder: HloBuilder) -> SSAValue:
    """exp(x) - 1 as `tanh(x / 2) * (exp(x) + 1)`, which is exact near 0.

    Where exp(x) is infinite, so is the result.
    """
    (x,) = builder.op.operands
    half = builder.node(glow.MulOp, x, builder.number(0.5, x))
    raised = builder.node(glow.ExpOp, x)
    total = builder.node(glow.AddOp, raised, builder.number(1, x))
    return builder.node(glow.MulOp, builder.node(glow.TanhOp, half), total)


def round_away(builder: HloBuilder) -> SSAValue:
    """Halves away from zero: the truncated number, and one more from a half on."""
    (x,) = builder.op.operands
    size = builder.node(glow.AbsOp, x)
    whole = builder.node(glow.FloorOp, size)
    rest = builder.node(glow.SubOp, size, whole)
    is_less = builder.node(glow.LessOp, rest, builder.number(0.5, x))
    more = builder.node(glow.AddOp, whole, builder.number(1, x))
    rounded = builder.node(glow.SelectOp, is_less, whole, more)
    return builder.node(glow.MulOp, builder.node(glow.SignOp, x), rounded)


def cube_root(builder: HloBuilder) -> SSAValue:
    """`sign(x) * |x| ** (1 / 3)`."""
    (x,) = builder.op.operands
    third = builder.number(1 / 3, x)
    power = builder.node(glow.PowOp, builder.node(glow.AbsOp, x), third)
    return builder.node(glow.MulOp, builder.node(glow.SignOp, x), power)


def is_finite(builder: HloBuilder) -> SSAValue:
    """`|x| < inf`, which NaN is not."""
    (x,) = builder.op.operands
    infinity = builder.number(float("inf"), x)
    return builder.node(glow.LessOp, builder.node(glow.AbsOp, x), infinity)


def is_infinite(builder: HloBuilder) -> SSAValue:
    """`|x| == inf`."""
    (x,) = builder.op.operands
    infinity = builder.number(float("inf"), x)
    return builder.node(glow.EqualOp, builder.node(glow.AbsOp, x), infinity)


def square(builder: HloBuilder) -> SSAValue:
    """`x * x`."""
    (x,) = builder.op.operands
    return builder.node(glow.MulOp, x, x)


def hyperbolic(builder: HloBuilder) -> SSAValue:
    """sinh, cosh and the inverse functions."""
    (x,) = builder.op.operands
    formula = HYPERBOLIC[builder.op.name.removeprefix("chlo.")]
    return formula(builder.node, lambda number: builder.number(number, x), x)


def erfc(builder: HloBuilder) -> SSAValue:
    """`1 - erf(x)`, within rounding of 1."""
    (x,) = builder.op.operands
    one = builder.number(1, x)
    return builder.node(glow.SubOp, one, builder.node(glow.ErfOp, x))


def same(builder: HloBuilder) -> list[SSAValue]:
    """The operands."""
    return list(builder.op.operands)


FORMULAS: Mapping[str, Handler] = {
    "stablehlo.bitcast_convert": bitcast,
    "stablehlo.cbrt": cube_root,
    "stablehlo.clamp": clamp,
    "stablehlo.compare": compare,
    "stablehlo.convert": convert,
    "stablehlo.divide": divide,
    "stablehlo.multiply": multiply,
    "stablehlo.exponential_minus_one": exponential_minus_one,
    "stablehlo.is_finite": is_finite,
    "stablehlo.log_plus_one": log_plus_one,
    "stablehlo.maximum": bound,
    "stablehlo.minimum": bound,
    "stablehlo.optimization_barrier": same,
    "stablehlo.remainder": remainder,
    "stablehlo.round_nearest_afz": round_away,
    "stablehlo.select": select,
    "stablehlo.shift_left": shift,
    "stablehlo.shift_right_arithmetic": shift,
    "stablehlo.shift_right_logical": shift,
    "stablehlo.uniform_dequantize": cast,
    "stablehlo.uniform_quantize": cast,
    "chlo.erfc": erfc,
    "chlo.is_inf": is_infinite,
    "chlo.square": square,
    **{f"chlo.{name}": hyperbolic for name in HYPERBOLIC},
}

HANDLERS: Handlers = {
    **dict.fromkeys((*NODES, *OF_TRUTH, *OF_BITS), plain),
    **dict.fromkeys(("stablehlo.add", "stablehlo.subtract"), counted),
    **FORMULAS,
}
