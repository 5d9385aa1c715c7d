"""Handlers of operators on bits, those that are no node of the same operands."""

from __future__ import annotations

from glow.dialects.glow import BitcastOp, ShiftLeftOp, ShiftRightOp
from glow.dialects.node import fail_unless, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.registry import onnx_op
from glow.frontends.onnx.tensors import element_type_of_onnx

SHIFTS = {"LEFT": ShiftLeftOp, "RIGHT": ShiftRightOp}


@onnx_op("BitShift")
def bit_shift(node: OnnxNode) -> Value:
    """A shift in the direction of an attribute."""
    direction = node.attr_string("direction", "")
    fail_unless(direction in SHIFTS, f"direction '{direction}' is not LEFT or RIGHT")
    return node.emit(SHIFTS[direction], node.value(0), node.value(1))


@onnx_op("BitCast")
def bit_cast(node: OnnxNode) -> Value:
    """The bits as another type, which has as many."""
    source, target = (
        element_type(node.value(0)),
        element_type_of_onnx(node.attr_int("to", 0)),
    )
    fail_unless(
        dtype_of(source).itemsize == dtype_of(target).itemsize,
        f"elements {source} have not as many bits as {target}",
    )
    if source == target:
        return node.value(0)
    result = tensor_type(node.shape(0), target)
    return node.emit(BitcastOp, node.value(0), types=[result])
