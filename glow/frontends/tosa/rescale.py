"""`rescale`, and what is computed between two of them.

    %2 = tosa.add (tosa.rescale %a, ...), (tosa.rescale %b, ...) : tensor<4xi32>
    %3 = tosa.rescale %2, %multiplier, %shift, %zero, %yz : tensor<4xi32> to tensor<4xi8>
  becomes
    %3 = glow.add %a, %b : quantized with the ratios for scales of %a and %b

and so do differences, maxima, minima, products, means, changes of scale, and products of matrices
and convolutions (`quantized_products.py`). Ours rounds the product with an f32 once, to even; TOSA
rounds integers half up. Of bytes all are tried: what would be a step off for more than one in a
hundred is computed in 64-bit integers as TOSA says, exactly, as is every other `rescale`. Sums of
products are at most one step off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i8, i64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weight_table import Array
from glow.frontends.tosa.quantized import (
    as_quantized,
    element,
    quantized_node,
)
from glow.frontends.tosa.quantized_products import quantized_product
from glow.frontends.tosa.tosa_builder import (
    FIRST_HALF,
    Handlers,
    Rescale,
    Rescaled,
    TosaBuilder,
)
from glow.interpreter.integer_arithmetic import scaled
from glow.passes.rewriting.node_builder import attributes_of

MOST_WRONG = 0.01
"""The part of bytes, or of pairs of them, that may be a step off."""


Form: TypeAlias = Callable[[TosaBuilder, SSAValue, Rescale], SSAValue | None]


def rescale(builder: TosaBuilder) -> SSAValue:
    """Integers under another scale and zero point."""
    op = builder.op
    if builder.flag("input_unsigned") or builder.flag("output_unsigned"):
        raise GlowError("unsigned elements are not supported")
    how = Rescale(
        builder.numbers(op.operands[1], "the multiplier"),
        builder.numbers(op.operands[2], "the shift"),
        builder.zero_point(3),
        builder.zero_point(4),
        builder.word("rounding_mode") == "DOUBLE_ROUND",
    )
    value = op.operands[0]
    if builder.result.element_type == i8 and min(how.multipliers) > 0:
        total = _uncorrected(builder, value)
        for form in FORMS:
            found = form(builder, total, how)
            if found is not None:
                return found
    result = _exactly(builder, how)
    if element_of(value) == i8 and len(how.multipliers) == 1:
        builder.rescaled[result] = Rescaled(value, how)
    return result


def _uncorrected(builder: TosaBuilder, value: SSAValue) -> SSAValue:
    """Sums of which some are replaced by a neighbour, so that they round as ours do."""
    owner = value.owner
    while isinstance(owner, glow.AddOp) and isinstance(owner.rhs.owner, glow.SelectOp):
        is_halfway, step, none = owner.rhs.owner.operands
        equal, steps, zero = is_halfway.owner, builder.known(step), builder.known(none)
        is_correction = isinstance(equal, glow.EqualOp) and equal.lhs is owner.lhs
        if not is_correction or steps is None or zero is None:
            break
        if np.any(zero) or np.abs(steps).max(initial=0) > 1:
            break
        value = owner.lhs
        owner = value.owner
    return value


def _exactly(builder: TosaBuilder, how: Rescale) -> SSAValue:
    """In integers of 64 bits: half is added, and bits are shifted out."""
    value = builder.convert(builder.op.operands[0], i64)
    if how.before:
        value = builder.node(glow.SubOp, value, builder.number(how.before, value))
    shifts = np.array(how.shifts, np.int64)
    multipliers = _numbers(builder, np.array(how.multipliers, np.int64))
    product = builder.node(glow.MulOp, value, multipliers)
    halves = _numbers(builder, np.int64(1) << (shifts - 1))
    total = builder.node(glow.AddOp, product, halves)
    if how.rounds_twice:
        total = builder.node(glow.AddOp, total, _first_half(builder, value, shifts))
    result = builder.node(glow.ShiftRightOp, total, _numbers(builder, shifts))
    if how.behind:
        result = builder.node(glow.AddOp, result, builder.number(how.behind, result))
    return builder.saturated(result)


def _first_half(
    builder: TosaBuilder, value: SSAValue, shifts: npt.NDArray[np.int64]
) -> SSAValue:
    """What DOUBLE_ROUND adds before long shifts, with the sign of the value."""
    more = np.where(shifts > FIRST_HALF, np.int64(1) << 30, np.int64(0))
    up, down = _numbers(builder, more), _numbers(builder, -more)
    is_negative = builder.node(glow.LessOp, value, builder.number(0, value))
    return builder.node(glow.SelectOp, is_negative, down, up)


def _numbers(builder: TosaBuilder, array: Array) -> SSAValue:
    """One number, or one for each index of the last axis."""
    if array.size == 1:
        return builder.put(array.reshape(()))
    return builder.put(array, "rescale")


def _product(builder: TosaBuilder, value: SSAValue, how: Rescale) -> SSAValue | None:
    """A convolution or a product of matrices."""
    if how.before:
        return None
    return quantized_product(builder, value, how.scales, how.behind)


# -- bytes


def _bytes_less(point: int) -> npt.NDArray[np.int64]:
    return np.arange(-128, 128) - point


def _is_near(there: Array, here: Array, how: Rescale) -> bool:
    """Whether numbers that are rounded here become the bytes that TOSA's do."""
    low, high = -128 - how.behind, 127 - how.behind
    wrong = np.not_equal(np.clip(there, low, high), np.clip(np.rint(here), low, high))
    return float(np.mean(wrong)) <= MOST_WRONG


