"""Writes small networks of ONNX as int8 files of TensorFlow Lite.

Layers, shapes, weights and ranges are those of the ONNX model, without TensorFlow's converter:
batch normalization is folded, activations are fused, weights are symmetric, one scale a channel
(one a matrix of a dense layer), as its converter writes them. Padding is TensorFlow's SAME, which
at strides of two begins one pixel later than ONNX's. Reshapes in front of dense layers are left
out, which takes an operator less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import flatbuffers
import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto, numpy_helper

from benchmarks.networks import embedded

SCHEMA_VERSION = 3
IDENTIFIER = b"TFL3"
LOWEST, LEVELS = -128, 255
WEIGHT_LEVELS = 127

RELU, RELU6 = "RELU", "RELU6"
PASSED_ON = ("Flatten", "Reshape")

Array = np.ndarray


@dataclass(frozen=True)
class Scale:
    """How bytes stand for numbers: `scale * (byte - zero_point)`."""

    scale: Array
    zero_point: Array
    axis: int = 0

    @staticmethod
    def of_range(low: float, high: float) -> Scale:
        """That of activations."""
        low, high = min(low, 0.0), max(high, 0.0)
        scale = max(high - low, 1e-6) / LEVELS
        return Scale(np.array([scale]), np.array([LOWEST + round(-low / scale)]))

    @staticmethod
    def of_weights(weights: Array, axis: int | None) -> Scale:
        """One for each channel along an axis, or one."""
        others = [k for k in range(weights.ndim) if k != axis]
        largest = np.abs(weights).max(axis=tuple(others)).reshape(-1)
        return Scale(largest / WEIGHT_LEVELS, np.zeros(largest.size, int), axis or 0)


class ModelWriter:
    """Builds one file; `schema` is the module that flatbuffers made of TensorFlow's schema."""

    def __init__(self, model: ModelProto, schema: ModuleType) -> None:
        self.schema = schema
        self.nodes = list(model.graph.node)
        self.model = model
        self.weights = {
            each.name: numpy_helper.to_array(each) for each in model.graph.initializer
        }
        self.values = sample_values(model)
        self.sources: dict[str, str] = {}
        """The value that another one is, behind reshapes."""
        self.tensors: list[object] = []
        self.buffers = [schema.BufferT()]
        self.operators: list[object] = []
        self.operator_names: list[str] = []
        self.of_value: dict[str, tuple[int, Scale]] = {}

    def content(self) -> bytes:
        """The file."""
        schema, graph = self.schema, self.model.graph
        (source,) = (each.name for each in graph.input if each.name not in self.weights)
        self.activation(source)
        while self.nodes:
            self._node(self.nodes.pop(0))
        names = self.resolved(graph.output[0].name)
        subgraph = schema.SubGraphT()
        subgraph.tensors, subgraph.operators = self.tensors, self.operators
        subgraph.inputs = [self.of_value[source][0]]
        subgraph.outputs = [self.of_value[names][0]]
        model = schema.ModelT()
        model.version = SCHEMA_VERSION
        model.subgraphs, model.buffers = [subgraph], self.buffers
        model.operatorCodes = [self._code(name) for name in self.operator_names]
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
        return bytes(builder.Output())

    def resolved(self, name: str) -> str:
        """The value of which another is a view."""
        return self.sources.get(name, name)

    def activation(self, name: str, scale: Scale | None = None) -> tuple[int, Scale]:
        """The tensor of a value, and its scale."""
        name = self.resolved(name)
        if name not in self.of_value:
            value = self.values[name]
            scale = scale or Scale.of_range(float(value.min()), float(value.max()))
            shape = channels_last(value).shape
            self.of_value[name] = self._tensor(name, shape, scale), scale
        return self.of_value[name]

    def _node(self, node: NodeProto) -> None:
        if node.op_type in PASSED_ON:
            self.sources[node.output[0]] = self.resolved(node.input[0])
            return
        write = {
            "Conv": self._convolution,
            "Gemm": self._dense,
            "Add": self._sum,
            "GlobalAveragePool": self._pool,
        }[node.op_type]
        write(node)

    def _convolution(self, node: NodeProto) -> None:
        schema = self.schema
        fields = {
            each.name: onnx.helper.get_attribute_value(each) for each in node.attribute
        }
        weights = self.weights[node.input[1]]
        bias = (
            self.weights[node.input[2]]
            if len(node.input) > 2
            else np.zeros(len(weights))
        )
        result = node.output[0]
        norm = self._follower(result, "BatchNormalization")
        if norm is not None:
            factor, shift = folded(norm, self.weights)
            weights, bias = weights * factor[:, None, None, None], bias * factor + shift
            result = norm.output[0]
        is_depthwise = fields.get("group", 1) > 1
        result, fused = self._fused(result)
        options = (
            schema.DepthwiseConv2DOptionsT if is_depthwise else schema.Conv2DOptionsT
        )()
        if is_depthwise:
            options.depthMultiplier = 1
        options.strideH, options.strideW = fields.get("strides", (1, 1))
        options.fusedActivationFunction = fused
        is_padded = any(fields.get("pads", (0,)))
        padding = schema.Padding
        options.padding = padding.SAME if is_padded else padding.VALID
        axes, axis = ((1, 2, 3, 0), 3) if is_depthwise else ((0, 2, 3, 1), 0)
        constants = weights.transpose(axes), bias, axis
        code = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
        self._product(code, options, node.input[0], constants, result)

    def _dense(self, node: NodeProto) -> None:
        fields = {
            each.name: onnx.helper.get_attribute_value(each) for each in node.attribute
        }
        weights = self.weights[node.input[1]]
        weights = weights if fields.get("transB") else weights.T
        result, fused = self._fused(node.output[0])
        options = self.schema.FullyConnectedOptionsT()
        options.fusedActivationFunction = fused
        constants = weights, self.weights[node.input[2]], None
        self._product("FULLY_CONNECTED", options, node.input[0], constants, result)

    def _product(
        self,
        code: str,
        options: object,
        source: str,
        constants: tuple[Array, Array, int | None],
        result: str,
    ) -> None:
        """An operator with weights and a bias."""
        weights, bias, axis = constants
        image, image_scale = self.activation(source)
        scale = Scale.of_weights(weights, axis)
        shape = [1] * weights.ndim
        shape[axis or 0] = -1
        levels = np.rint(weights / scale.scale.reshape(shape)).astype(np.int8)
        sums = Scale(image_scale.scale * scale.scale, scale.zero_point)
        numbers = np.rint(bias / sums.scale).astype(np.int32)
        inputs = [
            image,
            self._tensor(f"{result}.weights", levels.shape, scale, levels),
            self._tensor(f"{result}.bias", numbers.shape, sums, numbers),
        ]
        self._operator(code, options, inputs, self.activation(result)[0])

    def _sum(self, node: NodeProto) -> None:
        options = self.schema.AddOptionsT()
        result, options.fusedActivationFunction = self._fused(node.output[0])
        inputs = [self.activation(name)[0] for name in node.input]
        self._operator("ADD", options, inputs, self.activation(result)[0])

    def _pool(self, node: NodeProto) -> None:
        options = self.schema.Pool2DOptionsT()
        options.padding = self.schema.Padding.VALID
        image, scale = self.activation(node.input[0])
        _, _, height, width = self.values[self.resolved(node.input[0])].shape
        options.filterHeight, options.filterWidth = height, width
        options.strideH = options.strideW = 1
        result, _ = self.activation(node.output[0], scale)
        self._operator("AVERAGE_POOL_2D", options, [image], result)

    def _follower(self, value: str, kind: str) -> NodeProto | None:
        """The next node that takes a value, removed, if it is of a kind."""
        users = [node for node in self.nodes if value in node.input]
        if len(users) != 1 or users[0].op_type != kind:
            return None
        self.nodes.remove(users[0])
        return users[0]

    def _fused(self, value: str) -> tuple[str, int]:
        """The value behind an activation that is fused, and which it is."""
        kinds = self.schema.ActivationFunctionType
        for kind, name in (("Relu", RELU), ("Clip", RELU6)):
            node = self._follower(value, kind)
            if node is not None:
                return node.output[0], getattr(kinds, name)
        return value, kinds.NONE

    def _operator(
        self, code: str, options: object, inputs: Sequence[int], output: int
    ) -> None:
        if code not in self.operator_names:
            self.operator_names.append(code)
        operator = self.schema.OperatorT()
        operator.opcodeIndex = self.operator_names.index(code)
        operator.inputs, operator.outputs = list(inputs), [output]
        operator.builtinOptions = options
        kind = type(options).__name__.removesuffix("T")
        operator.builtinOptionsType = getattr(self.schema.BuiltinOptions, kind)
        self.operators.append(operator)

    def _code(self, name: str) -> object:
        code, number = (
            self.schema.OperatorCodeT(),
            getattr(self.schema.BuiltinOperator, name),
        )
        code.builtinCode = code.deprecatedBuiltinCode = number
        return code

    def _tensor(
        self,
        name: str,
        shape: Sequence[int],
        scale: Scale,
        content: Array | None = None,
    ) -> int:
        """The number of a new tensor."""
        schema = self.schema
        tensor, quantization = schema.TensorT(), schema.QuantizationParametersT()
        tensor.name, tensor.shape = name.encode(), list(map(int, shape))
        tensor.type = schema.TensorType.INT8
        quantization.scale = scale.scale.astype(np.float32)
        quantization.zeroPoint = scale.zero_point.astype(np.int64)
        quantization.quantizedDimension = scale.axis
        tensor.quantization = quantization
        if content is not None:
            if content.dtype == np.int32:
                tensor.type = schema.TensorType.INT32
            tensor.buffer = len(self.buffers)
            self.buffers.append(schema.BufferT())
            self.buffers[-1].data = content.reshape(-1).view(np.uint8)
        self.tensors.append(tensor)
        return len(self.tensors) - 1


def sample_values(model: ModelProto) -> dict[str, Array]:
    """All values of a model on a sample."""
    inner = ModelProto()
    inner.CopyFrom(onnx.shape_inference.infer_shapes(model))
    known = {each.name for each in inner.graph.output}
    inner.graph.output.extend(
        each for each in inner.graph.value_info if each.name not in known
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(inner.SerializeToString(), options)
    names = [each.name for each in session.get_outputs()]
    inputs = embedded.sample_inputs(model, 1)
    return {**inputs, **dict(zip(names, session.run(names, inputs), strict=True))}


def channels_last(value: Array) -> Array:
    """[N, C, H, W] as [N, H, W, C]."""
    return value.transpose(0, 2, 3, 1) if value.ndim == 4 else value


def folded(norm: NodeProto, weights: Mapping[str, Array]) -> tuple[Array, Array]:
    """What batch normalization multiplies by, and what it adds."""
    scale, bias, mean, variance = (weights[name] for name in norm.input[1:])
    factor = scale / np.sqrt(variance + 1e-5)
    return factor, bias - mean * factor
