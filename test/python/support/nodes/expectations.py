"""What each example of `node_examples` must give, computed without the interpreter.

ONNX's reference implementation where it has the operator and is right, else plain NumPy
in float64, written as directly as the definition allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, cast

import numpy as np
from support.nodes.differential import Array, Example
from support.nodes.indexing_examples import INDEXING
from support.nodes.onnx_expectations import ONNX, evaluate
from support.training.training_expectations import TRAINING
from xdsl.dialects.builtin import TensorType, f32

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization
from glow.dialects.weight_table import dtype_of
from glow.interpreter.integer_arithmetic import (
    dequantize,
    saturate,
    scales_of,
    zero_points_of,
)

ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "relu": lambda x: x * (x > 0),
    "clip": np.clip,
    "sigmoid": lambda x: 0.5 * (1 + np.tanh(x / 2)),
    "tanh": np.tanh,
    "leaky_relu": lambda x, alpha: np.where(x > 0, x, alpha * x),
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}


def activated(example: Example, x: Array) -> Array:
    """The example's activation of a result."""
    name = example.attributes.get("activation")
    if name is None:
        return x
    arguments = example.attributes.get("activation_args", [])
    return ACTIVATIONS[name](x.astype(np.float64), *arguments).astype(x.dtype)


def divide(example: Example) -> Array:
    """Integers round towards zero."""
    x, y = example.inputs
    return x / y if x.dtype.kind not in "iu" else np.trunc(x / y).astype(x.dtype)


def convert(example: Example) -> Array:
    """Truncation, as Python's `int` does it."""
    assert isinstance(example.result, TensorType)
    dtype, (x,) = dtype_of(example.result.element_type), example.inputs
    if x.dtype.kind not in "biu" and dtype.kind == "i":
        limits = np.iinfo(dtype)
        elements = [
            min(max(int(element), limits.min), limits.max) for element in x.ravel()
        ]
        return np.array(elements, dtype).reshape(x.shape)
    return x.astype(dtype)


def fully_connected(example: Example) -> Array:
    """Sums of products in float64."""
    x, weights, *bias = (array.astype(np.float64) for array in example.inputs)
    total = np.einsum("mk,kn->mn", x, weights) + sum(bias)
    return activated(example, total.astype(np.float32))


def matmul(example: Example) -> Array:
    """The transposed operands are those of ONNX's MatMul."""
    x, y = example.inputs
    if example.attributes.get("transpose_lhs"):
        x = np.swapaxes(x, -1, -2)
    if example.attributes.get("transpose_rhs"):
        y = np.swapaxes(y, -1, -2)
    return evaluate(("MatMul", (x, y), {}))[0]


def conv2d(example: Example) -> Array:
    """ONNX's Conv, then the activation."""
    return activated(example, evaluate(ONNX[glow.Conv2dOp](example))[0])


def max_pool2d(example: Example) -> Array:
    """Each window by itself; NaN wins."""
    (x,), attributes = example.inputs, example.attributes
    if not np.isnan(x).any() and x.dtype == np.float32:
        return evaluate(ONNX[glow.MaxPool2dOp](example))[0]
    (rows, columns), batch = attributes["kernel"], x.shape[:2]
    height, width = x.shape[2] - rows + 1, x.shape[3] - columns + 1
    result = np.empty((*batch, height, width), x.dtype)
    for row, column in product(range(height), range(width)):
        window = x[:, :, row : row + rows, column : column + columns]
        result[:, :, row, column] = window.max(axis=(2, 3))
    return result