def _changed(builder: TosaBuilder, value: SSAValue, how: Rescale) -> SSAValue | None:
    """Bytes in another scale."""
    if element_of(value) != i8 or len(how.multipliers) > 1:
        return None
    if how.is_plain and how.before == how.behind:
        return value
    numbers = _bytes_less(how.before)
    if not _is_near(how.apply(numbers), scaled(numbers, how.scales, False), how):
        return None
    source = as_quantized(builder, value, element(value, how.before, how.scale))
    target = tensor_type(shape_of(value), element(value, how.behind))
    return quantized_node(builder, glow.RescaleOp, [source], target)


Combine: TypeAlias = Callable[[Array, Array], Array]

COMBINED: Mapping[type[NodeOp], Combine] = {
    glow.AddOp: np.add,
    glow.SubOp: np.subtract,
    glow.MaxOp: np.maximum,
    glow.MinOp: np.minimum,
    glow.MulOp: np.multiply,
}


def _combined(builder: TosaBuilder, value: SSAValue, how: Rescale) -> SSAValue | None:
    """A sum or the like of two rescaled tensors of bytes."""
    owner = value.owner
    if not isinstance(owner, NodeOp) or type(owner) not in COMBINED or how.before:
        return None
    found = [_rescaled(builder, value) for value in owner.inputs]
    terms = [one for one in found if one is not None and not one.how.behind]
    is_product = isinstance(owner, glow.MulOp)
    if len(terms) < 2 or len(how.multipliers) > 1:
        return None
    if is_product and not all(one.how.is_plain for one in terms):
        return None
    combine = COMBINED[type(owner)]
    columns = [_bytes_less(one.how.before) for one in terms]
    pair = [column.reshape(-1, *[1] * (1 - at)) for at, column in enumerate(columns)]
    there = how.apply(
        combine(*(t.how.apply(c) for t, c in zip(terms, pair, strict=True)))
    )
    if is_product:
        scales = [how.scale, 1.0]
        here = scaled(combine(*pair), how.scales, False)
    else:
        scales = [float(np.float32(one.how.scale * how.scale)) for one in terms]
        factors = [np.array(scale) for scale in scales]
        here = combine(
            *(scaled(*one, False) for one in zip(pair, factors, strict=True))
        )
    if not _is_near(there, here, how):
        return None
    operands = [
        as_quantized(builder, one.value, element(one.value, one.how.before, scale))
        for one, scale in zip(terms, scales, strict=True)
    ]
    target = element(terms[0].value, how.behind)
    wanted = tensor_type(builder.result.get_shape(), target)
    return quantized_node(builder, type(owner), operands, wanted)


def _rescaled(builder: TosaBuilder, value: SSAValue) -> Rescaled | None:
    """The bytes that integers have been, under another shape or not."""
    owner = value.owner
    if isinstance(owner, glow.ReshapeOp):
        found = _rescaled(builder, owner.input)
        if found is None:
            return None
        return Rescaled(builder.reshape(found.value, shape_of(value)), found.how)
    return builder.rescaled.get(value)


PLANE = (2, 3)


def _mean(builder: TosaBuilder, value: SSAValue, how: Rescale) -> SSAValue | None:
    """A rescaled sum along axes of bytes less their zero point."""
    owner = value.owner
    if not isinstance(owner, glow.ReduceSumOp) or len(how.multipliers) > 1:
        return None
    found, axes = _rescaled(builder, owner.input), owner.attributes_view().ints("axes")
    if found is None or not found.how.is_plain or found.how.behind or how.before:
        return None
    shape = shape_of(owner.input)
    count = int(np.prod([shape[axis] for axis in axes]))
    scales = _scales_of_mean(how.scale, count)
    if scales is None:
        return None
    value = found.value
    source = as_quantized(builder, value, element(value, found.how.before, scales[0]))
    target = element(value, how.behind, scales[1])
    wanted = tensor_type(builder.result.get_shape(), target)
    if len(shape) == 4 and tuple(axes) == PLANE:
        plane = {"kernel": list(shape[2:])}
        return quantized_node(builder, glow.AvgPool2dOp, [source], wanted, plane)
    more = attributes_of(owner)
    return quantized_node(builder, glow.ReduceMeanOp, [source], wanted, more)


def _scales_of_mean(number: float, count: int) -> tuple[float, float] | None:
    """Scales of an operand and of its mean whose quotient, by the count, is a number."""
    wanted, total = np.float32(number), np.float32(count)
    for top in range(64, 128):
        behind = np.float32(top / 64 / count)
        near = np.float32(wanted * np.float32(behind * total))
        for before in (
            near,
            np.nextafter(near, np.float32(0)),
            np.nextafter(near, 2 * near),
        ):
            if np.float32(before / np.float32(behind * total)) == wanted:
                return float(before), float(behind)
    return None


FORMS: tuple[Form, ...] = (_changed, _product, _combined, _mean)
"""What bytes are made of, and how; None for anything else."""

HANDLERS: Handlers = {"rescale": rescale}
