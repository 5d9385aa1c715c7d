"""Quantized elements in ONNX: integers, between QuantizeLinear and DequantizeLinear.

    %y = glow.conv2d %x, %w : tensor<1x8x4x4x!quant.uniform<i8:f32, 0.1>>
  becomes
    x' = DequantizeLinear(x, ...)    w' = DequantizeLinear(w, ...)
    y = QuantizeLinear(Conv(x', w'), ...)

A value of quantized elements has the name of its integers.
"""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization, quantization_of
from glow.dialects.quantized import MOVEMENT_FORMS, any_quantized, movement_form
from glow.dialects.weight_table import Array, dtype_of
from glow.exporters.failures import CannotExport
from glow.exporters.onnx.elementwise import Export, with_attributes
from glow.exporters.onnx.writer import Writer, tensor_of

NARROW = {(4, True): ml_dtypes.int4, (4, False): ml_dtypes.uint4}
"""Bits and sign of narrower integers to the dtypes that ONNX has for them."""


def stored_dtype(data: Quantization) -> np.dtype[np.generic]:
    """The dtype of stored integers in ONNX."""
    narrow = NARROW.get((data.bits, data.signed))
    if narrow is not None:
        return np.dtype(narrow)
    if data.bits not in (8, 16, 32):
        raise CannotExport(f"with elements of {data.bits} bits")
    return np.dtype(f"{'' if data.signed else 'u'}int{data.bits}")


def parameters(writer: Writer, data: Quantization) -> list[str]:
    """The names of scale and zero point, each one number or a list."""
    shape = () if data.axis is None else (len(data.scales),)
    scales = np.array(data.scales).astype(dtype_of(data.expressed)).reshape(shape)
    points = np.array(data.zero_points).astype(stored_dtype(data)).reshape(shape)
    return [writer.constant(scales, "scale"), writer.constant(points, "zero_point")]


def dequantized(writer: Writer, value: SSAValue, name: str) -> str:
    """The numbers that integers stand for; other values as they are."""
    data = quantization_of(value.type)
    if data is None:
        return name
    scale, point = parameters(writer, data)
    inputs = [name, scale] if data.bits == 32 else [name, scale, point]
    return writer.emit("DequantizeLinear", inputs, axis=data.axis)


def quantized(writer: Writer, value: str, data: Quantization, output: str) -> None:
    """Integers of numbers, within the range that they may have."""
    if data.bits == 32:
        raise CannotExport("with a result of 32-bit integers")
    names = [value, *parameters(writer, data)]
    if data.limits == data.full_range:
        writer.emit("QuantizeLinear", names, output, axis=data.axis)
        return
    stored = writer.emit("QuantizeLinear", names, axis=data.axis)
    bounds = [
        writer.constant(np.array(limit).astype(stored_dtype(data)), "bound")
        for limit in data.limits
    ]
    writer.emit("Clip", [stored, *bounds], output)


def stored_array(array: Array, data: Quantization) -> Array:
    """A constant's integers as ONNX has them."""
    return array.astype(stored_dtype(data))


def export_quantized(
    writer: Writer, op: NodeOp, inputs: list[str], output: str, export: Export
) -> None:
    """A node on quantized elements, whose float form `export` writes."""
    form = type(op).INTEGER_FORM
    results = [value.type for value in op.results]
    if type(op) in INTEGER_EXPORTS:
        export(writer, op, inputs, output)
        return
    if form in MOVEMENT_FORMS and (form is movement_form or any_quantized(results)):
        export(writer, op, inputs, output)
        return
    if any(isinstance(tensor_of(r).element_type, IntegerType) for r in op.results):
        raise CannotExport("with sums of quantized elements as its result")
    floats = [
        dequantized(writer, value, name)
        for value, name in zip(op.inputs, inputs, strict=True)
    ]
    data = quantization_of(results[0])
    if data is None:
        export(writer, op, floats, output)
        return
    result = writer.fresh("float")
    export(writer, op, floats, result)
    quantized(writer, result, data, output)


def _rescale(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    """The numbers, times a multiplier plus an addend where there are some."""
    data = quantization_of(op.results[0].type)
    assert data is not None
    value = dequantized(writer, op.inputs[0], inputs[0])
    if len(inputs) > 1:
        product = writer.emit("Mul", [value, inputs[1]])
        value = writer.emit("Add", [product, inputs[2]])
    quantized(writer, value, data, output)


def _lookup(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    """The table's entry for each integer, counted from the smallest."""
    from onnx import TensorProto

    data = quantization_of(op.inputs[0].type)
    assert data is not None
    wide = writer.emit("Cast", [inputs[0]], to=TensorProto.INT64)
    least = writer.constant(np.array(data.full_range[0], np.int64), "least")
    place = writer.emit("Sub", [wide, least])
    writer.emit("Gather", [inputs[1], place], output, axis=0)


INTEGER_EXPORTS: Mapping[type[NodeOp], Export] = {
    glow.RescaleOp: _rescale,
    glow.LookupTableOp: _lookup,
    glow.BlockDequantizeOp: with_attributes(
        "DequantizeLinear", axis="axis", block_size="block_size"
    ),
}
"""Nodes of quantized networks only, to what writes them on their integers."""
