"""Operators at every opset at which their definition changed, against ONNX Runtime.

A row of `ROWS` is a form of an operator and the opsets that have it. The rows of one opset are
the nodes of one model, each with inputs of its own, so that a model is compiled once for each
opset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, defs, helper, numpy_helper

import glow

OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)


@dataclass(frozen=True)
class Row:
    """An operator, the first opset of the form and that which has it no more.

    Inputs are arrays, None where one is left out; those behind the first `computed` ones are
    constants of the model.
    """

    operator: str
    first: int
    end: int
    inputs: Sequence[Any]
    attributes: dict[str, Any]
    computed: int = 1
    outputs: int = 1


def draw(*shape: int, seed: int = 0) -> Any:
    """Seeded numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*numbers: int) -> Any:
    """A tensor of shape, axes, ..."""
    return np.array(numbers, np.int64)


def floats(*numbers: float) -> Any:
    """A tensor of scales, bounds, ..."""
    return np.array(numbers, np.float32)


X = draw(2, 3, 4)
IMAGE = draw(1, 2, 6, 5)
VOLUME = draw(1, 2, 3, 5, 4)
ENDLESS = 99


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


def normalizations() -> Iterator[Row]:
    """Statistics that are given."""
    parameters = [draw(2, seed=seed) for seed in (1, 2, 3)]
    parameters.append(np.abs(draw(2, seed=4)))
    for computed in (1, 5):
        inputs, settings = [IMAGE, *parameters], {"epsilon": 1e-3}
        yield Row("BatchNormalization", 7, ENDLESS, inputs, settings, computed)
    yield Row("LRN", 7, ENDLESS, [draw(1, 7, 3, 2)], {"size": 3, "alpha": 0.1})
    scale = [IMAGE, *parameters[:2]]
    yield Row("InstanceNormalization", 7, ENDLESS, scale, {"epsilon": 1e-3})
    yield Row("LpNormalization", 7, ENDLESS, [np.abs(X) + 1], {"axis": 1, "p": 1})
    yield Row("MeanVarianceNormalization", 9, ENDLESS, [IMAGE], {})


def pools() -> Iterator[Row]:
    """Windows with strides, pads, dilations and a last window that is not whole."""
    window: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 1]}
    padded = {**window, "pads": [1, 0, 1, 1]}
    for name in ("MaxPool", "AveragePool"):
        for settings in (window, padded, {**window, "auto_pad": "SAME_UPPER"}):
            yield Row(name, 7, ENDLESS, [IMAGE], settings)
        yield Row(name, 10, ENDLESS, [IMAGE], {**padded, "ceil_mode": 1})
        dilated = {**padded, "dilations": [1, 2]}
        yield Row(name, 10 if name == "MaxPool" else 19, ENDLESS, [IMAGE], dilated)
        line = {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}
        yield Row(name, 7, ENDLESS, [X], line)
    counted = {**padded, "count_include_pad": 1}
    yield Row("AveragePool", 7, ENDLESS, [IMAGE], counted)
    for name in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
        end = 22 if name == "GlobalLpPool" else ENDLESS
        yield Row(name, 7, end, [IMAGE], {})
        yield Row(name, 7, end, [VOLUME], {})
    for p in (1, 2, 3):
        yield Row("LpPool", 7, ENDLESS, [IMAGE], {**padded, "p": p})
    yield Row("LpPool", 18, ENDLESS, [IMAGE], {**padded, "dilations": [1, 2]})
    solid = {"kernel_shape": [2, 3, 2], "strides": [1, 2, 2], "pads": [1] * 6}
    yield Row("AveragePool", 7, 22, [VOLUME], {**solid, "count_include_pad": 1})
    for name in ("MaxPool", "AveragePool"):
        yield Row(name, 10, ENDLESS, [VOLUME], {**solid, "ceil_mode": 1})
    for order in (0, 1):
        settings = {**padded, "storage_order": order}
        yield Row("MaxPool", 8, ENDLESS, [IMAGE], settings, outputs=2)
    settings = {**solid, "dilations": [2, 1, 1]}
    yield Row("MaxPool", 10, ENDLESS, [VOLUME], settings, outputs=2)
    places = np.array([[[[0, 3], [11, 9]], [[23, 12], [14, 20]]]])
    small, settings = draw(1, 2, 2, 2), {"kernel_shape": [2, 2], "strides": [1, 2]}
    yield Row("MaxUnpool", 9, ENDLESS, [small, places], settings, 2)


