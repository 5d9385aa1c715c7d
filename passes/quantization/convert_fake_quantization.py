"""Fake quantization as casts: a trained network becomes one that computes on integers.

    %2 = glow.fake_quantize %x, %scale low 0 high 255 : tensor<1x4xf32>
  becomes
    %1 = quant.qcast %x : tensor<1x4xf32> to tensor<1x4x!quant.uniform<u8:f32, 0.05>>
    %2 = quant.dcast %1 : tensor<1x4x!quant.uniform<u8:f32, 0.05>> to tensor<1x4xf32>

and a rounded constant a constant of integers behind a `quant.dcast`. `quantize` then goes on as
with any network that comes quantized, and ONNX has both casts. Scales and zero points must be
constants, or computed from constants alone, which variables are that an export has frozen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.locations import node_name
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization
from glow.dialects.weight_table import Array
from glow.dialects.weights import constant_value
from glow.interpreter import evaluate_node
from glow.interpreter.integer_arithmetic import quantize
from glow.passes.quantization.casts import dequantize_value, quantize_value
from glow.passes.quantization.constants import quantize_weights
from glow.passes.rewriting.contract import MEANING, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    erase_dead_nodes,
)

WIDTHS = (8, 16, 32)
"""Bits of stored integers."""


def evaluated(value: SSAValue) -> Array | None:
    """The numbers of a value that is computed from constants alone, else None."""
    array, op = constant_value(value), value.owner
    if array is not None or not isinstance(op, NodeOp):
        return array
    operands = [evaluated(operand) for operand in op.inputs]
    known = [operand for operand in operands if operand is not None]
    return evaluate_node(op, known)[0] if len(known) == len(operands) else None


def quantization_of(op: glow.FakeQuantizeOp) -> Quantization:
    """How the integers are stored that a node rounds to.

    Raises GlowError for parameters that are not known, or not positive.
    """
    attributes = op.attributes_view()
    low, high = attributes.int("low"), attributes.int("high")
    scales = evaluated(op.scale)
    points = np.zeros(1) if op.zero_point is None else evaluated(op.zero_point)
    if scales is None or points is None:
        raise GlowError(
            "the scale of glow.fake_quantize is computed; to store integers it must be a "
            "constant",
            node=node_name(op),
            hint="convert variables to constants before",
        )
    smallest = float(np.min(scales))
    if not (np.isfinite(scales).all() and smallest > 0):
        raise GlowError(
            f"the scale of glow.fake_quantize is {smallest}, not positive and finite",
            node=node_name(op),
        )
    bits = next(
        bits
        for bits in WIDTHS
        if high - low < 1 << bits and (low >= 0 or -low <= 1 << (bits - 1) > high)
    )
    axis = attributes.int("axis") if attributes.has("axis") else None
    zeros = np.broadcast_to(np.rint(points).astype(np.int64), np.shape(scales) or (1,))
    data = Quantization(
        bits,
        low < 0,
        tuple(np.asarray(scales, np.float32).reshape(-1).astype(float).tolist()),
        tuple(zeros.tolist()),
        axis,
    )
    if data.full_range == (low, high):
        return data
    return Quantization(
        bits, low < 0, data.scales, data.zero_points, axis, storage_range=(low, high)
    )


def makers(value: SSAValue) -> Iterator[Operation]:
    """The operations that a value is made by."""
    if isinstance(value.owner, Operation):
        yield value.owner
        for operand in value.owner.operands:
            yield from makers(operand)


def convert_fake_quantize(op: glow.FakeQuantizeOp) -> None:
    """Replace one node by casts, or by a constant of integers."""
    builder, data = NodeBuilder(op), quantization_of(op)
    array = constant_value(op.input)
    if array is None:
        stored = quantize_value(builder, op.input, data)
        builder.replace(dequantize_value(builder, stored))
    else:
        integers = quantize(array, data)
        builder.replace(quantize_weights(builder, op.input, data, integers))


def convert_fake_quantization(module: ModuleOp) -> None:
    """Turn all fake quantization of a graph into casts, in place.

    But for that of scales, which is gone when they are constants.
    """
    nodes = [op for op in module.walk() if isinstance(op, glow.FakeQuantizeOp)]
    of_scales = {maker for op in nodes for maker in makers(op.scale)}
    for op in nodes:
        if op not in of_scales:
            convert_fake_quantize(op)
    erase_dead_nodes(module)


class ConvertFakeQuantizationPass(GraphPass):
    """Turn fake quantization into casts to integers and back."""

    name = "convert-fake-quantization"
    preserves = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        convert_fake_quantization(op)
