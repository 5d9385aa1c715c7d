"""Handlers of arithmetic, comparison and conversion that is more than one plain node."""

from __future__ import annotations

from functools import reduce

import numpy as np

from glow.dialects.glow import (
    AbsOp,
    AddOp,
    DivOp,
    EqualOp,
    FmodOp,
    LessEqualOp,
    LessOp,
    MaxOp,
    MinOp,
    ModOp,
    PowOp,
)  # fmt: skip
from glow.dialects.glow.elementwise import is_integer
from glow.dialects.node import NodeOp
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type
from glow.frontends.onnx.registry import HANDLERS, Handler, onnx_op

VARIADIC: dict[str, type[NodeOp]] = {"Sum": AddOp, "Max": MaxOp, "Min": MinOp}
"""Operators that join any number of operands by a node of two."""


def _join(node: OnnxNode, op_class: type[NodeOp]) -> Operand:
    return reduce(lambda a, b: node.emit(op_class, a, b), node.values())


def _variadic(op_class: type[NodeOp]) -> Handler:
    return lambda node: _join(node, op_class)


HANDLERS.update({name: _variadic(op_class) for name, op_class in VARIADIC.items()})


@onnx_op("Greater")
def greater(node: OnnxNode) -> Value:
    """`less` with the operands exchanged."""
    return node.emit(LessOp, node.value(1), node.value(0))


@onnx_op("GreaterOrEqual")
def greater_or_equal(node: OnnxNode) -> Value:
    """`less_equal` with the operands exchanged."""
    return node.emit(LessEqualOp, node.value(1), node.value(0))


@onnx_op("Mean")
def mean(node: OnnxNode) -> Value:
    """The sum of the operands over their number."""
    total = _join(node, AddOp)
    return node.emit(DivOp, total, node.number(len(node.inputs), total))


@onnx_op("Mod")
def mod(node: OnnxNode) -> Value:
    """Python's remainder, or C's with `fmod`."""
    op_class = FmodOp if node.attr_int("fmod", 0) else ModOp
    return node.emit(op_class, node.value(0), node.value(1))


@onnx_op("Pow")
def power(node: OnnxNode) -> Value:
    """The result has the base's element type, whatever the exponent's."""
    base, exponent = node.value(0), node.value(1)
    result_type = element_type(base)
    if is_integer(result_type) and not is_integer(element_type(exponent)):
        base = node.convert(base, element_type(exponent))
    else:
        exponent = node.convert(exponent, result_type)
    return node.convert(node.emit(PowOp, base, exponent), result_type)


@onnx_op("IsInf")
def is_infinite(node: OnnxNode) -> Value:
    """A comparison with the infinities that are asked for."""
    value = node.value(0)
    positive = node.attr_int("detect_positive", 1)
    negative = node.attr_int("detect_negative", 1)
    if positive and negative:
        value = node.emit(AbsOp, value)
    elif not positive and not negative:
        return np.broadcast_to(np.array(False), node.shape(0))
    infinity = float("inf") if positive else float("-inf")
    return node.emit(EqualOp, value, node.number(infinity, value))