def products() -> Iterator[Row]:
    """Factors, transposes, and a bias that may be left out."""
    a, b, c = draw(4, 3), draw(4, 5, seed=1), draw(5, seed=2)
    settings = {"transA": 1, "alpha": 0.5, "beta": 2.0}
    for computed in (1, 3):
        inputs = [a, b, np.broadcast_to(c, (3, 5)).copy()]
        yield Row("Gemm", 7, ENDLESS, inputs, settings, computed)
        yield Row("Gemm", 7, ENDLESS, [a, b, c], settings, computed)
    yield Row("Gemm", 11, ENDLESS, [a, b], {"transA": 1})
    kernel = draw(4, 1, 3, 2, seed=3)
    settings = {"group": 2, "pads": [1, 0, 1, 1], "strides": [1, 2]}
    yield Row("Conv", 7, ENDLESS, [IMAGE, kernel, draw(4)], settings)
    kernel = draw(2, 2, 3, 2, seed=3)
    settings = {"strides": [2, 1], "output_padding": [1, 0], "group": 2}
    yield Row("ConvTranspose", 7, ENDLESS, [IMAGE, kernel], settings)


def integer_products() -> Iterator[Row]:
    """Sums of products of integers over one to three axes."""
    for rank in (1, 2, 3):
        x = np.round(draw(1, 4, *(5, 6, 4)[:rank]) * 60 + 128).astype(np.uint8)
        w = np.round(draw(6, 2, *(3, 2, 2)[:rank]) * 30).astype(np.int8)
        settings = {"group": 2, "pads": [1] * 2 * rank}
        operands = [x, w.view(np.uint8), np.uint8(7), np.uint8(3)]
        yield Row("ConvInteger", 10, ENDLESS, operands, settings, 2)
        scales = np.abs(draw(6)) * np.float32(0.02) + np.float32(0.01)
        points = np.float32(0.5), np.uint8(100)
        operands = [x, np.float32(0.02), np.uint8(120), w, scales, np.zeros(6, np.int8)]
        operands += [*points, np.round(draw(6) * 500).astype(np.int32)]
        yield Row("QLinearConv", 10, ENDLESS, operands, settings)


def resizes() -> Iterator[Row]:
    """Scales are an attribute, later an input; coordinates are transformed in many ways."""
    for mode in ("nearest", "linear"):
        scales = [1.0, 1.0, 2.0, 3.0]
        yield Row("Upsample", 7, 9, [IMAGE], {"scales": scales, "mode": mode})
        yield Row("Upsample", 9, 10, [IMAGE, floats(*scales)], {"mode": mode})
        yield Row("Resize", 10, 11, [IMAGE, floats(1, 1, 2, 0.6)], {"mode": mode})
    none, scales = floats(), floats(1, 1, 0.5, 2)
    sizes = ints(1, 2, 4, 9)
    transformations = (
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
    )
    for mode, place in product(("nearest", "linear", "cubic"), transformations):
        settings = {"mode": mode, "coordinate_transformation_mode": place}
        yield Row("Resize", 11, 13, [IMAGE, none, none, sizes], settings)
        yield Row("Resize", 13, ENDLESS, [IMAGE, None, None, sizes], settings)
        yield Row("Resize", 13, ENDLESS, [IMAGE, None, scales], settings)
    for rounding in ("round_prefer_ceil", "floor", "ceil"):
        settings = {"nearest_mode": rounding}
        yield Row("Resize", 13, ENDLESS, [IMAGE, None, scales], settings)
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    roi = floats(0, 0, 0.2, -0.1, 1, 1, 0.8, 1.2)
    settings = {**crop, "extrapolation_value": 7.0}
    yield Row("Resize", 11, ENDLESS, [IMAGE, roi, none, sizes], settings)
    smaller = ints(1, 2, 3, 2)
    for mode in ("linear", "cubic"):
        settings = {"mode": mode, "antialias": 1, "exclude_outside": 1}
        yield Row("Resize", 18, ENDLESS, [IMAGE, None, None, smaller], settings)
    for policy in ("not_larger", "not_smaller"):
        settings = {"axes": [2, 3], "keep_aspect_ratio_policy": policy}
        yield Row("Resize", 18, ENDLESS, [IMAGE, None, None, ints(9, 8)], settings)
    settings = {"coordinate_transformation_mode": "half_pixel_symmetric"}
    settings |= {"mode": "linear"}
    scales = floats(1, 1, 1.5, 0.7)
    yield Row("Resize", 19, ENDLESS, [IMAGE, None, scales], settings)


