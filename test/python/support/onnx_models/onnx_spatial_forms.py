"""Forms of ONNX operators on images."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from support.onnx_models.onnx_rows import (
    ENDLESS,
    IMAGE,
    VOLUME,
    Row,
    X,
    draw,
    floats,
    ints,
)


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
