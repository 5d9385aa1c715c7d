"""Random networks of volumes: planes in blocks of both forms give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import glow

Array: TypeAlias = NDArray[Any]
Choice = TypeVar("Choice")

CHANNELS = (5, 16, 24, 32)
KERNELS = ((1, 1, 1), (1, 3, 3), (3, 1, 1), (3, 3, 3), (5, 1, 1), (1, 1, 3))
STEPS = 7
SEEDS = range(32)


@dataclass
class Network:
    """A chain of nodes with a few branches, and the shape of each value."""

    random: np.random.Generator
    shapes: dict[str, tuple[int, ...]]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def weight(self, shape: tuple[int, ...], scale: float = 1.0) -> str:
        """A constant of random numbers."""
        values = self.random.standard_normal(shape).astype(np.float32) * scale
        name = f"w{len(self.weights)}"
        self.weights.append(
            numpy_helper.from_array(np.asarray(values, np.float32), name)
        )
        return name

    def add(
        self, kind: str, inputs: list[str], shape: tuple[int, ...], **attributes: object
    ) -> str:
        """A node whose result has a shape."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        self.shapes[name] = shape
        return name

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """One of some things."""
        return choices[int(self.random.integers(len(choices)))]

    def model(self, last: str) -> onnx.ModelProto:
        """The network as a model."""
        graph = helper.make_graph(
            self.nodes,
            "volumes",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shapes["x"])],
            [helper.make_tensor_value_info(last, TensorProto.FLOAT, self.shapes[last])],
            self.weights,
        )
        opset = helper.make_opsetid("", 17)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def convolution(net: Network, value: str) -> str:
    """A convolution, some with strides, pads and dilations."""
    batch, channels, *space = net.shapes[value]
    outputs = net.one_of(CHANNELS)
    kernel = net.one_of(KERNELS)
    same = net.random.random() < 0.7
    steps = [1, 1, 1] if same else [int(net.random.integers(1, 3)) for _ in space]
    wide = [1, 1, 1] if net.random.random() < 0.7 else [1 + (k > 1) for k in kernel]
    pads = [d * (k // 2) for k, d in zip(kernel, wide, strict=True)]
    sizes = tuple((s - 1) // step + 1 for s, step in zip(space, steps, strict=True))
    scale = float(1 / np.sqrt(channels * np.prod(kernel)))
    weights = [net.weight((outputs, channels, *kernel), scale), net.weight((outputs,))]
    return net.add(
        "Conv",
        [value, *weights],
        (batch, outputs, *sizes),
        strides=steps,
        dilations=wide,
        pads=pads + pads,
    )


def pool(net: Network, value: str) -> str:
    """A pool of one of the forms that a volume allows."""
    *front, depth, height, width = net.shapes[value]
    if min(depth, height, width) < 2:
        return value
    kernel = net.one_of(((1, 2, 2), (2, 1, 1), (2, 2, 2)))
    kind = net.one_of(("MaxPool", "AveragePool"))
    spaces = zip((depth, height, width), kernel, strict=True)
    sizes = (*front, *(size // step for size, step in spaces))
    return net.add(kind, [value], sizes, kernel_shape=kernel, strides=kernel)


def unary(net: Network, value: str) -> str:
    """An activation."""
    kind = net.one_of(("Relu", "Sigmoid", "Tanh"))
    return net.add(kind, [value], net.shapes[value])


def by_channel(net: Network, value: str) -> str:
    """A number for each channel."""
    kind = net.one_of(("Mul", "Add"))
    number = net.weight((net.shapes[value][1], 1, 1, 1))
    return net.add(kind, [value, number], net.shapes[value])


def normalization(net: Network, value: str) -> str:
    """Each channel of each volume normalized by itself."""
    shape = net.shapes[value]
    if np.prod(shape[2:]) < 2:
        return value
    factors = [net.weight((shape[1],)), net.weight((shape[1],))]
    return net.add("InstanceNormalization", [value, *factors], shape)


def gate(net: Network, value: str) -> str:
    """A number for each channel and image, which a mean gives."""
    batch, channels, *_ = shape = net.shapes[value]
    mean = net.add(
        "ReduceMean", [value], (batch, channels, 1, 1, 1), axes=[2, 3, 4], keepdims=1
    )
    return net.add("Mul", [value, mean], shape)


def join(net: Network, value: str) -> str:
    """Channels of two convolutions, side by side."""
    others = [
        name for name, shape in net.shapes.items()
        if shape[2:] == net.shapes[value][2:] and len(shape) == 5
    ]  # fmt: skip
    other = net.one_of(others)
    batch, channels, *space = net.shapes[value]
    shape = (batch, channels + net.shapes[other][1], *space)
    return net.add("Concat", [value, other], shape, axis=1)


def residual(net: Network, value: str) -> str:
    """A sum with what was before."""
    same = [name for name, shape in net.shapes.items() if shape == net.shapes[value]]
    return net.add("Add", [value, net.one_of(same)], net.shapes[value])


def padding(net: Network, value: str) -> str:
    """More channels, depths, rows or columns.

    Channels of one number other than 0 would be noise of rounding when they are normalized.
    """
    shape = net.shapes[value]
    pads = np.zeros((2, 5), np.int64)
    pads[:, 1] = net.one_of((0, 0, 4, 8, 16)), net.one_of((0, 4, 16))
    pads[:, 2:] = net.random.integers(0, 2, (2, 3)) * net.random.integers(0, 2, 3)
    name = net.weight((1,))
    net.weights[-1] = numpy_helper.from_array(pads.ravel(), name)
    number = net.weight((), scale=0.0 if pads[:, 1].any() else 1.0)
    sizes = tuple(int(size) for size in shape + pads.sum(0))
    return net.add("Pad", [value, name, number], sizes)


RULES: tuple[Callable[[Network, str], str], ...] = (
    convolution, convolution, convolution, pool, unary, by_channel, normalization, gate, join,
    residual, padding,
)  # fmt: skip


def random_network(seed: int) -> onnx.ModelProto:
    """A network of a few steps."""
    random = np.random.default_rng(seed)
    shape = (int(random.integers(1, 3)), int(random.integers(1, 20)), 6, 9, 8)
    net = Network(random, {"x": shape})
    value = convolution(net, "x")
    for _ in range(STEPS):
        rule = net.one_of(RULES)
        value = rule(net, value)
    return net.model(value)


def results(
    model: onnx.ModelProto,
    x: Array,
    *,
    backend: str = "cpu",
    target: str = "host",
    profile: glow.Profile | None = None,
) -> Array:
    """The only result of a model."""
    compiled = glow.compile(
        model, threads=1, backend=backend, target=target, quantize=profile or False
    )
    return np.asarray(next(iter(compiled.run({"x": x}).values())))


@pytest.mark.parametrize("seed", SEEDS)
def test_volumes_agree_with_the_interpreter(seed: int) -> None:
    model = random_network(seed)
    sizes = model.graph.input[0].type.tensor_type.shape.dim
    shape = [size.dim_value for size in sizes]
    x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    expected = results(model, x, backend="interpreter")
    largest = np.abs(expected).max()
    for target in ("host", "scalar"):
        found = results(model, x, target=target)
        np.testing.assert_allclose(found, expected, rtol=0, atol=4e-5 * largest)


QUANTIZED: dict[str, tuple[tuple[int, ...], dict[str, int | list[int]]]] = {
    "planes": ((3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    "one plane": ((1, 3, 3), {"pads": [0, 1, 1, 0, 1, 1], "strides": [1, 2, 2]}),
    "depths": ((3, 1, 1), {"pads": [1, 0, 0, 1, 0, 0], "strides": [2, 1, 1]}),
    "dilated": ((3, 3, 1), {"pads": [2, 2, 0, 2, 2, 0], "dilations": [2, 2, 1]}),
    "groups": ((2, 2, 2), {"group": 2}),
}


@pytest.mark.parametrize("case", QUANTIZED)
def test_quantized_volumes_are_convolutions_of_bytes(case: str) -> None:
    """Two layers between casts: the same bits as the interpreter, and those of exact sums."""
    kernel, attributes = QUANTIZED[case]
    random = np.random.default_rng(0)
    group = attributes.get("group", 1)
    assert isinstance(group, int)
    weights = random.integers(-127, 128, (16, 8 // group, *kernel)).astype(np.int8)
    scales = random.uniform(0.001, 0.01, 16).astype(np.float32)
    constants = {
        "w": weights, "w_scale": scales, "w_zero": np.zeros(16, np.int8),
        "scale": np.float32(0.02), "zero": np.uint8(117), "y_scale": np.float32(0.11),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["v"], axis=0),
        helper.make_node("Conv", ["d", "v"], ["c"], **attributes),
        helper.make_node("QuantizeLinear", ["c", "y_scale", "zero"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "quantized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 8, 5, 7, 6))],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )
    opset = helper.make_opsetid("", 21)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    x = random.standard_normal((1, 8, 5, 7, 6)).astype(np.float32)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    interpreted = results(model, x, backend="interpreter")
    assert np.abs(interpreted.astype(int) - expected.astype(int)).max() <= 1
    for target in ("host", "haswell", "scalar"):
        np.testing.assert_array_equal(results(model, x, target=target), interpreted)


def test_volumes_are_quantized_by_a_profile() -> None:
    random = np.random.default_rng(0)
    net = Network(random, {"x": (1, 8, 6, 9, 8)})
    value = "x"
    for kernel in ((3, 3, 3), (1, 3, 3), (3, 1, 1)):
        weights = net.weight((16, net.shapes[value][1], *kernel), 0.1)
        pads = [size // 2 for size in kernel] * 2
        value = net.add("Conv", [value, weights], (1, 16, 6, 9, 8), pads=pads)
        value = net.add("Relu", [value], (1, 16, 6, 9, 8))
    model = net.model(value)
    x = random.standard_normal((1, 8, 6, 9, 8)).astype(np.float32)
    profile = glow.profile(model, [{"x": x}])
    floats = results(model, x)
    found = {
        backend: results(model, x, profile=profile, backend=backend)
        for backend in ("cpu", "interpreter")
    }
    np.testing.assert_array_equal(found["cpu"], found["interpreter"])
    errors = np.abs(found["cpu"] - floats).max() / np.abs(floats).max()
    assert 0 < errors < 0.03