def samples() -> Iterator[Row]:
    """Images at coordinates that are computed."""
    grid = draw(1, 3, 2, 2, seed=1)
    modes = (("linear", "bilinear"), ("cubic", "bicubic"), ("nearest",) * 2)
    for padding, (mode, old) in product(("zeros", "border", "reflection"), modes):
        aligned = int(padding == "border")
        settings = {"padding_mode": padding, "align_corners": aligned}
        yield Row("GridSample", 16, 20, [IMAGE, grid], {"mode": old, **settings}, 2)
        settings["align_corners"] = 1 - aligned
        yield Row("GridSample", 20, 22, [IMAGE, grid], {"mode": mode, **settings}, 2)
    volume = [draw(1, 2, 3, 4, 5), draw(1, 2, 2, 3, 3, seed=1)]
    yield Row("GridSample", 20, ENDLESS, volume, {"padding_mode": "reflection"}, 2)
    regions = floats(0.5, 1, 3, 4.5, -2, 1, 9, 2).reshape(2, 4)
    for mode in ("avg", "max"):
        settings = {"mode": mode, "sampling_ratio": 2, "output_width": 3}
        settings |= {"output_height": 2, "spatial_scale": 0.9}
        inputs = [IMAGE, regions, ints(0, 0)]
        yield Row("RoiAlign", 10, 22, inputs, settings, 3)
        place = {"coordinate_transformation_mode": "output_half_pixel"}
        yield Row("RoiAlign", 16, 22, inputs, {**settings, **place}, 3)
    inputs = [IMAGE, draw(2, 2, 2, 2), draw(1, 16, 5, 4), draw(2), draw(1, 8, 5, 4)]
    yield Row("DeformConv", 19, ENDLESS, inputs, {"offset_group": 2}, 5)


def rows() -> list[Row]:
    """All forms."""
    themes = (
        along_axes, reductions, shapes, bounds, normalizations, pools, products,
        integer_products, resizes,
        samples,
    )  # fmt: skip
    return [row for theme in themes for row in theme()]


ROWS = rows()


def versions(operator: str) -> set[int]:
    """The opsets of `OPSETS` at which an operator changed, and the first."""
    schemas = [s for s in defs.get_all_schemas_with_history() if s.name == operator]
    schemas = [s for s in schemas if not s.domain and not s.deprecated]
    return {max(schema.since_version, OPSETS[0]) for schema in schemas}


CHANGED = {operator: versions(operator) for operator in {row.operator for row in ROWS}}


def at(opset: int) -> list[Row]:
    """The forms to try at an opset: those of operators that changed there."""
    return [
        row
        for row in ROWS
        if row.first <= opset < row.end
        and (opset in CHANGED[row.operator] or opset == row.first)
    ]


def model_of(found: Sequence[Row], opset: int) -> tuple[ModelProto, dict[str, Any]]:
    """One model of all forms, and its inputs."""
    nodes, feeds, weights, outputs = [], {}, [], []
    for number, row in enumerate(found):
        names = [
            "" if x is None else f"x{number}_{k}" for k, x in enumerate(row.inputs)
        ]
        results = [f"y{number}_{k}" for k in range(row.outputs)]
        outputs += results
        for k, (name, array) in enumerate(zip(names, row.inputs, strict=True)):
            if array is not None and k < row.computed:
                feeds[name] = array
            elif array is not None:
                weights.append(numpy_helper.from_array(np.asarray(array), name))
        nodes.append(helper.make_node(row.operator, names, results, **row.attributes))
    info = helper.make_tensor_value_info
    inputs = [
        info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in feeds.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "forms", inputs, results, weights)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


@pytest.mark.parametrize("opset", OPSETS)
def test_forms(opset: int) -> None:
    found = at(opset)
    if not found:
        pytest.skip("nothing changed")
    model, feeds = model_of(found, opset)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, feeds)
    names = [
        (row.operator, row.attributes) for row in found for _ in range(row.outputs)
    ]
    for backend in ("interpreter", "cpu"):
        results = glow.compile(model, backend=backend)(*feeds.values())
        results = results if isinstance(results, tuple) else (results,)
        for name, result, expected in zip(names, results, wanted, strict=True):
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), (
                name
            )
            np.testing.assert_allclose(result, expected, 1e-4, 1e-5, err_msg=str(name))


UNTRIED = {("RoiAlign", 22), ("GlobalLpPool", 22)}
"""Versions that ONNX Runtime does not have."""


def test_each_version_has_a_form() -> None:
    """Every opset of `OPSETS` at which an operator changed is tried."""
    tried = {(row.operator, opset) for opset in OPSETS for row in at(opset)}
    changed = {(name, opset) for name, found in CHANGED.items() for opset in found}
    wanted = {(name, opset) for name, opset in changed if opset in OPSETS}
    assert wanted - tried == UNTRIED
