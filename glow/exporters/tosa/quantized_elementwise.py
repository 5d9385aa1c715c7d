"""Nodes that compute each quantized element by itself.

    %y = glow.add %a, %b : tensor<4x!quant.uniform<i8:f32, 0.3:-5>>
  becomes
    %0 = tosa.rescale %a, ... : tensor<4xi8> to tensor<4xi32>      in parts of a step of %y
    %1 = tosa.rescale %b, ...
    %2 = tosa.add %0, %1 : tensor<4xi32>
    %y = tosa.rescale %2, ... : tensor<4xi32> to tensor<4xi8>

All pairs of bytes are tried: the parts of a step are those for which most are the same as here.
Where not all are, floats are added, unless numerics are fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization
from glow.dialects.weight_table import Array
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import Handler
from glow.exporters.tosa.elementwise import TosaHandler
from glow.exporters.tosa.multipliers import Multipliers
from glow.exporters.tosa.requantize import (
    MOST_WRONG,
    as_bytes,
    bounded,
    centred,
    data_of,
    finished,
    in_units,
    limits,
    requantized,
    rescale,
    scale,
    zero_point,
)
from glow.exporters.tosa.tosa_writer import TosaWriter
from glow.interpreter.integer_arithmetic import Integers, scaled
from glow.interpreter.integer_arithmetic import centred as centred_bytes
from glow.interpreter.quantized import is_fixed

BYTES = 1 << 8

WORD_BITS = 29
"""Of each term, so that a sum of two has room in an i32."""

MOST_PARTS = 32
"""Two to this power are the most parts of a step: shifts end at 62."""

TRIED = 8
"""Numbers of parts that are tried."""


@dataclass(frozen=True)
class Terms:
    """How two bytes are brought to parts of a step of their result."""

    multipliers: Sequence[Multipliers]
    exponent: int
    """Two to this power are the parts of a step."""
    wrong: float
    """The part of the pairs that are a step off."""


def _terms(writer: TosaWriter, op: NodeOp, function: np.ufunc) -> Terms | None:
    """How a sum or the like is computed in integers; None where floats are needed."""
    own, result = [data_of(one) for one in op.inputs], data_of(op.results[0])
    numbers = [np.divide(scale(one), scale(result)) for one in own]
    if is_fixed(op):
        found = [Multipliers.fixed(one) for one in numbers]
        known = [one for one in found if one is not None]
        return Terms(known, 0, 0.0) if len(known) == len(found) else None
    room = WORD_BITS - np.log2(BYTES * float(np.max(numbers)))
    most = min(int(np.floor(room)), MOST_PARTS)
    tried = [
        one
        for exponent in range(most, max(most - TRIED, 0), -1)
        if (one := _tried(own, result, numbers, function, exponent)) is not None
    ]
    best = min(tried, key=lambda one: one.wrong, default=None)
    most = MOST_WRONG if writer.is_fast else 0.0
    return best if best is not None and best.wrong <= most else None


def _tried(
    own: Sequence[Quantization],
    result: Quantization,
    numbers: Sequence[Array],
    function: np.ufunc,
    exponent: int,
) -> Terms | None:
    """All pairs of bytes with so many parts of a step."""
    found = [Multipliers.fixed(np.ldexp(one, exponent)) for one in numbers]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    columns = [every_byte(one) for one in own]
    low, high = limits(result)
    terms = [
        how.apply(column).reshape(-1, *[1] * (1 - at))
        for at, (how, column) in enumerate(zip(known, columns, strict=True))
    ]
    units = [
        scaled(column, number, False).reshape(-1, *[1] * (1 - at))
        for at, (column, number) in enumerate(zip(columns, numbers, strict=True))
    ]
    here: Array = np.rint(function(*units))
    there = Multipliers.power(exponent).apply(function(*terms))
    differ = np.not_equal(np.clip(here, low, high), np.clip(there, low, high))
    return Terms(known, exponent, float(np.mean(differ)))


def every_byte(data: Quantization) -> Integers:
    """All bytes less the zero point."""
    return centred_bytes(np.arange(-BYTES // 2, BYTES // 2), data)


def terms_of(name: str, function: np.ufunc) -> TosaHandler:
    """A sum, or what else is computed of numbers in the scale of the result."""

    def write(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        own, result = [data_of(one) for one in op.inputs], data_of(op.results[0])
        points, how = [zero_point(one) for one in own], _terms(writer, op, function)
        if how is None:
            units = [
                in_units(writer, value, point, np.divide(scale(one), scale(result)))
                for value, point, one in zip(inputs, points, own, strict=True)
            ]
            return finished(writer, writer.binary(name, *units), result)
        terms = [
            rescale(writer, value, one, (point, 0), i32)
            for value, point, one in zip(inputs, points, how.multipliers, strict=True)
        ]
        total = writer.binary(name, *terms)
        last = Multipliers.power(how.exponent)
        return as_bytes(writer, total, last, 0, result)

    return write


def _mul(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """The product of both numbers, rescaled once."""
    own, result = [data_of(one) for one in op.inputs], data_of(op.results[0])
    factors = [centred(writer, *one) for one in zip(inputs, own, strict=True)]
    numbers = np.divide(np.multiply(*map(scale, own)), scale(result))
    product = writer.binary("mul", *factors)
    return requantized(writer, op, product, numbers, float(BYTES**2))


def _rescale(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """A value in the scale of the result."""
    if len(inputs) > 1:
        raise CannotExport("with a multiplier")
    own, result = data_of(op.inputs[0]), data_of(op.results[0])
    if (own.scales, own.zero_points) == (result.scales, result.zero_points):
        return inputs[0]
    number = np.divide(scale(own), scale(result))
    return requantized(writer, op, inputs[0], number, BYTES, zero_point(own))


def _relu(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    value = _rescale(writer, op, inputs)
    return bounded(writer, value, data_of(op.results[0]), 0.0, np.inf)


def _clip(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    value, view = _rescale(writer, op, inputs), op.attributes_view()
    low, high = view.float("low"), view.float("high")
    return bounded(writer, value, data_of(op.results[0]), low, high)


HANDLERS: Mapping[type[Operation], Handler[TosaWriter]] = {
    glow.AddOp: terms_of("add", np.add),
    glow.SubOp: terms_of("sub", np.subtract),
    glow.MaxOp: terms_of("maximum", np.maximum),
    glow.MinOp: terms_of("minimum", np.minimum),
    glow.MulOp: _mul,
    glow.ReluOp: _relu,
    glow.ClipOp: _clip,
    glow.RescaleOp: _rescale,
}
