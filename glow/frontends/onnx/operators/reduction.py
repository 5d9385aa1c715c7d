"""Handlers of reductions and of the positions of extreme elements."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f64, i1, i8

from glow.dialects.glow import (
    AbsOp,
    AddOp,
    ArgMaxOp,
    ArgMinOp,
    ExpOp,
    LessOp,
    LogOp,
    MulOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
    SqrtOp,
    SubOp,
    is_integer,
)  # fmt: skip
from glow.dialects.glow.normalization import ArgOp
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type
from glow.frontends.onnx.registry import HANDLERS, Handler, onnx_op

SIMPLE: dict[str, type[ReduceOp]] = {
    "ReduceMax": ReduceMaxOp,
    "ReduceMean": ReduceMeanOp,
    "ReduceMin": ReduceMinOp,
    "ReduceProd": ReduceProdOp,
    "ReduceSum": ReduceSumOp,
}
"""Operators that are one node."""

ARG: dict[str, type[ArgOp]] = {"ArgMax": ArgMaxOp, "ArgMin": ArgMinOp}


def reduced_axes(node: OnnxNode) -> list[int]:
    """The sorted axes; all of them by default, none with `noop_with_empty_axes`."""
    rank = node.rank(0)
    axes = node.axes(1, rank)
    if not axes:
        keep = bool(node.attr_int("noop_with_empty_axes", 0))
        return [] if keep else list(range(rank))
    return axes


def reduce_value(node: OnnxNode, op_class: type[ReduceOp], value: Operand) -> Operand:
    """The node's reduction of a value; reducing no axes keeps it."""
    axes = reduced_axes(node)
    if not axes:
        return value
    keepdims = bool(node.attr_int("keepdims", 1))
    boolean = element_type(value) == i1
    # Booleans reduce as small integers: the larger of two is their disjunction.
    numbers = node.convert(value, i8) if boolean else value
    result = node.emit(op_class, numbers, axes=axes, keepdims=keepdims)
    # Not a conversion: the largest of nothing is the lowest number, which means false.
    return node.emit(LessOp, node.number(0, result), result) if boolean else result


def _simple(op_class: type[ReduceOp]) -> Handler:
    return lambda node: reduce_value(node, op_class, node.value(0))


HANDLERS.update({name: _simple(op_class) for name, op_class in SIMPLE.items()})


@onnx_op("ReduceL1")
def reduce_l1(node: OnnxNode) -> Value:
    """The sum of absolute values."""
    return reduce_value(node, ReduceSumOp, node.emit(AbsOp, node.value(0)))


def _sum_of_squares(node: OnnxNode, value: Operand) -> Operand:
    return reduce_value(node, ReduceSumOp, node.emit(MulOp, value, value))


def _root_of_squares(node: OnnxNode, value: Operand) -> Operand:
    return node.emit(SqrtOp, _sum_of_squares(node, value))


def _log_sum(node: OnnxNode, value: Operand) -> Operand:
    return node.emit(LogOp, reduce_value(node, ReduceSumOp, value))


def _log_sum_exp(node: OnnxNode, value: Operand) -> Operand:
    """`max + log(sum(exp(x - max)))`, which cannot overflow."""
    axes = reduced_axes(node)
    if not axes:
        return value
    largest = node.emit(ReduceMaxOp, value, axes=axes, keepdims=True)
    terms = node.emit(ExpOp, node.emit(SubOp, value, largest))
    total = node.emit(LogOp, reduce_value(node, ReduceSumOp, terms))
    if not node.attr_int("keepdims", 1):
        largest = node.emit(ReduceMaxOp, value, axes=axes)
    return node.emit(AddOp, total, largest)


@onnx_op("ReduceSumSquare")
def reduce_sum_square(node: OnnxNode) -> Operand:
    """The sum of squares."""
    return _sum_of_squares(node, node.value(0))


ROOTS_AND_LOGARITHMS: dict[str, Callable[[OnnxNode, Operand], Operand]] = {
    "ReduceL2": _root_of_squares,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
}
"""Operators whose results are no integers; those of integers are truncated."""


def _in_floats(reduction: Callable[[OnnxNode, Operand], Operand]) -> Handler:
    def handler(node: OnnxNode) -> Value:
        value = node.value(0)
        element = element_type(value)
        if not is_integer(element):
            return reduction(node, value)
        return node.convert(reduction(node, node.convert(value, f64)), element)

    return handler


HANDLERS.update({name: _in_floats(r) for name, r in ROOTS_AND_LOGARITHMS.items()})


def _arg(op_class: type[ArgOp]) -> Callable[[OnnxNode], Value]:
    def handler(node: OnnxNode) -> Value:
        return node.emit(
            op_class,
            node.value(0),
            axis=node.positive(node.attr_int("axis", 0), node.rank(0)),
            keepdims=bool(node.attr_int("keepdims", 1)),
            select_last=bool(node.attr_int("select_last_index", 0)),
        )

    return handler


HANDLERS.update({name: _arg(op_class) for name, op_class in ARG.items()})
