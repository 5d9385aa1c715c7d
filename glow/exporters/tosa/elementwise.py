"""Nodes that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isinf
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import Handler, type_like
from glow.exporters.tosa.tosa_writer import TosaWriter
from glow.passes.rewriting.scalar_builder import as_integer

TosaHandler: TypeAlias = Callable[[TosaWriter, NodeOp, Sequence[SSAValue]], SSAValue]


def unary(name: str) -> TosaHandler:
    """The operation on each element."""
    return lambda writer, op, inputs: writer.op(name, inputs[0])


def binary(name: str) -> TosaHandler:
    """The operation on two values that broadcast."""
    return lambda writer, op, inputs: writer.binary(name, *inputs)


def comparison(
    name: str, *, swapped: bool = False, opposite: bool = False
) -> TosaHandler:
    """A comparison, of exchanged operands, or the opposite of one."""

    def write(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        operands = inputs[::-1] if swapped else inputs
        found = writer.binary(name, *operands, element=i1)
        return writer.op("logical_not", found) if opposite else found

    return write


def _bound(name: str, number: float) -> TosaHandler:
    def write(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        (value,) = inputs
        rank = len(shape_of(value))
        return writer.op(name, value, writer.one(number, element_of(value), rank))

    return write


def _clip(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    (value,), view = inputs, op.attributes_view()
    for name, attribute in (("maximum", "low"), ("minimum", "high")):
        number = view.float(attribute)
        if not isinf(number):
            rank = len(shape_of(value))
            value = writer.op(name, value, writer.one(number, element_of(value), rank))
    return value


def _div(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Of floats a product with the reciprocal."""
    if isinstance(element_of(inputs[0]), IntegerType):
        return writer.binary("intdiv", *inputs)
    return writer.binary("mul", inputs[0], writer.op("reciprocal", inputs[1]))


def _sqrt(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.op("reciprocal", writer.op("rsqrt", inputs[0]))


def _neg(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    zeros = [writer.zero_point(element_of(inputs[0])) for _ in range(2)]
    return writer.op("negate", inputs[0], *zeros)


def _is_nan(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    same = writer.binary("equal", inputs[0], inputs[0], element=i1)
    return writer.op("logical_not", same)


def _select(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    ranked, shape = writer.together(*inputs)
    return writer.op("select", *ranked, to=type_like(inputs[1], shape))


def _convert(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Floats are cut before they are rounded to integers."""
    (value,), element = inputs, element_of(op.results[0])
    is_integer = as_integer(element) is not None and element != i1
    if is_integer and not isinstance(element_of(value), IntegerType):
        zero = writer.one(0, element_of(value), len(shape_of(value)))
        down, up = writer.op("floor", value), writer.op("ceil", value)
        is_positive = writer.binary("greater", value, zero, element=i1)
        value = writer.op("select", is_positive, down, up, to=type_like(value))
    return writer.cast(value, element)


def refuse(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Nodes that have a formula are made of it before; these have none."""
    raise CannotExport


HANDLERS: Mapping[type[Operation], Handler[TosaWriter]] = {
    glow.AbsOp: unary("abs"),
    glow.CeilOp: unary("ceil"),
    glow.FloorOp: unary("floor"),
    glow.ExpOp: unary("exp"),
    glow.LogOp: unary("log"),
    glow.SinOp: unary("sin"),
    glow.CosOp: unary("cos"),
    glow.RsqrtOp: unary("rsqrt"),
    glow.ReciprocalOp: unary("reciprocal"),
    glow.SigmoidOp: unary("sigmoid"),
    glow.TanhOp: unary("tanh"),
    glow.ErfOp: unary("erf"),
    glow.NotOp: unary("logical_not"),
    glow.BitwiseNotOp: unary("bitwise_not"),
    glow.SqrtOp: _sqrt,
    glow.NegOp: _neg,
    glow.IsNanOp: _is_nan,
    glow.ReluOp: _bound("maximum", 0),
    glow.ClipOp: _clip,
    glow.AddOp: binary("add"),
    glow.SubOp: binary("sub"),
    glow.MulOp: binary("mul"),
    glow.DivOp: _div,
    glow.MaxOp: binary("maximum"),
    glow.MinOp: binary("minimum"),
    glow.PowOp: binary("pow"),
    glow.AndOp: binary("logical_and"),
    glow.OrOp: binary("logical_or"),
    glow.XorOp: binary("logical_xor"),
    glow.BitwiseAndOp: binary("bitwise_and"),
    glow.BitwiseOrOp: binary("bitwise_or"),
    glow.BitwiseXorOp: binary("bitwise_xor"),
    glow.EqualOp: comparison("equal"),
    glow.NotEqualOp: comparison("equal", opposite=True),
    glow.LessOp: comparison("greater", swapped=True),
    glow.LessEqualOp: comparison("greater_equal", swapped=True),
    glow.SelectOp: _select,
    glow.ConvertOp: _convert,
}
