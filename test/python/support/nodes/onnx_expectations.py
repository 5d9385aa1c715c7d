"""What ONNX's reference implementation gives for the examples of `node_examples`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from support.nodes.differential import Array, Example
from xdsl.dialects.builtin import TensorType

from glow.dialects import glow
from glow.dialects.node import SEGMENTS, NodeOp
from glow.frontends.onnx.operators.plain import operators

OPSET = 23

Call: TypeAlias = tuple[str, Sequence[Array | None], dict[str, Any]]
"""Operator, inputs (None where left out) and attributes of an ONNX node."""


def evaluate(call: Call, results: int = 1) -> list[Array]:
    """The results of one ONNX node."""
    operator, inputs, attributes = call
    names = ["" if x is None else f"x{n}" for n, x in enumerate(inputs)]
    outputs = [f"y{n}" for n in range(results)]
    node = onnx.helper.make_node(operator, names, outputs, **attributes)
    feeds = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    unknown = onnx.TypeProto()
    graph = onnx.helper.make_graph(
        [node],
        operator,
        [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
            )
            for name, x in feeds.items()
        ],
        [onnx.helper.make_value_info(name, unknown) for name in outputs],
    )
    opsets = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    return [np.asarray(y) for y in ReferenceEvaluator(model).run(None, feeds)]


def same(operator: str, **settings: Any) -> Callable[[Example], Call]:
    """A node whose operands are those of the ONNX operator."""
    return lambda example: (operator, example.inputs, settings)


def unit(operator: str, *names: str, **settings: Any) -> Callable[[Example], Call]:
    """A node whose named attributes, unit ones as 0 or 1, are the operator's too."""

    def call(example: Example) -> Call:
        attributes = {
            name: int(value) if isinstance(value, bool) else value
            for name, value in example.attributes.items()
            if name in names
        }
        return operator, example.inputs, settings | attributes

    return call


def clip(example: Example) -> Call:
    """Clip has its bounds as inputs."""
    (x,) = example.inputs
    bounds = [
        None if (bound := example.attributes.get(name)) is None
        else np.asarray(bound, x.dtype)
        for name in ("low", "high")
    ]  # fmt: skip
    return "Clip", (x, *bounds), {}


def elu(example: Example) -> Call:
    """Selu is Elu with a factor."""
    return "Selu", example.inputs, {"alpha": 1.0, "gamma": 1.0} | example.attributes


def conv(example: Example) -> Call:
    """Conv wants its kernel's shape."""
    call = unit("Conv", "strides", "pads", "dilations", "group")(example)
    return call[0], call[1], call[2] | {"kernel_shape": example.inputs[1].shape[2:]}


def conv_transpose(example: Example) -> Call:
    """The output is as large as asked for, as the pads of the operator say it."""
    names = ("strides", "pads", "dilations", "output_padding", "group")
    call = unit("ConvTranspose", *names)(example)
    return call[0], call[1], call[2] | {"kernel_shape": example.inputs[1].shape[2:]}


def pool(operator: str) -> Callable[[Example], Call]:
    """The kernel has another name; reduction over windows."""
    names = ("strides", "pads", "dilations", "ceil_mode", "count_include_pad")

    def call(example: Example) -> Call:
        _, inputs, attributes = unit(operator, *names)(example)
        return (
            operator,
            inputs,
            attributes | {"kernel_shape": example.attributes["kernel"]},
        )

    return call


def gemm(example: Example) -> Call:
    """The transposes have other names."""
    attributes = {"alpha": 1.0, "beta": 1.0} | example.attributes
    attributes["transA"] = int(attributes.pop("transpose_lhs", False))
    attributes["transB"] = int(attributes.pop("transpose_rhs", False))
    return "Gemm", example.inputs, attributes


def attention(example: Example) -> Call:
    """The mask has at least the scores' two axes; the default scale is another."""
    queries, keys, values, *masks = example.inputs
    shape = (queries.shape[-2], keys.shape[-2])
    masks = [x if x.ndim > 1 else np.broadcast_to(x, shape) for x in masks]
    attributes = {"scale": example.attributes.get("scale", 1.0)}
    return "Attention", (queries, keys, values, *masks), attributes


def reduction(operator: str) -> Callable[[Example], Call]:
    """Axes are an input; without axes nothing is reduced."""

    def call(example: Example) -> Call:
        axes = np.array(example.attributes["axes"], np.int64)
        keep = int(example.attributes.get("keepdims", False))
        attributes = {"keepdims": keep, "noop_with_empty_axes": 1}
        return operator, (*example.inputs, axes), attributes

    return call


