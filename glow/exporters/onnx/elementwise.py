"""Element-wise nodes as ONNX operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isinf

import numpy as np
from xdsl.dialects.builtin import f8E8M0FNU, f32
from xdsl.ir import Attribute, Operation

from glow.dialects import glow
from glow.dialects.node import SEGMENTS, NodeOp, element_of
from glow.dialects.small_types import is_small_float
from glow.dialects.weight_table import dtype_of
from glow.exporters.failures import CannotExport
from glow.exporters.onnx.writer import OnnxValue, Writer, attribute_of

Export = Callable[[Writer, NodeOp, list[str], str], None]
"""`export(writer, node, names of its operands, name of its first result)`."""


def direct(operator: str, opset: int = 0, **attributes: OnnxValue) -> Export:
    """The operator with the same operands, and attributes that are always the same."""

    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        writer.need(opset)
        writer.emit(operator, inputs, output, **attributes)

    return export


def with_attributes(operator: str, **names: str) -> Export:
    """The operator whose attributes are properties of the node, by their names."""

    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        values = {name: attribute_of(op, own) for name, own in names.items()}
        writer.emit(operator, inputs, output, **values)

    return export


def plain(node: type[NodeOp]) -> Export | None:
    """What writes a node that says itself which operator it is."""
    names = (node.ONNX,) if isinstance(node.ONNX, str) else tuple(node.ONNX or ())
    operator = next(iter(names), None)
    if operator is None:
        return None
    properties = node.get_irdl_definition().properties
    return with_attributes(operator, **{p: p for p in properties if p != SEGMENTS})


def is_integer(op: Operation) -> bool:
    """Whether the first operand has integers."""
    return dtype_of(element_of(op.operands[0])).kind in "iu"


def _not_equal(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    writer.emit("Not", [writer.emit("Equal", inputs)], output)


def _rsqrt(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    writer.emit("Reciprocal", [writer.emit("Sqrt", inputs)], output)


def _modulo(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    if not is_integer(op):
        raise CannotExport("of floats")
    writer.emit("Mod", inputs, output, fmod=0)


def _elu(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    alpha, gamma = attribute_of(op, "alpha"), attribute_of(op, "gamma")
    if gamma == 1:
        writer.emit("Elu", inputs, output, alpha=alpha)
    else:
        writer.emit("Selu", inputs, output, alpha=alpha, gamma=gamma)


def _clip(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    bounds = [float(str(attribute_of(op, name))) for name in ("low", "high")]
    clip(writer, inputs[0], bounds, element_of(op.operands[0]), output)


def clip(
    writer: Writer, value: str, bounds: list[float], element: Attribute, output: str
) -> None:
    """Clip, whose bounds are left out where they are infinite."""
    names = ["" if isinf(b) else writer.scalar(b, element, "bound") for b in bounds]
    writer.emit("Clip", [value, *names], output)


def _shift(direction: str) -> Export:
    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        if dtype_of(element_of(op.operands[0])).kind != "u":
            raise CannotExport("of signed integers")
        writer.emit("BitShift", inputs, output, direction=direction)

    return export


def _convert(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    element = element_of(op.results[0])
    saturate = 0 if is_small_float(element) else None
    mode = None
    if element == f8E8M0FNU:
        mode = attribute_of(op, "round_mode")
    to = writer.data_type(element)
    if dtype_of(element).kind in "iu" and not is_integer(op):
        _convert_float_to_integer(writer, op, inputs, output)
    else:
        writer.emit("Cast", inputs, output, to=to, saturate=saturate, round_mode=mode)


def _convert_float_to_integer(
    writer: Writer, op: NodeOp, inputs: list[str], output: str
) -> None:
    """ONNX leaves open what numbers out of range become; here they saturate."""
    source, target = element_of(op.operands[0]), element_of(op.results[0])
    to, info = writer.data_type(target), np.iinfo(dtype_of(target).str)
    if source != f32 or info.bits > 16:
        writer.emit("Cast", inputs, output, to=to)
        return
    value = writer.emit("IsNaN", inputs)
    zero = writer.scalar(0.0, source)
    number = writer.emit("Where", [value, zero, inputs[0]])
    bounded = writer.fresh("bounded")
    clip(writer, number, [float(info.min), float(info.max)], source, bounded)
    writer.emit("Cast", [bounded], output, to=to)


EXPORTS: Mapping[type[NodeOp], Export] = {
    **{node: export for node in glow.NODES if (export := plain(node)) is not None},
    glow.MaxOp: direct("Max"),
    glow.MinOp: direct("Min"),
    glow.PowOp: direct("Pow"),
    glow.FmodOp: direct("Mod", fmod=1),
    glow.ModOp: _modulo,
    glow.NotEqualOp: _not_equal,
    glow.RsqrtOp: _rsqrt,
    glow.GeluOp: direct("Gelu"),
    glow.GeluTanhOp: direct("Gelu", approximate="tanh"),
    glow.EluOp: _elu,
    glow.ClipOp: _clip,
    glow.ShiftLeftOp: _shift("LEFT"),
    glow.ShiftRightOp: _shift("RIGHT"),
    glow.ConvertOp: _convert,
}
"""Node class to what writes it."""
