"""Forms of ONNX operators on elements, axes, positions and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from onnx import defs
from support.onnx_models.onnx_rows import ENDLESS, OPSETS, Row, X, draw, floats, ints


def along_axes() -> Iterator[Row]:
    """Functions along one axis: negative axes, and old ones that flatten the others."""
    for name in ("Softmax", "LogSoftmax", "Hardmax"):
        for first, end, axes in ((7, 11, (0, 1, 2)), (11, ENDLESS, (0, 1, -1, -2))):
            for axis in axes:
                yield Row(name, first, end, [X], {"axis": axis})
        yield Row(name, 7, ENDLESS, [X], {})
    for name, select in product(("ArgMax", "ArgMin"), (0, 1)):
        settings = {"select_last_index": 1} if select else {}
        for axis in (0, 1, -1):
            first = 12 if select else 7 if axis >= 0 else 11
            yield Row(name, first, ENDLESS, [np.round(X)], {"axis": axis, **settings})
    for first, axis in ((7, 1), (11, -2)):
        yield Row("Flatten", first, ENDLESS, [X], {"axis": axis})
        yield Row("Concat", first, ENDLESS, [X, X], {"axis": axis}, computed=2)
        yield Row("Gather", first, ENDLESS, [X, ints(1, 0)], {"axis": axis})


REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
    "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare",
)  # fmt: skip


def reductions() -> Iterator[Row]:
    """Axes are an attribute, later an input."""
    for name in REDUCTIONS:
        changed = 13 if name == "ReduceSum" else 18
        for axes, keep in (([1], 1), ([0, 2], 0), ([-1], 1)):
            first = 7 if min(axes) >= 0 else 11
            settings = {"keepdims": keep}
            yield Row(name, first, changed, [X], {**settings, "axes": axes})
            yield Row(name, changed, ENDLESS, [X, ints(*axes)], settings)
        yield Row(name, 7, ENDLESS, [X], {"keepdims": 0})
        noop = {"noop_with_empty_axes": 1}
        if name in ("ReduceSum", "ReduceMean", "ReduceMax"):
            yield Row(name, changed, ENDLESS, [X], noop)


def shapes() -> Iterator[Row]:
    """Axes, pads and sizes are attributes, later inputs."""
    one = draw(2, 1, 3, 1)
    for axes in ([1], [1, 3], [-1]):
        first = 7 if min(axes) >= 0 else 11
        yield Row("Squeeze", first, 13, [one], {"axes": axes})
        yield Row("Squeeze", 13, ENDLESS, [one, ints(*axes)], {})
        yield Row("Unsqueeze", first, 13, [X], {"axes": axes})
        yield Row("Unsqueeze", 13, ENDLESS, [X, ints(*axes)], {})
    yield Row("Squeeze", 7, ENDLESS, [one], {})
    pads = [0, 1, 0, 0, 2, 1]
    for mode in ("constant", "edge", "reflect"):
        yield Row("Pad", 7, 11, [X], {"pads": pads, "mode": mode, "value": 1.5})
        inputs = [X, ints(*pads), np.array(1.5, np.float32)]
        yield Row("Pad", 11, ENDLESS, inputs, {"mode": mode})
    yield Row("Pad", 18, ENDLESS, [X, ints(1, 2), None, ints(-2)], {})
    yield Row("Slice", 7, 10, [X], {"starts": [1, 0], "ends": [99, 2], "axes": [1, 2]})
    yield Row("Slice", 7, 10, [X], {"starts": [-1], "ends": [99]})
    cut = [X, ints(-1, 0), ints(-99, 4), ints(2, 1), ints(-1, 2)]
    yield Row("Slice", 10, ENDLESS, cut, {})
    negative = [X, ints(0, 1), ints(1, 3), ints(-2, -1)]
    yield Row("Slice", 10, ENDLESS, negative, {})
    for axis in (0, 2, -1):
        first, part = 7 if axis >= 0 else 11, X.shape[axis] // 2
        yield Row("Split", first, 18, [X], {"axis": axis}, outputs=2)
        split = ints(part, X.shape[axis] - part)
        settings = {"axis": axis}
        given = {**settings, "split": split.tolist()}
        yield Row("Split", first, 13, [X], given, outputs=2)
        yield Row("Split", 13, ENDLESS, [X, split], settings, outputs=2)
        settings = {**settings, "num_outputs": 2}
        yield Row("Split", 18, ENDLESS, [X], settings, outputs=2)
    yield Row("Reshape", 7, ENDLESS, [X, ints(0, -1)], {})
    yield Row("Expand", 8, ENDLESS, [X, ints(2, 1, 3, 1)], {})
    yield Row("Tile", 7, ENDLESS, [X, ints(1, 2, 1)], {})
    yield Row("Transpose", 7, ENDLESS, [X], {"perm": [2, 0, 1]})


def bounds() -> Iterator[Row]:
    """Bounds and ratios are attributes, later inputs, and may be left out."""
    low, high = np.array(-0.5, np.float32), np.array(0.7, np.float32)
    yield Row("Clip", 7, 11, [X], {"min": -0.5, "max": 0.7})
    yield Row("Clip", 7, 11, [X], {"max": 0.7})
    for inputs in ([X, low, high], [X, low], [X, None, high]):
        yield Row("Clip", 11, ENDLESS, inputs, {})
        yield Row("Clip", 11, ENDLESS, inputs, {}, computed=3)
    yield Row("Dropout", 7, 12, [X], {"ratio": 0.3})
    yield Row("Dropout", 12, ENDLESS, [X, np.array(0.3, np.float32)], {})
    yield Row("LeakyRelu", 7, ENDLESS, [X], {"alpha": 0.2})
    yield Row("Elu", 7, ENDLESS, [X], {"alpha": 0.7})
    yield Row("PRelu", 7, ENDLESS, [X, draw(3, 1)], {})


UNARY = (
    "Abs", "Asinh", "Atan", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu",
    "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Mish", "Neg",
    "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Tan", "Tanh", "ThresholdedRelu",
)  # fmt: skip
POSITIVE = ("Acosh", "Log", "Sqrt")
BOUNDED = ("Acos", "Asin", "Atanh")
BINARY = ("Add", "Div", "Greater", "Less", "Mul", "PRelu", "Sub")
SEVERAL = ("Max", "Mean", "Min", "Sum")


def first_of(operator: str) -> int:
    """The first opset that has an operator."""
    found = [s for s in defs.get_all_schemas_with_history() if s.name == operator]
    return max(min(s.since_version for s in found if not s.domain), OPSETS[0])


def elementwise() -> Iterator[Row]:
    """Each element by itself; operands that broadcast."""
    for names, x in ((UNARY, X), (POSITIVE, np.abs(X) + 1), (BOUNDED, np.tanh(X))):
        for name in names:
            yield Row(name, first_of(name), ENDLESS, [x], {})
    for name in BINARY:
        yield Row(name, 7, ENDLESS, [X, draw(3, 1, seed=1)], {}, 2)
    for name in SEVERAL:
        yield Row(name, 8, ENDLESS, [X, draw(3, 1, seed=1), draw(4, seed=2)], {}, 3)
        yield Row(name, 7, 8, [X, X], {}, 2)
    numbers = np.round(X * 5).astype(np.int64)
    yield Row("Pow", 7, ENDLESS, [np.abs(X), X], {}, 2)
    yield Row("Pow", 12, ENDLESS, [X, np.array([2, 3, 0, 1])], {}, 2)
    yield Row("Mod", 10, ENDLESS, [numbers, np.array([3, -2, 7, 5])], {}, 2)
    yield Row("Mod", 10, ENDLESS, [X, draw(4, seed=1)], {"fmod": 1}, 2)
    for name in ("And", "Or", "Xor"):
        yield Row(name, 7, ENDLESS, [X > 0, draw(4, seed=1) > 0], {}, 2)
    for name in ("GreaterOrEqual", "LessOrEqual"):
        yield Row(
            name, 12, ENDLESS, [np.round(X), np.round(X.T.reshape(X.shape))], {}, 2
        )
    yield Row(
        "Equal", 7, ENDLESS, [numbers, np.round(X[0] * 5).astype(np.int64)], {}, 2
    )
    yield Row("Equal", 11, ENDLESS, [np.round(X), np.round(X[0])], {}, 2)
    yield Row("Not", 7, ENDLESS, [X > 0], {})
    yield Row("Where", 9, ENDLESS, [X > 0, X, draw(4, seed=1)], {}, 3)
    for target in (6, 9, 1, 2):  # int32, bool, float, uint8
        yield Row("Cast", 7, ENDLESS, [np.abs(X) * 3], {"to": target})


def positions() -> Iterator[Row]:
    """Elements at indices, counted from the end as well, and indices of elements."""
    indices = np.array([[[1, 0, 1, 1]], [[0, 1, 2, 0]]])
    for axis in (1, -2):
        first, settings = (7 if axis > 0 else 11), {"axis": axis}
        lowest = max(first, 11)
        yield Row("GatherElements", lowest, ENDLESS, [X, indices - 2], settings, 2)
        updates = [X, indices, draw(2, 1, 4, seed=1)]
        yield Row("ScatterElements", lowest, ENDLESS, updates, settings, 3)
        yield Row(
            "OneHot", max(first, 9), ENDLESS, [indices, ints(3), ints(2, 5)], settings
        )
        yield Row("TopK", 7, 10, [X], {"axis": 1, "k": 2}, outputs=2)
        two = [X, ints(2)]
        yield Row("TopK", max(first, 10), ENDLESS, two, settings, outputs=2)
        yield Row("CumSum", lowest, ENDLESS, [X, ints(axis)[0]], {"reverse": 1})
    yield Row("TopK", 11, ENDLESS, [X, ints(2)], {"largest": 0}, outputs=2)
    tuples = np.array([[[0, 2], [1, -1]]])
    yield Row("GatherND", 11, ENDLESS, [X, tuples], {}, 2)
    yield Row("ScatterND", 11, ENDLESS, [X, tuples, draw(1, 2, 4, seed=1)], {}, 3)
    lengths = [draw(4, 3, 2), np.array([2, 4, 1])]
    yield Row("ReverseSequence", 10, ENDLESS, lengths, {}, 2)
    yield Row("Shape", 7, ENDLESS, [X], {})
    yield Row("Shape", 15, ENDLESS, [X], {"start": 1, "end": -1})
    for mode in ("DCR", "CRD"):
        blocks = {"blocksize": 2, "mode": mode}
        yield Row("DepthToSpace", 11, ENDLESS, [draw(1, 8, 2, 3)], blocks)
    yield Row("DepthToSpace", 7, ENDLESS, [draw(1, 8, 2, 3)], {"blocksize": 2})
    yield Row("SpaceToDepth", 7, ENDLESS, [draw(1, 2, 4, 6)], {"blocksize": 2})
    yield Row("Trilu", 14, ENDLESS, [X, np.array(-1)], {"upper": 0})
    yield Row("EyeLike", 9, ENDLESS, [draw(3, 4)], {"k": 1})


def quantized() -> Iterator[Row]:
    """One scale for a tensor, or one for each index of an axis."""
    scale, point = np.float32(0.05), np.uint8(120)
    yield Row("QuantizeLinear", 10, ENDLESS, [X, scale, point], {})
    bytes_ = np.round(X * 30 + 128).astype(np.uint8)
    yield Row("DequantizeLinear", 10, ENDLESS, [bytes_, scale, point], {})
    scales, points = floats(0.05, 0.02, 0.1), np.array([0, 120, 7], np.uint8)
    for axis in (1, -2):
        settings = {"axis": axis}
        yield Row("QuantizeLinear", 13, ENDLESS, [X, scales, points], settings)
        yield Row("DequantizeLinear", 13, ENDLESS, [bytes_, scales, points], settings)
    yield Row("DynamicQuantizeLinear", 11, ENDLESS, [X], {}, outputs=3)
    left, right = bytes_[0], bytes_[1].T.copy()
    yield Row("MatMulInteger", 10, ENDLESS, [left, right, point, point], {}, 2)
    operands = [left, scale, point, right, scale, point, np.float32(0.3), point]
    yield Row("QLinearMatMul", 10, ENDLESS, operands, {})


def layers() -> Iterator[Row]:
    """Recurrent layers, and normalizations of the later opsets."""
    x, hidden = draw(3, 2, 4), 5
    for name, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        w, r = (
            draw(1, gates * hidden, 4, seed=1),
            draw(1, gates * hidden, hidden, seed=2),
        )
        bias = draw(1, 2 * gates * hidden, seed=3)
        settings = {"hidden_size": hidden}
        yield Row(name, 7, ENDLESS, [x, w, r, bias], settings, outputs=2)
    scale, bias = draw(4, seed=1), draw(4, seed=2)
    yield Row("LayerNormalization", 17, ENDLESS, [X, scale, bias], {})
    groups = {"num_groups": 2}
    image = draw(1, 4, 3, 3)
    yield Row("GroupNormalization", 18, 21, [image, scale[:2], bias[:2]], groups)
    yield Row("GroupNormalization", 21, ENDLESS, [image, scale, bias], groups)
    yield Row("MatMul", 7, ENDLESS, [X, draw(4, 5, seed=1)], {}, 2)
    yield Row(
        "Einsum", 12, ENDLESS, [X, draw(2, 5, 4)], {"equation": "bij,bkj->bik"}, 2
    )
