"""How each operation of a scalar region is written in a kernel.

Most stay what they are, on vectors. Those that stand here become something else: math functions
polynomials, powers with constant exponents products, maxima with constants single instructions;
divisions cannot trap, and conversions to integers saturate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import cast

from xdsl.dialects import math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    FloatAttr,
    IntegerAttr,
    UnrealizedConversionCastOp,
    f32,
    i1,
    i8,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith
from glow.dialects.attributes import is_splat
from glow.dialects.bounded_cache import identity_cache
from glow.dialects.small_types import is_small, small_bits
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.math_expansions import BINARY_EXPANSIONS, EXPANSIONS
from glow.lowering.loop_builder.multiply_high import (
    WORD,
    upper_half_factors,
    upper_halves,
)


def is_cast_of_sign(operation: Operation) -> bool:
    """Whether an operation is nothing in kernels, where numbers have no sign."""
    return isinstance(operation, UnrealizedConversionCastOp)


def _widened(scalar: Attribute, shape: tuple[int, ...]) -> Attribute:
    scalar = types.signless(scalar)
    return types.vector_type(shape, scalar) if shape else scalar


def constant_value(value: SSAValue) -> int | float | None:
    """The number that a constant (or splat) is, None of anything else."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    return _number_of(owner.value)


@identity_cache
def _number_of(attribute: Attribute) -> int | float | None:
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return attribute.value.data
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        dense = cast("DenseIntOrFPElementsAttr", attribute)
        number = dense.get_values()[0] if is_splat(dense) else None
        return number if isinstance(number, int | float) else None
    return None


def instantiate_operation(
    builder: LoopBuilder,
    operation: Operation,
    known: dict[SSAValue, SSAValue],
    shape: tuple[int, ...],
) -> None:
    """Adds to `known` what the operation's results are on vectors of that shape."""
    if isinstance(operation, arith.ConstantOp):
        number = constant_value(operation.result)
        assert number is not None
        if is_small(operation.result.type):
            number = small_bits(number, operation.result.type)
        type_ = _widened(operation.result.type, shape)
        known[operation.result] = builder.constant(number, type_)
        return
    operands = [known[value] for value in operation.operands]
    special = _SPECIAL.get(type(operation))
    if special is not None:
        result = special(builder, operation, operands)
        if result is not None:
            known[operation.results[0]] = result
            return
    created = builder.create(
        arith.REPLACED.get(operation.name, type(operation)),
        operands,
        [_widened(result.type, shape) for result in operation.results],
        operation.properties,
    )
    known.update(zip(operation.results, created.results, strict=True))


Special = Callable[[LoopBuilder, Operation, Sequence[SSAValue]], SSAValue | None]
"""Makes an operation's result another way; None: keep the operation."""


