"""Kernels in configurations that the search may try: whatever is chosen, the same bits.

A seed is a network of one node of random sizes, of the family whose turn it is. It is compiled as
the cost model says and then with each candidate of its kernels, weights packed for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import onnx
from checks import Wrong
from onnx import TensorProto, helper, numpy_helper

from glow.backends.cpu.tuning.algorithms import AlgorithmSpec
from glow.backends.cpu.tuning.candidates import candidates
from glow.backends.cpu.tuning.families import spec_text
from glow.compiler import compile as compile_anew
from glow.lowering.target.target import host_target
from glow.tuning import choices
from glow.tuning.records import kernel_key

SEED_STEP = 3
"""From a seed to the next one."""

KINDS = {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8}
RESULTS = {
    "ConvInteger": TensorProto.INT32,
    "MatMulInteger": TensorProto.INT32,
    "QLinearConv": TensorProto.UINT8,
}
"""Of inputs and of operators, where they are not floats."""

Array = np.ndarray[Any, Any]
Parts = tuple[dict[str, Array], dict[str, Array], list[tuple[Any, ...]]]
"""Inputs, weights, and nodes as (operator, inputs, outputs, attributes)."""


def check_configs(seed: int, most: int | None = None) -> int:
    """Compile a network with all other candidates, or with so many; the number of comparisons."""
    random = np.random.default_rng(seed)
    name = list(FAMILIES)[seed // SEED_STEP % len(FAMILIES)]
    inputs, weights, nodes = FAMILIES[name](random)
    model = network(inputs, weights, nodes)
    asked: dict[str, Any] = {}

    def note(spec: object, config: object) -> None:
        if not isinstance(spec, AlgorithmSpec):
            asked[kernel_key(spec_text(spec))] = spec

    with choices.using({}), choices.watching(note):
        expected = compile_anew(model).run(inputs)
    every = {key: candidates(spec, host_target()) for key, spec in asked.items()}
    longest = max(map(len, every.values()), default=1)
    turns = random.permutation(np.arange(1, longest))[:most]
    for turn in turns:
        tried = {key: configs[turn % len(configs)] for key, configs in every.items()}
        with choices.using({key: asdict(config) for key, config in tried.items()}):
            result = compile_anew(model).run(inputs)
        for output, array in expected.items():
            if not np.array_equal(array, result[output], equal_nan=True):
                raise Wrong(f"seed {seed}: {name}: other bits with {tried.values()}")
    return len(turns)


def network(
    inputs: Mapping[str, Array], weights: Mapping[str, Array], nodes: list[Any]
) -> onnx.ModelProto:
    """The model of some nodes."""
    results = [name for _, _, outputs, _ in nodes for name in outputs if name[0] == "y"]
    kind = RESULTS.get(nodes[0][0], TensorProto.FLOAT)
    graph = helper.make_graph(
        [helper.make_node(op, ins, outs, **more) for op, ins, outs, more in nodes],
        "one",
        [
            helper.make_tensor_value_info(
                name, KINDS.get(array.dtype, TensorProto.FLOAT), array.shape
            )
            for name, array in inputs.items()
        ],
        [helper.make_tensor_value_info(name, kind, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def floats(random: np.random.Generator, *shape: int) -> Array:
    """Normal numbers, as weights have."""
    return random.standard_normal(shape).astype(np.float32)


def conv(
    random: np.random.Generator,
    kernel: tuple[int, ...] = (1, 2, 3, 5),
    strides: tuple[int, ...] = (1, 2),
) -> Parts:
    """A convolution in channel blocks."""
    size, stride = int(random.choice(kernel)), int(random.choice(strides))
    channels, outputs = (int(n) for n in random.integers(3, 70, 2))
    plane = random.integers(size, 24, 2)
    images = int(random.choice([1, 1, 2, 5]))
    pad = int(random.integers(0, size // 2 + 1))
    return one_conv(
        floats(random, images, channels, *plane),
        floats(random, outputs, channels, size, size),
        {"strides": [stride] * 2, "pads": [pad] * 4},
    )


def one_conv(image: Array, weights: Array, more: dict[str, Any]) -> Parts:
    """A network of one convolution."""
    node = "Conv" if image.dtype == np.float32 else "ConvInteger"
    return {"x": image}, {"w": weights}, [(node, ["x", "w"], ["y"], more)]


def winograd(random: np.random.Generator) -> Parts:
    """Many channels, 3 x 3, stride one."""
    channels, outputs = 16 * random.integers(3, 9, 2)
    plane = random.integers(12, 36, 2)
    image = floats(random, 1, channels, *plane)
    weights = floats(random, outputs, channels, 3, 3)
    return one_conv(image, weights, {"pads": [1] * 4})


def lines(random: np.random.Generator) -> Parts:
    """Convolutions over time, with a dilation that may divide the length, and pads before."""
    channels, outputs = 16 * random.integers(1, 9, 2)
    taps, dilation = int(random.integers(2, 8)), int(random.choice([1, 2, 3, 16, 64]))
    length = int(random.integers(2, 12) * random.choice([8, 15, dilation]))
    rest = dilation * (taps - 1)
    weights = floats(random, outputs, channels, taps)
    more = {"pads": [rest, 0], "dilations": [dilation]}
    return one_conv(floats(random, 1, channels, length + rest), weights, more)


def depthwise(random: np.random.Generator) -> Parts:
    """A filter for each channel."""
    channels, size = int(random.integers(8, 70)), int(random.choice([3, 5]))
    image = floats(
        random, int(random.choice([1, 2])), channels, *random.integers(6, 40, 2)
    )
    stride, pad = int(random.choice([1, 2])), int(random.integers(0, size // 2 + 1))
    more = {"group": channels, "strides": [stride] * 2, "pads": [pad] * 4}
    return one_conv(image, floats(random, channels, 1, size, size), more)


def plain(random: np.random.Generator) -> Parts:
    """Few channels, which fill no block."""
    outputs, channels = (int(n) for n in random.integers(1, 7, 2))
    image = floats(random, 1, channels, *random.integers(5, 80, 2))
    return one_conv(image, floats(random, outputs, channels, 3, 3), {"pads": [1] * 4})


def integers(random: np.random.Generator) -> Parts:
    """Bytes."""
    outputs, channels = (int(n) for n in random.integers(4, 70, 2))
    shape = (1, channels, *random.integers(5, 24, 2))
    image = random.integers(0, 255, shape).astype(np.uint8)
    return one_conv(
        image, byte_weights(random, outputs, channels, 3, 3), {"pads": [1] * 4}
    )


def quantized(random: np.random.Generator) -> Parts:
    """Bytes that are scaled to bytes, of all channels or one by one."""
    outputs, channels = (int(n) for n in random.integers(4, 70, 2))
    group = outputs if random.integers(3) == 0 else 1
    channels = outputs if group > 1 else channels
    shape = (1, channels, *random.integers(5, 24, 2))
    scale, step, point = np.float32(0.02), np.float32(2.0), np.uint8(3)
    weights = {
        "w": byte_weights(random, outputs, channels // group, 3, 3),
        **{"xs": scale, "xz": point, "ws": scale, "wz": np.int8(0)},
        **{"ys": step, "yz": point},
    }
    inputs = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    node = ("QLinearConv", inputs, ["y"], {"pads": [1] * 4, "group": group})
    return {"x": random.integers(0, 255, shape).astype(np.uint8)}, weights, [node]


def byte_weights(random: np.random.Generator, *shape: int) -> Array:
    """Signed bytes."""
    return random.integers(-120, 120, shape).astype(np.int8)


def byte_batches(random: np.random.Generator) -> Parts:
    """Products of two inputs of bytes."""
    batch, rows, depth, columns = (int(n) for n in random.integers(1, 70, 4))
    left = random.integers(0, 255, (batch, rows, depth)).astype(np.uint8)
    right = byte_weights(random, batch, depth, columns)
    node = ("MatMulInteger", ["a", "b"], ["y"], {})
    return {"a": left, "b": right}, {}, [node]


def product(random: np.random.Generator) -> Parts:
    """Rows times a constant matrix."""
    rows, depth, columns = (int(n) for n in random.integers(1, 200, 3))
    node = ("MatMul", ["x", "w"], ["y"], {})
    return (
        {"x": floats(random, rows, depth)},
        {"w": floats(random, depth, columns)},
        [node],
    )


def strassen(random: np.random.Generator) -> Parts:
    """A product that is large enough for fewer multiplications."""
    rows, depth, columns = (int(n) for n in random.choice([128, 384, 768], 3))
    node = ("MatMul", ["x", "w"], ["y"], {})
    weights = {"w": floats(random, max(depth, 384), columns)}
    return {"x": floats(random, rows, max(depth, 384))}, weights, [node]


def batches(random: np.random.Generator) -> Parts:
    """Products of two inputs, of which one may be transposed."""
    batch, rows, depth, columns = (int(n) for n in random.integers(1, 70, 4))
    left = floats(random, batch, rows, depth)
    if random.integers(2):
        node = ("MatMul", ["a", "b"], ["y"], {})
        return {"a": left, "b": floats(random, batch, depth, columns)}, {}, [node]
    turned = ("Transpose", ["b"], ["t"], {"perm": [0, 2, 1]})
    node = ("MatMul", ["a", "t"], ["y"], {})
    return {"a": left, "b": floats(random, batch, columns, depth)}, {}, [turned, node]


def attention(random: np.random.Generator) -> Parts:
    """Queries, keys and values."""
    heads, rows, keys, depth = (int(n) for n in random.integers(2, 70, 4))
    inputs = {
        "q": floats(random, heads, rows, depth),
        "k": floats(random, heads, keys, depth),
        "v": floats(random, heads, keys, depth),
    }
    nodes = [
        ("Transpose", ["k"], ["t"], {"perm": [0, 2, 1]}),
        ("MatMul", ["q", "t"], ["s"], {}),
        ("Softmax", ["s"], ["p"], {"axis": -1}),
        ("MatMul", ["p", "v"], ["y"], {}),
    ]
    return inputs, {}, nodes


def recurrence(random: np.random.Generator) -> Parts:
    """A recurrent layer."""
    steps, rows, units = 3, int(random.integers(1, 5)), 16 * int(random.integers(1, 7))
    weights = {
        "w": floats(random, 1, 4 * units, 8),
        "r": floats(random, 1, 4 * units, units),
    }
    node = ("LSTM", ["x", "w", "r"], ["y"], {"hidden_size": units})
    return {"x": floats(random, steps, rows, 8)}, weights, [node]


def pointwise(random: np.random.Generator) -> Parts:
    """1 x 1, whose pixels are one row."""
    return conv(random, (1,), (1,))


FAMILIES: Mapping[str, Callable[[np.random.Generator], Parts]] = {
    "conv": conv,
    "pointwise": pointwise,
    "winograd": winograd,
    "lines": lines,
    "depthwise": depthwise,
    "plain": plain,
    "integers": integers,
    "quantized": quantized,
    "byte_batches": byte_batches,
    "product": product,
    "strassen": strassen,
    "batches": batches,
    "attention": attention,
    "recurrence": recurrence,
}
