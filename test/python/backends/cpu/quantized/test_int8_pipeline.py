"""Small quantized networks in native code: the interpreter's bits on every target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from support.programs.pipelines import passes_of

import glow
from glow.compiler import load, run_passes
from glow.interpreter import run
from glow.passes.graph.pipeline import graph_passes
from glow.passes.quantization.quantize import quantize_module

Array = npt.NDArray[Any]
Plane = tuple[int, int]


@dataclass(frozen=True)
class Layer:
    """A convolution, and what surrounds it."""

    inputs: int
    outputs: int
    plane: Plane
    kernel: Plane = (1, 1)
    strides: Plane = (1, 1)
    dilations: Plane = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    group: int = 1
    batch: int = 1
    signed: bool = False
    pool: str = ""


SAME = (1, 1, 1, 1)
LAYERS = {
    "pointwise": Layer(20, 35, (5, 7)),
    "one pixel": Layer(16, 3, (1, 1), batch=3),
    "few channels": Layer(3, 16, (9, 8), (3, 3), (2, 2), pads=SAME),
    "signed, padded": Layer(17, 18, (6, 5), (3, 3), pads=SAME, signed=True, batch=2),
    "dilated": Layer(8, 9, (9, 9), (3, 2), dilations=(2, 3), pads=(2, 3, 1, 0)),
    "groups of blocks": Layer(32, 64, (4, 5), (3, 3), pads=SAME, group=2),
    "few groups": Layer(12, 8, (5, 5), (3, 3), pads=SAME, group=4, signed=True),
    "many groups": Layer(36, 36, (4, 4), (3, 3), group=12),
    "depthwise": Layer(19, 19, (7, 6), (3, 3), (2, 1), pads=SAME, group=19),
    "signed depthwise": Layer(
        16, 16, (6, 6), (5, 5), pads=(2, 2, 2, 2), group=16, signed=True
    ),
    "largest": Layer(16, 33, (8, 8), (3, 3), pads=SAME, pool="MaxPool", batch=2),
    "averages": Layer(16, 18, (7, 6), pool="QLinearAveragePool", signed=True),
    "mean": Layer(4, 20, (5, 3), pool="QLinearGlobalAveragePool", batch=2),
}


class Network:
    """Builds an ONNX model of integer operators around a layer."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.random = np.random.default_rng(0)
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.dtype = np.int8 if layer.signed else np.uint8

    def constant(self, array: Array) -> str:
        """The name of a constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def parameters(self, scale: float) -> list[str]:
        """A scale and a random zero point."""
        point = self.random.integers(-5, 6) if self.layer.signed else 120
        scales = self.constant(np.array(scale, np.float32))
        return [scales, self.constant(np.array(point, self.dtype))]

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """The name of a node's result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(kind, list(inputs), [name], domain=domain, **attributes)
        )
        return name

    def convolution(
        self, value: str, source: list[str], channels: Plane, layer: Layer
    ) -> tuple[str, list[str]]:
        """A convolution with a scale a channel; its result and that one's parameters."""
        outputs, inputs = channels
        shape = (outputs, inputs // layer.group, *layer.kernel)
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        scales = self.random.uniform(0.001, 0.02, outputs).astype(np.float32)
        target = self.parameters(0.02 * float(np.sqrt(np.prod(shape[1:]))))
        result = self.node(
            "QLinearConv",
            value,
            *source,
            self.constant(weights),
            self.constant(scales),
            self.constant(np.zeros(outputs, np.int8)),
            *target,
            self.constant(self.random.integers(-999, 999, outputs).astype(np.int32)),
            kernel_shape=layer.kernel,
            strides=layer.strides,
            dilations=layer.dilations,
            pads=layer.pads,
            group=layer.group,
        )
        return result, target

    def pool(self, value: str, source: list[str]) -> tuple[str, list[str]]:
        """A pool, if the layer has one, and its parameters."""
        kind, window = self.layer.pool, {"kernel_shape": (3, 3), "pads": SAME}
        if kind in ("", "MaxPool"):
            pooled = self.node(kind, value, strides=(2, 2), **window) if kind else value
            return pooled, source
        target, attributes = self.parameters(0.03), {} if "Global" in kind else window
        operands = (value, *source, *target)
        return self.node(kind, *operands, domain="com.microsoft", **attributes), target

    def model(self) -> ModelProto:
        """Layer, pool, another convolution, their sum, as floats."""
        layer = self.layer
        source = self.parameters(0.03)
        value = self.node("QuantizeLinear", "x", *source)
        channels = layer.outputs, layer.inputs
        first, of_first = self.convolution(value, source, channels, layer)
        first, of_first = self.pool(first, of_first)
        plain = Layer(layer.outputs, layer.outputs, (0, 0))
        channels = layer.outputs, layer.outputs
        second, of_second = self.convolution(first, of_first, channels, plain)
        of_sum = self.parameters(0.2)
        operands = (second, *of_second, first, *of_first, *of_sum)
        total = self.node("QLinearAdd", *operands, domain="com.microsoft")
        result = self.node("DequantizeLinear", total, *of_sum)
        shape = (layer.batch, layer.inputs, *layer.plane)
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_empty_tensor_value_info(result)],
            self.constants,
        )
        opsets = [
            helper.make_opsetid("", 19),
            helper.make_opsetid("com.microsoft", 1),
        ]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_native_code_has_the_interpreters_bits(name: str) -> None:
    """With and without dot-product instructions, for any number of threads."""
    layer = LAYERS[name]
    model = Network(layer).model()
    random = np.random.default_rng(1)
    shape = (layer.batch, layer.inputs, *layer.plane)
    inputs = {"x": (3 * random.standard_normal(shape)).astype(np.float32)}
    module = load(model)
    run_passes(module, graph_passes())
    quantize_module(module)
    (expected,) = run(module, list(inputs.values()))
    assert len(np.unique(expected)) > 3
    for target, threads in (("host", 1), ("host", 2), ("avx2", 1), ("scalar", 2)):
        compiled = glow.compile(model, target=target, threads=threads)
        (found,) = compiled.run(inputs).values()
        np.testing.assert_array_equal(found, expected, err_msg=f"{target}, {threads}")


@pytest.mark.parametrize("name", ["pointwise", "signed, padded", "signed depthwise"])
def test_sums_finish_in_the_kernel(name: str) -> None:
    """Two kernels of products, nothing element-wise between casts at the borders."""
    module = load(Network(LAYERS[name]).model())
    run_passes(module, graph_passes())
    quantize_module(module)
    run_passes(module, passes_of("lowered"))
    names = [op.name for op in module.walk()]
    products = [n for n in names if n.startswith("cpu.int8_")]
    assert len(products) == 2
    first, last = (names.index(product) for product in products)
    assert "glow.clip" not in names[first:last]
    assert "glow.add" not in names[first:]
