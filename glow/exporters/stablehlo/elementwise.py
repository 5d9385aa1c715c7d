"""Nodes that compute each element by itself, where one operation or a few are the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import stored_value
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import Handler, result_type, type_like
from glow.exporters.stablehlo.hlo_writer import HloWriter

HloHandler: TypeAlias = Callable[
    [HloWriter, NodeOp, Sequence[SSAValue]], "SSAValue | Sequence[SSAValue]"
]


def unary(name: str) -> HloHandler:
    """The operation on each element."""
    return lambda writer, op, inputs: writer.op(name, inputs[0])


def binary(name: str) -> HloHandler:
    """The operation on two values that broadcast."""
    return lambda writer, op, inputs: writer.op(name, *writer.together(*inputs))


def comparison(direction: str) -> HloHandler:
    """Whether two values that broadcast compare so."""

    def write(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        lhs, rhs = writer.together(*inputs)
        return writer.compare(direction, lhs, rhs)

    return write


def _has_no_zero(op: NodeOp) -> bool:
    """Whether the divisor is a constant without a 0."""
    array = stored_value(op.operands[1])
    return array is not None and bool((array != 0).all())


def _divided(name: str) -> HloHandler:
    """Integers over zero give 0 here; there it is not defined."""

    def write(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        lhs, rhs = writer.together(*inputs)
        if dtype_of(element_of(lhs)).kind not in "iu" or _has_no_zero(op):
            return writer.op(name, lhs, rhs)
        is_zero = writer.compare("EQ", rhs, writer.number(0, rhs))
        divisor = writer.select(is_zero, writer.number(1, rhs), rhs)
        result = writer.op(name, lhs, divisor)
        return writer.select(is_zero, writer.number(0, rhs), result)

    return write


def _relu(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.op("maximum", inputs[0], writer.number(0, inputs[0]))


def _clip(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    (value,) = inputs
    element, view = element_of(value), op.attributes_view()
    low, high = view.float("low"), view.float("high")
    if dtype_of(element).kind in "iu":
        info = np.iinfo(dtype_of(element).str)
        low, high = (min(max(one, info.min), info.max) for one in (low, high))
    bounds = [writer.scalar(one, element) for one in (low, high)]
    return writer.op("clamp", bounds[0], value, bounds[1], to=type_like(value))


def _reciprocal(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.op("divide", writer.number(1, inputs[0]), inputs[0])


def _is_nan(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.compare("NE", inputs[0], inputs[0])


def _select(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.select(*writer.together(*inputs))


def _convert(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    if op.attributes_view().string("round_mode") != "nearest":
        raise CannotExport("rounded up or down")
    element = element_of(op.results[0])
    if element == i1 and element_of(inputs[0]) != i1:
        return writer.as_boolean(inputs[0])
    return writer.convert(inputs[0], element)


def _shift_right(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    is_signed = dtype_of(element_of(inputs[0])).kind == "i"
    name = "arithmetic" if is_signed else "logical"
    return writer.op(f"shift_right_{name}", *writer.together(*inputs))


def _bitcast(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.op("bitcast_convert", inputs[0], to=result_type(op))


HANDLERS: Mapping[type[Operation], Handler[HloWriter]] = {
    glow.NegOp: unary("negate"),
    glow.AbsOp: unary("abs"),
    glow.SignOp: unary("sign"),
    glow.FloorOp: unary("floor"),
    glow.CeilOp: unary("ceil"),
    glow.RoundOp: unary("round_nearest_even"),
    glow.SqrtOp: unary("sqrt"),
    glow.RsqrtOp: unary("rsqrt"),
    glow.ExpOp: unary("exponential"),
    glow.LogOp: unary("log"),
    glow.SinOp: unary("sine"),
    glow.CosOp: unary("cosine"),
    glow.TanOp: unary("tan"),
    glow.SigmoidOp: unary("logistic"),
    glow.TanhOp: unary("tanh"),
    glow.AsinOp: unary("chlo.asin"),
    glow.AcosOp: unary("chlo.acos"),
    glow.AtanOp: unary("chlo.atan"),
    glow.ErfOp: unary("chlo.erf"),
    glow.NotOp: unary("not"),
    glow.BitwiseNotOp: unary("not"),
    glow.ReciprocalOp: _reciprocal,
    glow.IsNanOp: _is_nan,
    glow.ReluOp: _relu,
    glow.ClipOp: _clip,
    glow.AddOp: binary("add"),
    glow.SubOp: binary("subtract"),
    glow.MulOp: binary("multiply"),
    glow.DivOp: _divided("divide"),
    glow.FmodOp: _divided("remainder"),
    glow.MaxOp: binary("maximum"),
    glow.MinOp: binary("minimum"),
    glow.PowOp: binary("power"),
    glow.AndOp: binary("and"),
    glow.OrOp: binary("or"),
    glow.XorOp: binary("xor"),
    glow.BitwiseAndOp: binary("and"),
    glow.BitwiseOrOp: binary("or"),
    glow.BitwiseXorOp: binary("xor"),
    glow.ShiftLeftOp: binary("shift_left"),
    glow.ShiftRightOp: _shift_right,
    glow.EqualOp: comparison("EQ"),
    glow.NotEqualOp: comparison("NE"),
    glow.LessOp: comparison("LT"),
    glow.LessEqualOp: comparison("LE"),
    glow.SelectOp: _select,
    glow.ConvertOp: _convert,
    glow.BitcastOp: _bitcast,
}
