"""Convolutions, matrix products, normalizations, pools, recurrent layers as ONNX operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.exporters.failures import CannotExport
from glow.exporters.onnx.elementwise import Export, clip, with_attributes
from glow.exporters.onnx.writer import OnnxValue, Writer, attribute_of

WINDOW = {name: name for name in ("strides", "pads", "dilations")}


# -- activations that products absorb


def _activate(writer: Writer, op: NodeOp, value: str, output: str) -> None:
    """The activation of a product as a node of its own."""
    name, arguments = (
        attribute_of(op, "activation"),
        attribute_of(op, "activation_args"),
    )
    numbers = [float(a) for a in arguments] if isinstance(arguments, list) else []
    if name == "clip":
        clip(writer, value, numbers, element_of(op.results[0]), output)
    elif name == "leaky_relu":
        writer.emit("LeakyRelu", [value], output, alpha=numbers[0])
    elif name in PLAIN_ACTIVATIONS:
        writer.emit(PLAIN_ACTIVATIONS[str(name)], [value], output)
    else:
        raise CannotExport(f"with the activation {name}")


PLAIN_ACTIVATIONS = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "hard_swish": "HardSwish",
}


def activated(export: Export) -> Export:
    """What writes a product, then its activation, if it has one."""

    def both(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        if attribute_of(op, "activation") in (0, "", "none"):
            export(writer, op, inputs, output)
        else:
            product = writer.fresh("product")
            export(writer, op, inputs, product)
            _activate(writer, op, product, output)

    return both


# -- products


def _window(operator: str, *more: str) -> Export:
    names = WINDOW | {name: name for name in more}

    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        values = {name: attribute_of(op, own) for name, own in names.items()}
        kernel = shape_of(op.operands[1])[2:]
        writer.emit(operator, inputs, output, kernel_shape=kernel, **values)

    return export


def _transposed(writer: Writer, value: str, rank: int, flag: OnnxValue) -> str:
    if not flag:
        return value
    axes = [*range(rank - 2), rank - 1, rank - 2]
    return writer.emit("Transpose", [value], perm=axes)


def _matmul(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    operands = [
        _transposed(writer, name, len(shape_of(value)), attribute_of(op, flag))
        for name, value, flag in zip(
            inputs, op.operands, ("transpose_lhs", "transpose_rhs"), strict=False
        )
    ]
    writer.emit("MatMul", operands, output)


def _fully_connected(
    writer: Writer, op: NodeOp, inputs: list[str], output: str
) -> None:
    if len(inputs) == 2:
        writer.emit("MatMul", inputs, output)
        return
    writer.emit("Add", [writer.emit("MatMul", inputs[:2]), inputs[2]], output)


def _attention(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    """softmax(scale * Q x K' + mask) x V."""
    queries, keys, values, *mask = inputs
    scale = writer.scalar(
        float(str(attribute_of(op, "scale"))), element_of(op.operands[0])
    )
    scaled = writer.emit("Mul", [queries, scale])
    turned = _transposed(writer, keys, len(shape_of(op.operands[1])), 1)
    scores = writer.emit("MatMul", [scaled, turned])
    if mask:
        scores = writer.emit("Add", [scores, mask[0]])
    shares = writer.emit("Softmax", [scores], axis=-1)
    writer.emit("MatMul", [shares, values], output)


# -- pools, normalizations and reductions


def _pool(operator: str, *more: str) -> Export:
    names = ("strides", "pads", "ceil_mode", *more)

    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        values = {name: attribute_of(op, name) for name in names}
        dilations, kernel = attribute_of(op, "dilations"), attribute_of(op, "kernel")
        if isinstance(dilations, list) and set(dilations) != {1}:
            # ONNX Runtime stumbles over those of quantized pools, even where all are 1.
            values["dilations"] = dilations
        writer.emit(operator, inputs, output, kernel_shape=kernel, **values)

    return export


def _reduction(operator: str) -> Export:
    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        axes = attribute_of(op, "axes")
        assert isinstance(axes, list)
        names = [*inputs, writer.integers([int(a) for a in axes], "axes")]
        keep = attribute_of(op, "keepdims")
        writer.emit(operator, names, output, keepdims=keep, noop_with_empty_axes=1)

    return export


def _position(operator: str) -> Export:
    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        element = element_of(op.results[0])
        is_wide = dtype_of(element) == np.int64
        found = writer.emit(
            operator,
            inputs,
            output if is_wide else None,
            axis=attribute_of(op, "axis"),
            keepdims=attribute_of(op, "keepdims"),
            select_last_index=attribute_of(op, "select_last"),
        )
        if not is_wide:
            writer.emit("Cast", [found], output, to=writer.data_type(element))

    return export


# -- recurrent layers


def _recurrent(
    operator: str, more: Callable[[Operation], dict[str, OnnxValue]]
) -> Export:
    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        sequence, weights, recurrence, bias, *states = inputs
        outputs = [output, *(writer.name(value) for value in op.results[1:])]
        writer.emit(
            operator,
            [sequence, weights, recurrence, bias, "", *states],
            outputs,
            direction=attribute_of(op, "direction"),
            hidden_size=shape_of(op.operands[2])[2],
            **more(op),
        )

    return export


def _functions(op: Operation) -> dict[str, OnnxValue]:
    count = 2 if attribute_of(op, "direction") == "bidirectional" else 1
    name = str(attribute_of(op, "activation")).capitalize()
    return {"activations": [name] * count}  # pyright: ignore[reportReturnType]


def _dynamic_quantize(
    writer: Writer, op: NodeOp, inputs: list[str], output: str
) -> None:
    outputs = [writer.name(value) for value in op.results]
    writer.emit("DynamicQuantizeLinear", inputs, outputs)


def _integer_product(operator: str, *names: str) -> Export:
    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        values = {name: attribute_of(op, name) for name in names}
        writer.emit(operator, inputs, output, **values)

    return export


EXPORTS: Mapping[type[NodeOp], Export] = {
    glow.Conv2dOp: activated(_window("Conv", "group")),
    glow.Conv3dOp: _window("Conv", "group"),
    glow.ConvTranspose2dOp: _window("ConvTranspose", "group", "output_padding"),
    glow.ConvTranspose3dOp: _window("ConvTranspose", "group", "output_padding"),
    glow.Conv2dIntegerOp: _integer_product("ConvInteger", "group", *WINDOW),
    glow.MatmulIntegerOp: _integer_product("MatMulInteger"),
    glow.MaxPool2dOp: _pool("MaxPool"),
    glow.AvgPool2dOp: _pool("AveragePool", "count_include_pad"),
    glow.MatmulOp: _matmul,
    glow.FullyConnectedOp: activated(_fully_connected),
    glow.GemmOp: with_attributes(
        "Gemm", alpha="alpha", beta="beta", transA="transpose_lhs", transB="transpose_rhs"
    ),
    glow.AttentionOp: _attention,
    glow.BatchNormOp: with_attributes("BatchNormalization", epsilon="epsilon"),
    glow.LayerNormOp: with_attributes(
        "LayerNormalization", axis="axis", epsilon="epsilon"
    ),
    glow.LocalResponseNormOp: with_attributes(
        "LRN", size="size", alpha="alpha", beta="beta", bias="offset"
    ),
    glow.SoftmaxOp: with_attributes("Softmax", axis="axis"),
    glow.LogSoftmaxOp: with_attributes("LogSoftmax", axis="axis"),
    glow.ReduceSumOp: _reduction("ReduceSum"),
    glow.ReduceMeanOp: _reduction("ReduceMean"),
    glow.ReduceMaxOp: _reduction("ReduceMax"),
    glow.ReduceMinOp: _reduction("ReduceMin"),
    glow.ReduceProdOp: _reduction("ReduceProd"),
    glow.ArgMaxOp: _position("ArgMax"),
    glow.ArgMinOp: _position("ArgMin"),
    glow.LstmOp: _recurrent("LSTM", lambda op: {}),
    glow.GruOp: _recurrent(
        "GRU",
        lambda op: {"linear_before_reset": attribute_of(op, "linear_before_reset")},
    ),
    glow.RnnOp: _recurrent("RNN", _functions),
    glow.DynamicQuantizeOp: _dynamic_quantize,
}  # fmt: skip
"""Node class to what writes it."""
