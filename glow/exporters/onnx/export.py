"""A module's main function as an ONNX model.

    %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] activation "relu" : tensor<1x8x4x4xf32>
  becomes
    product = Conv<pads = [1, 1, 1, 1], ...>(x, w)
    value = Relu(product)

Weights are initializers. What ONNX has no operator for is refused, all at once, before
anything is written; the model passes ONNX's checker with inference of all shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp
from glow.dialects.quant import (
    DequantizeCastOp,
    QuantizeCastOp,
    StorageCastOp,
    quantization_of,
)
from glow.dialects.weights import stored_value
from glow.exporters.failures import CannotExport, write_all
from glow.exporters.onnx import (
    control_flow,
    elementwise,
    movement,
    products,
    training,
)
from glow.exporters.onnx.control_flow import CONTROLS
from glow.exporters.onnx.elementwise import Export
from glow.exporters.onnx.quantized import (
    INTEGER_EXPORTS,
    dequantized,
    export_quantized,
    quantized,
    stored_array,
)
from glow.exporters.onnx.writer import Writer
from glow.signature import main_function, signature_of

if TYPE_CHECKING:
    from onnx import ModelProto

IR_VERSION, PRODUCER, MAX_FILE = 11, "glow", 2**31

EXPORTS: Mapping[type[Operation], Export] = {
    **elementwise.EXPORTS,
    **products.EXPORTS,
    **movement.EXPORTS,
    **INTEGER_EXPORTS,
    **training.EXPORTS,
    **control_flow.EXPORTS,
}
"""Node class to what writes it."""


def export_model(module: ModuleOp) -> ModelProto:
    """The ONNX model of a graph; raises GlowError naming all that it has no operator for."""
    from onnx import helper

    function = main_function(training.with_operators(module, EXPORTS))
    signature, block, writer = signature_of(function), function.body.block, Writer()
    for argument, info in zip(block.args, signature.inputs, strict=True):
        writer.bind(argument, writer.fresh(info.name))
    inputs = [writer.info(writer.name(value), value.type) for value in block.args]
    assert block.last_op is not None
    results = list(block.last_op.operands)
    names = [writer.fresh(info.name) for info in signature.outputs]
    for value, name in zip(results, names, strict=True):
        writer.prefer(value, name)
    write_operations(writer, block.ops)
    for value, name in zip(results, names, strict=True):
        if writer.name(value) != name:
            writer.emit("Identity", [writer.name(value)], name)
    outputs = [writer.info(n, v.type) for n, v in zip(names, results, strict=True)]
    graph = helper.make_graph(
        writer.nodes, function.sym_name.data, inputs, outputs, writer.constants
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", writer.opset)],
        ir_version=IR_VERSION,
        producer_name=PRODUCER,
    )
    check_model(model)
    return model


def export_bytes(module: ModuleOp) -> bytes:
    """The ONNX file of a graph; raises GlowError also where it is too large for one."""
    model = export_model(module)
    size = model.ByteSize()
    if size >= MAX_FILE:
        raise GlowError(f"the ONNX file would have {size} bytes; protobuf takes 2^31")
    return model.SerializeToString()


def write_operations(writer: Writer, operations: Iterable[Operation]) -> None:
    """Append the ONNX nodes of operations; raises GlowError for those that have none."""
    write_all(operations, lambda op: write_operation(writer, op), "ONNX")


def write_operation(writer: Writer, op: Operation) -> None:
    """Append the ONNX nodes of an operation."""
    if isinstance(op, func.ReturnOp):
        return
    if isinstance(op, glow.ConstantOp | glow.SplatOp):
        write_constant(writer, op)
        return
    for value in op.results:
        writer.declare(value, op.name.rsplit(".", 1)[-1])
    if isinstance(op, CASTS):
        write_cast(writer, op)
    elif type(op) in CONTROLS:
        CONTROLS[type(op)](writer, op, write_operations)
    elif isinstance(op, NodeOp) and type(op) in EXPORTS:
        inputs = [writer.name(value) for value in op.inputs]
        output, export = writer.name(op.results[0]), EXPORTS[type(op)]
        if op.is_quantized:
            export_quantized(writer, op, inputs, output, export)
        else:
            export(writer, op, inputs, output)
    else:
        raise CannotExport


def write_constant(writer: Writer, op: glow.ConstantOp | glow.SplatOp) -> None:
    """A constant as an initializer; a large one of one number is repeated at run time."""
    array = stored_value(op.result)
    assert array is not None
    data = quantization_of(op.result.type)
    if data is not None:
        array = stored_array(array, data)
    hint = op.result.name_hint or "constant"
    if array.size > SPLAT_ELEMENTS and not any(array.strides):
        number = writer.constant(np.asarray(array.reshape(-1)[0]), "number")
        shape = writer.integers(array.shape, "shape")
        writer.emit("Expand", [number, shape], writer.declare(op.result, hint))
    else:
        writer.bind(op.result, writer.constant(array, hint))


SPLAT_ELEMENTS = 64
CASTS = (QuantizeCastOp, DequantizeCastOp, StorageCastOp)


def write_cast(writer: Writer, op: Operation) -> None:
    """A cast of the `quant` dialect; that between integers and their types is nothing."""
    (source,), (result,) = op.operands, op.results
    name, output = writer.name(source), writer.name(result)
    data = quantization_of(result.type)
    if isinstance(op, StorageCastOp):
        writer.bind(result, name)
    elif isinstance(op, QuantizeCastOp) and data is not None:
        quantized(writer, name, data, output)
    else:
        writer.bind(result, dequantized(writer, source, name))


def check_model(model: ModelProto) -> None:
    """Raise GlowError where ONNX's checker refuses the model."""
    from onnx import checker, shape_inference

    try:
        checker.check_model(model, full_check=True)  # pyright: ignore[reportUnknownMemberType]
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        first = " ".join(str(error).split())
        raise GlowError(f"the ONNX model is not valid: {first[:300]}") from None