def local_response_norm(example: Example) -> Array:
    """The definition, channel by channel (ONNX's reference mixes up batch and channel)."""
    (x,), settings = example.inputs, example.attributes
    size, channels = settings["size"], x.shape[1]
    result = np.empty_like(x)
    for channel in range(channels):
        first = max(0, channel - (size - 1) // 2)
        last = min(channels - 1, channel + math.ceil((size - 1) / 2))
        squares = np.square(x[:, first : last + 1], dtype=np.float64).sum(axis=1)
        base = settings["offset"] + settings["alpha"] / size * squares
        result[:, channel] = x[:, channel] / base ** settings["beta"]
    return result


def log_softmax(example: Example) -> Array:
    """In float64, where nothing is lost."""
    (x,), axis = example.inputs, example.attributes["axis"]
    total = np.logaddexp.reduce(x.astype(np.float64), axis=axis, keepdims=True)
    return (x - total).astype(np.float32)


def pad(example: Example) -> Array:
    """ONNX's reference does not crop: negative pads are a slice first."""
    if min(example.attributes["pads"]) >= 0:
        return evaluate(ONNX[glow.PadOp](example))[0]
    (x,), pads = example.inputs, np.array(example.attributes["pads"]).reshape(2, -1)
    value = np.float32(example.attributes.get("value", 0.0))
    shape = np.array(x.shape) + pads.sum(axis=0)
    result = np.full(shape, value)
    for position in product(*map(range, shape)):
        source = np.array(position) - pads[0]
        if ((source >= 0) & (source < x.shape)).all():
            result[position] = x[tuple(source)]
    return result


def dynamic_update(example: Example) -> Array:
    """Row by row."""
    x, value, index = example.inputs
    return np.stack([value if row == int(index) else x[row] for row in range(len(x))])


def forward_rnn(example: Example, x: Array, direction: int) -> list[Array]:
    """A layer with an activation that ONNX's reference does not have."""
    w, r, b, h = (part[direction].astype(np.float64) for part in example.inputs[1:])
    activation, states = ACTIVATIONS[example.attributes["activation"]], []
    for row in x:
        h = activation(row @ w.T + h @ r.T + b.reshape(2, -1).sum(axis=0))
        states.append(h[None])
    return [np.stack(states).astype(x.dtype), h[None].astype(x.dtype)]


def forward_layer(example: Example, x: Array, direction: int) -> list[Array]:
    """ONNX's layer on the parameters of one direction."""
    layer = cast("type[glow.RecurrentOp]", example.node)
    if "activation" in example.attributes:
        return forward_rnn(example, x, direction)
    w, r, b, *states = (part[direction : direction + 1] for part in example.inputs[1:])
    attributes = {"hidden_size": r.shape[2]}
    if "linear_before_reset" in example.attributes:
        attributes["linear_before_reset"] = 1
    name = layer.name.removeprefix("glow.").upper()
    inputs = (x, w, r, b, None, *states)
    return evaluate((name, inputs, attributes), results=1 + layer.STATES)


def recurrent(example: Example) -> list[Array]:
    """Backward is forward on the reversed sequence."""
    x, direction = example.inputs[0], example.attributes["direction"]
    parts: list[list[Array]] = []
    if direction != "reverse":
        parts.append(forward_layer(example, x, 0))
    if direction != "forward":
        states, *last = forward_layer(example, x[::-1].copy(), len(parts))
        parts.append([states[::-1], *last])
    axes = (1, 0, 0)
    return [
        np.concatenate(results, axis=axis)
        for axis, results in zip(axes, zip(*parts, strict=True), strict=False)
    ]


def text_example(example: Example) -> list[Array]:
    """The text examples of `node_examples` in NumPy."""
    x, *others = example.inputs
    if example.name == "fused":
        (y,) = others
        return [np.where(x > y, np.exp(x), np.maximum(x + y, 0))]
    if example.name == "loop":
        states, state = [], others[1]
        for row in x[::-1]:
            state = np.tanh(row + state)
            states.append(state)
        return [np.stack(states), state]
    constant = np.array([[1, 2], [3, 4]], np.float32)
    return [x + constant, x * np.float32(-2.5)]


def bags(example: Example) -> Array:
    """Each bag by itself, in double precision."""
    rows, lengths = example.inputs
    cuts = np.cumsum(lengths.astype(np.int64))[:-1]
    found = np.split(rows.astype(np.float64), cuts)
    if example.node is glow.LengthsMaxOp:
        results = [bag.max(axis=0, initial=-np.inf) for bag in found]
    else:
        results = [bag.sum(axis=0) for bag in found]
    return np.stack(results).astype(rows.dtype)


def sample(example: Example) -> Array:
    """Each product by itself."""
    x, places, weights = example.inputs
    axis, extent = example.attributes["axis"], x.shape[example.attributes["axis"]]
    outer, (count, taps) = x.shape[:axis], places.shape[-2:]
    tables = (places, weights)
    places, weights = (np.broadcast_to(t, (*outer, count, taps)) for t in tables)
    fold = np.max if "largest" in example.attributes else np.sum
    result = np.empty((*outer, count, *x.shape[axis + 1 :]), x.dtype)
    for where in np.ndindex(*outer, count):
        rows = [
            float(weight) * x[where[:axis]][place].astype(np.float64)
            if 0 <= place < extent
            else np.zeros(x.shape[axis + 1 :])
            for place, weight in zip(places[where], weights[where], strict=True)
        ]
        result[where] = fold(rows, axis=0)
    return result


def lu(example: Example) -> list[Array]:
    """Row by row, in double precision."""
    (x,) = example.inputs
    factors, signs = x.astype(np.float64).reshape(-1, *x.shape[-2:]), []
    for matrix in factors:
        sign = 1
        for k in range(len(matrix)):
            pivot = max(range(k, len(matrix)), key=lambda row: abs(matrix[row, k]))
            sign *= 1 if pivot == k else -1
            matrix[[k, pivot]] = matrix[[pivot, k]]
            for row in range(k + 1, len(matrix)):
                if matrix[k, k] != 0:
                    matrix[row, k] /= matrix[k, k]
                    matrix[row, k + 1 :] -= matrix[row, k] * matrix[k, k + 1 :]
        signs.append(sign)
    numbers = np.array(signs, x.dtype).reshape(x.shape[:-2])
    return [factors.reshape(x.shape).astype(x.dtype), numbers]


def fake_quantize(example: Example) -> Array:
    """What the integers stand for: of f32 numbers those of the two casts."""
    x, scale, *point = example.inputs
    given = example.attributes
    points = np.rint(point[0] if point else np.zeros_like(scale))
    if x.dtype == np.float32:
        parameters = (array.reshape(-1).tolist() for array in (scale, points))
        scales, zeros = map(tuple, parameters)
        limits = given["low"], given["high"]
        data = Quantization(32, True, scales, zeros, given.get("axis"), f32, limits)
        stored = np.rint(x / scales_of(data, x.ndim))
        return dequantize(saturate(stored, zero_points_of(data, x.ndim), data), data)
    shape = [-1 if axis == given["axis"] else 1 for axis in range(x.ndim)]
    scale, points = scale.reshape(shape), points.reshape(shape)
    stored = np.clip(np.rint(x / scale) + points, given["low"], given["high"])
    return (stored - points) * scale


def arg_max_pool2d(example: Example) -> Array:
    """Each window by itself: the first of its largest elements inside of the plane."""
    (x,), given = example.inputs, example.attributes
    rows, columns = given["kernel"]
    strides, pads = given.get("strides", [1, 1]), given.get("pads", [0] * 4)
    steps = given.get("dilations", [1, 1])
    floats = replace(example, inputs=[x.astype(np.float32)])
    shape = evaluate(ONNX[glow.MaxPool2dOp](floats))[0].shape
    result = np.empty(shape, np.int64)
    for image, channel, top, left in np.ndindex(shape):
        inside = [
            (y, z)
            for y, z in (
                (
                    top * strides[0] - pads[0] + row * steps[0],
                    left * strides[1] - pads[1] + column * steps[1],
                )
                for row, column in product(range(rows), range(columns))
            )
            if 0 <= y < x.shape[2] and 0 <= z < x.shape[3]
        ]
        values = [float(x[image, channel, y, z]) for y, z in inside]
        numbers = [-np.inf if np.isnan(value) else value for value in values]
        y, z = inside[int(np.argmax(numbers))]
        result[image, channel, top, left] = y * x.shape[3] + z
    return result


NUMPY: dict[type[NodeOp], Callable[[Example], Any]] = {
    glow.DivOp: divide,
    glow.ModOp: lambda example: np.mod(*example.inputs),
    glow.NotEqualOp: lambda example: np.not_equal(*example.inputs),
    glow.RsqrtOp: lambda example: 1 / np.sqrt(example.inputs[0]),
    glow.SoftsignOp: lambda example: example.inputs[0] / (1 + abs(example.inputs[0])),
    glow.ConvertOp: convert,
    glow.BitcastOp: lambda example: example.inputs[0].view(
        dtype_of(example.result.element_type)
    ),
    glow.Conv2dOp: conv2d,
    glow.MaxPool2dOp: max_pool2d,
    glow.ArgMaxPool2dOp: arg_max_pool2d,
    glow.FullyConnectedOp: fully_connected,
    glow.MatmulOp: matmul,
    glow.LuOp: lu,
    glow.LocalResponseNormOp: local_response_norm,
    glow.LogSoftmaxOp: log_softmax,
    glow.PadOp: pad,
    glow.SampleOp: sample,
    glow.FakeQuantizeOp: fake_quantize,
    **dict.fromkeys((glow.LengthsSumOp, glow.LengthsMaxOp), bags),
    glow.DynamicSliceOp: lambda example: example.inputs[0][int(example.inputs[1])],
    glow.DynamicUpdateOp: dynamic_update,
    **INDEXING,
    **TRAINING,
    **dict.fromkeys((glow.LstmOp, glow.GruOp, glow.RnnOp), recurrent),
}


def expected(example: Example) -> list[Array]:
    """The results of an example."""
    if example.text is not None:
        return text_example(example)
    if example.node in NUMPY:
        results = NUMPY[example.node](example)
        return results if isinstance(results, list) else [np.asarray(results)]
    return evaluate(ONNX[example.node](example))