def position(operator: str) -> Callable[[Example], Call]:
    """`keepdims` has another default."""

    def call(example: Example) -> Call:
        attributes = {
            "axis": example.attributes["axis"],
            "keepdims": int(example.attributes.get("keepdims", False)),
            "select_last_index": int(example.attributes.get("select_last", False)),
        }
        return operator, example.inputs, attributes

    return call


def local_response_norm(example: Example) -> Call:
    """The offset is called bias."""
    attributes = dict(example.attributes)
    attributes["bias"] = attributes.pop("offset")
    return "LRN", example.inputs, attributes


def with_shape(operator: str) -> Callable[[Example], Call]:
    """Reshape and Expand take the target's shape as an input."""

    def call(example: Example) -> Call:
        assert isinstance(example.result, TensorType)
        shape = np.array(example.result.get_shape(), np.int64)
        return operator, (*example.inputs, shape), {}

    return call


def slice_(example: Example) -> Call:
    """Ends instead of sizes."""
    attributes = example.attributes
    starts, sizes, steps = (
        np.array(attributes[name]) for name in ("starts", "sizes", "steps")
    )
    ends = starts + sizes * steps
    ends[ends < 0] = -(10**6)
    axes = np.arange(len(starts))
    return "Slice", (*example.inputs, starts, ends, axes, steps), {}


def pad(example: Example) -> Call:
    """Pads and value are inputs."""
    pads = np.array(example.attributes["pads"], np.int64)
    value = np.array(example.attributes.get("value", 0.0), np.float32)
    mode = example.attributes.get("mode", "constant")
    return "Pad", (*example.inputs, pads, value), {"mode": mode}


def tile(example: Example) -> Call:
    """Repeats are an input."""
    repeats = np.array(example.attributes["repeats"], np.int64)
    return "Tile", (*example.inputs, repeats), {}


def plain(node: type[NodeOp]) -> Callable[[Example], Call] | None:
    """The call of a node that says itself which operator it is."""
    name = next(iter(operators(node.ONNX)), None)
    properties = node.get_irdl_definition().properties
    return name and unit(name, *(each for each in properties if each != SEGMENTS))


ONNX: dict[type[NodeOp], Callable[[Example], Call]] = {
    **{node: call for node in glow.NODES if (call := plain(node))},
    glow.PowOp: same("Pow"),
    glow.ShiftLeftOp: same("BitShift", direction="LEFT"),
    glow.ShiftRightOp: same("BitShift", direction="RIGHT"),
    glow.MaxOp: same("Max"),
    glow.MinOp: same("Min"),
    glow.FmodOp: same("Mod", fmod=1),
    glow.GeluOp: same("Gelu"),
    glow.GeluTanhOp: same("Gelu", approximate="tanh"),
    glow.ClipOp: clip,
    glow.EluOp: elu,
    glow.Conv2dOp: conv,
    glow.Conv3dOp: conv,
    glow.ConvTranspose2dOp: conv_transpose,
    glow.ConvTranspose3dOp: conv_transpose,
    glow.MaxPool2dOp: pool("MaxPool"),
    glow.AvgPool2dOp: pool("AveragePool"),
    glow.MatmulOp: same("MatMul"),
    glow.GemmOp: gemm,
    glow.AttentionOp: attention,
    glow.BatchNormOp: unit("BatchNormalization", "epsilon"),
    glow.LayerNormOp: unit("LayerNormalization", "axis", "epsilon"),
    glow.LocalResponseNormOp: local_response_norm,
    glow.SoftmaxOp: unit("Softmax", "axis"),
    glow.LogSoftmaxOp: unit("LogSoftmax", "axis"),
    glow.ReduceSumOp: reduction("ReduceSum"),
    glow.ReduceMeanOp: reduction("ReduceMean"),
    glow.ReduceMaxOp: reduction("ReduceMax"),
    glow.ReduceMinOp: reduction("ReduceMin"),
    glow.ReduceProdOp: reduction("ReduceProd"),
    glow.ArgMaxOp: position("ArgMax"),
    glow.ArgMinOp: position("ArgMin"),
    glow.ReshapeOp: with_shape("Reshape"),
    glow.TransposeOp: lambda example: (
        "Transpose", example.inputs, {"perm": example.attributes["permutation"]}
    ),
    glow.ConcatOp: unit("Concat", "axis"),
    glow.SliceOp: slice_,
    glow.PadOp: pad,
    glow.BroadcastOp: with_shape("Expand"),
    glow.TileOp: tile,
    glow.GatherOp: unit("Gather", "axis"),
    glow.GatherElementsOp: unit("GatherElements", "axis"),
    glow.GatherNDOp: unit("GatherND", "batch_dims"),
}  # fmt: skip
"""The ONNX operator of each node that has one."""