def _expand(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue | None:
    if len(operands) == 1:
        expansion = partial(EXPANSIONS[type(operation)], builder)
    else:
        expansion = partial(BINARY_EXPANSIONS[type(operation)], builder)
    element = types.element_of(operands[0])
    if element == f32:
        return expansion(*operands)
    if isinstance(element, BFloat16Type | Float16Type):
        wide = [builder.cast(arith.ExtFOp, operand, f32) for operand in operands]
        return builder.cast(arith.TruncFOp, expansion(*wide), element)
    return None


def _power(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue | None:
    exponent = constant_value(operation.operands[1])
    if exponent is not None:
        product = math_functions.power_by_constant(builder, operands[0], exponent)
        if product is not None:
            return product
    return _expand(builder, operation, operands)


def _fma(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue:
    return builder.fma(*operands)


def _bounded_by(
    bound: Callable[[LoopBuilder, SSAValue, float | SSAValue], SSAValue],
) -> Special:
    def special(
        builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
    ) -> SSAValue | None:
        for k in (0, 1):
            limit = constant_value(operation.operands[k])
            if limit is not None and limit == limit:
                return bound(builder, operands[1 - k], limit)
            if _range_of_whole(operation.operands[k]) is not None:
                return bound(builder, operands[1 - k], operands[k])
        return None

    return special


def _divide(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue | None:
    """A division that cannot trap: x / 0 and x % 0 are 0, as in NumPy.

    The machine also traps where the smallest number is divided by -1.
    """
    constant = constant_value(operation.operands[1])
    if constant not in (None, 0, -1):
        return None
    dividend, divisor = operands
    zero, one = builder.like(0, divisor), builder.like(1, divisor)
    by_zero = builder.cmpi("eq", divisor, zero)
    safe = builder.select(by_zero, one, divisor)
    if isinstance(operation, arith.DivUIOp | arith.RemUIOp):
        return builder.select(
            by_zero, zero, builder.binary_integer(type(operation), dividend, safe)
        )
    by_minus_one = builder.cmpi("eq", divisor, builder.like(-1, divisor))
    safe = builder.select(by_minus_one, one, safe)
    result = builder.binary_integer(type(operation), dividend, safe)
    if isinstance(operation, arith.RemSIOp):
        # A remainder by 1 is 0, which is right by 0 and -1 too.
        return result
    negated = builder.binary_integer(arith.SubiOp, zero, dividend)
    result = builder.select(by_minus_one, negated, result)
    return builder.select(by_zero, zero, result)


def _integer_power(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue:
    """A power by squaring, one step a bit; negative exponents round towards zero."""
    base, exponent = operands
    element = operation.operands[1].type
    result = _whole_power(builder, base, exponent)
    if types.signless(element) != element or element == i1:
        return result
    zero, one = builder.like(0, base), builder.like(1, base)
    is_one = builder.cmpi("eq", base, one)
    is_minus_one = builder.cmpi("eq", base, builder.like(-1, base))
    low_bit = builder.binary_integer(arith.AndIOp, exponent, one)
    odd = builder.cmpi("ne", low_bit, zero)
    signed = builder.select(odd, base, one)
    inverse = builder.select(is_minus_one, signed, builder.select(is_one, one, zero))
    return builder.select(builder.cmpi("slt", exponent, zero), inverse, result)


def _whole_power(builder: LoopBuilder, base: SSAValue, exponent: SSAValue) -> SSAValue:
    """base^exponent, the exponent taken as unsigned."""
    zero, one = builder.like(0, base), builder.like(1, base)

    def step(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        result, square, rest = carried
        low_bit = builder.binary_integer(arith.AndIOp, rest, one)
        product = builder.binary_integer(arith.MuliOp, result, square)
        odd = builder.cmpi("ne", low_bit, zero)
        return [
            builder.select(odd, product, result),
            builder.binary_integer(arith.MuliOp, square, square),
            builder.binary_integer(arith.ShRUIOp, rest, one),
        ]

    bits = types.bit_width(types.element_of(base))
    return builder.carry(0, bits, 1, [one, base, exponent], step)[0]


def _resize(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue | None:
    """A change of the sign alone is none in memory; upper halves of products are made so."""
    (value,), element = operands, types.element_of(operands[0])
    before, after = operation.operands[0].type, operation.results[0].type
    if is_small(before):
        return _unpacked(builder, operation, value)
    if is_small(after):
        low = builder.cast(arith.TruncIOp, value, i8)
        mask = builder.like((1 << types.bit_width(after)) - 1, low)
        return builder.binary_integer(arith.AndIOp, low, mask)
    if element == types.signless(operation.results[0].type):
        return value
    shift = operation.operands[0].owner
    if not isinstance(shift, arith.ShRSIOp) or constant_value(shift.rhs) != WORD:
        return None
    factors = upper_half_factors(value)
    return None if factors is None else upper_halves(builder, *factors)


def _unpacked(builder: LoopBuilder, operation: Operation, value: SSAValue) -> SSAValue:
    """The lower bits of a byte as i32, the only type to which such elements are extended."""
    wide = builder.cast(arith.ExtUIOp, value, i32)
    unused = builder.like(32 - types.bit_width(operation.operands[0].type), wide)
    shifted = builder.binary_integer(arith.ShLIOp, wide, unused)
    signed = isinstance(operation, arith.ExtSIOp)
    right = arith.ShRSIOp if signed else arith.ShRUIOp
    return builder.binary_integer(right, shifted, unused)


def _same(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue:
    """A cast of the sign, which numbers do not have in kernels."""
    return operands[0]


def _bitcast(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue | None:
    """Between types of storage and integers it is nothing: both are bytes."""
    result = types.signless(operation.results[0].type)
    return operands[0] if types.element_of(operands[0]) == result else None


def _float(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue | None:
    """One conversion where all lanes have the number that was read."""
    owner = operands[0].owner
    if not isinstance(owner, vector.BroadcastOp) or types.shape_of(owner.source):
        return None
    element = types.signless(operation.results[0].type)
    number = builder.cast(arith.SIToFPOp, owner.source, element)
    return builder.broadcast(number, types.shape_of(operands[0]))


def _truncate(
    builder: LoopBuilder, operation: Operation, operands: Sequence[SSAValue]
) -> SSAValue:
    """A float as an integer: it saturates, and NaN is 0."""
    (value,) = operands
    if types.bit_width(types.element_of(value)) == 16:
        value = builder.cast(arith.ExtFOp, value, f32)
    element = types.signless(operation.results[0].type)
    unsigned, bits = isinstance(operation, arith.FPToUIOp), types.bit_width(element)
    low = 0 if unsigned else -(2 ** (bits - 1))
    end = low + 2**bits
    least, most = _bounds(operation.operands[0])
    if low <= least and most < end:
        return builder.cast(type(operation), value, element)
    mantissa = 24 if types.element_of(value) == f32 else 53
    is_nan = builder.cmpf("uno", value, value)
    number = builder.select(is_nan, builder.like(0.0, value), value)
    # The largest float below the end; that of wide integers is not their largest number.
    digits = bits if unsigned else bits - 1
    limit = end - max(1, 2 ** (digits - mantissa))
    bounded = math_functions.at_least(builder, number, float(low))
    bounded = math_functions.at_most(builder, bounded, float(limit))
    result = builder.cast(type(operation), bounded, element)
    if limit == end - 1:
        return result
    above = builder.cmpf("oge", number, builder.like(float(end), number))
    largest = builder.like(-1 if unsigned else end - 1, result)
    return builder.select(above, largest, result)


def _bounds(value: SSAValue) -> tuple[float, float]:
    """The range that clamping gives a value; saturation has nothing to do within."""
    owner = value.owner
    if isinstance(owner, math.RoundEvenOp):
        return _bounds(owner.operand)
    if isinstance(owner, arith.MaximumfOp | arith.MinimumfOp):
        limit, (low, high) = constant_value(owner.rhs), _bounds(owner.lhs)
        limits = _range_of_whole(owner.rhs) if limit is None else (limit, limit)
        if limits is not None:
            bound = max if isinstance(owner, arith.MaximumfOp) else min
            return bound(low, limits[0]), bound(high, limits[1])
    return -inf, inf


def _range_of_whole(value: SSAValue) -> tuple[float, float] | None:
    """The range of a float that was an integer of few bits, which is no NaN either."""
    owner = value.owner
    if not isinstance(owner, arith.SIToFPOp) or owner.input.type != i16:
        return None
    return -(2.0**15), 2.0**15 - 1


_DIVISIONS = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.FloorDivSIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)

_SPECIAL: Mapping[type[Operation], Special] = {
    **dict.fromkeys((*EXPANSIONS, *BINARY_EXPANSIONS), _expand),
    math.PowFOp: _power,
    math.FmaOp: _fma,
    math.IPowIOp: _integer_power,
    arith.BitcastOp: _bitcast,
    UnrealizedConversionCastOp: _same,
    arith.SIToFPOp: _float,
    arith.FPToSIOp: _truncate,
    arith.FPToUIOp: _truncate,
    **dict.fromkeys((arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp), _resize),
    **dict.fromkeys(_DIVISIONS, _divide),
    arith.MaximumfOp: _bounded_by(math_functions.at_least),
    arith.MinimumfOp: _bounded_by(math_functions.at_most),
}
