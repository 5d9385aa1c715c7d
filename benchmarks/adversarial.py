"""Inputs and weights on which methods with few multiplications lose digits, and how many they lose.

A layer is a matrix product: tokens times weights, or the windows of an image's pixels times
filters. Each case makes one of its operands as uneven as networks do at their worst: outlier
features, tokens, pixels and weights, sizes at both ends of f32, an infinity or NaN. The error of a
row of the result (all features of a token, all channels of a pixel) is relative to the size of
this row, so that rows of other sizes hide nothing: to its largest number, or the norm of the
terms of one, which is what their sum is if signs are random. (Terms may cancel out.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

Array = NDArray[np.floating]

BUDGET = {"exact": 1e-5, "default": 1e-4, "fast": 1e-2}
"""What `docs/numerics.md` promises for a row of a layer, by numerics."""

SUBNORMAL_STEP = 2.0**-149
"""The distance of the smallest numbers, and the most that rounding a product to one may lose."""

OUTLIER = 1e4


@dataclass(frozen=True)
class Layer:
    """y = x w for matrices, or the convolution of an image with filters and half pads.

    x is [rows, features] or [1, channels, height, width]; w is [features, outputs] or
    [outputs, channels, *kernel], of odd sizes.
    """

    x_shape: tuple[int, ...]
    w_shape: tuple[int, ...]

    @property
    def is_product(self) -> bool:
        """Whether it is a product of matrices."""
        return len(self.x_shape) == 2

    @property
    def terms(self) -> int:
        """How many products an output sums up."""
        return self.x_shape[1] if self.is_product else int(np.prod(self.w_shape[1:]))

    def model(self, w: Array) -> ModelProto:
        """The layer as a network."""
        float32, half = TensorProto.FLOAT, [size // 2 for size in self.w_shape[2:]]
        pads = {} if self.is_product else {"pads": half * 2}
        node = helper.make_node(
            "MatMul" if self.is_product else "Conv", ["x", "w"], ["y"], **pads
        )
        y_shape = (
            (self.x_shape[0], self.w_shape[1])
            if self.is_product
            else (1, self.w_shape[0], *self.x_shape[2:])
        )
        graph = helper.make_graph(
            [node],
            "layer",
            [helper.make_tensor_value_info("x", float32, self.x_shape)],
            [helper.make_tensor_value_info("y", float32, y_shape)],
            [numpy_helper.from_array(w, "w")],
        )
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=10)

    def rows(self, y: Array) -> Array:
        """A result as [rows, outputs]."""
        return y if self.is_product else y[0].reshape(len(y[0]), -1).T

    def exact(self, x: Array, w: Array) -> Array:
        """The rows of the result in double precision."""
        if self.is_product:
            return x.astype(np.float64) @ w.astype(np.float64)
        kernel = self.w_shape[2:]
        pads = [(0, 0), (0, 0), *((size // 2, size // 2) for size in kernel)]
        padded = np.pad(x.astype(np.float64), pads)
        windows = sliding_window_view(padded, kernel, (2, 3))[0]
        of_pixels = windows.transpose(1, 2, 0, 3, 4).reshape(-1, self.terms)
        return of_pixels @ w.astype(np.float64).reshape(len(w), -1).T

    def sizes(self, x: Array, w: Array) -> Array:
        """The size of each row: the largest norm of the terms of its numbers."""
        x, w = x.astype(np.float64), w.astype(np.float64)
        with np.errstate(invalid="ignore"):
            squares = self.exact(x * x, w * w)
        return np.sqrt(np.where(np.isfinite(squares), squares, 0)).max(1)

    def row(self, x: Array) -> Array:
        """A view of one token or pixel in the middle."""
        if self.is_product:
            return x[len(x) // 2 + 1]
        y, z = (min(size // 2 + 1, size - 1) for size in x.shape[2:])
        return x[0, :, y, z]

    def feature(self, x: Array) -> Array:
        """A view of one feature or channel."""
        return x[:, 5]

    def weights_of_feature(self, w: Array) -> Array:
        """A view of what the feature is multiplied by."""
        return w[5] if self.is_product else w[:, 5]

    def weights_of_output(self, w: Array) -> Array:
        """A view of the weights of one output feature or channel."""
        return w[:, 7] if self.is_product else w[7]


LAYERS: Mapping[str, Layer] = {
    "product": Layer((128, 768), (768, 768)),
    "convolution": Layer((1, 64, 30, 29), (48, 64, 3, 3)),
    "wide filters": Layer((1, 48, 22, 27), (64, 48, 5, 5)),
    "line": Layer((1, 64, 1, 190), (48, 64, 1, 3)),
    "line, wide filters": Layer((1, 48, 1, 99), (64, 48, 1, 5)),
}

Change = Callable[[Layer, Array, Array], None]
"""Changes an input and weights of normal random numbers in place."""


def _matching_feature(layer: Layer, x: Array, w: Array) -> None:
    layer.feature(x)[...] *= OUTLIER
    layer.weights_of_feature(w)[...] /= OUTLIER


def _feature(layer: Layer, x: Array, w: Array) -> None:
    layer.feature(x)[...] *= OUTLIER


def _dead_feature(layer: Layer, x: Array, w: Array) -> None:
    layer.feature(x)[...] *= OUTLIER
    layer.weights_of_feature(w)[...] = 0


def _row(layer: Layer, x: Array, w: Array) -> None:
    layer.row(x)[...] *= OUTLIER


def _small_row(layer: Layer, x: Array, w: Array) -> None:
    layer.row(x)[...] /= OUTLIER


def _hidden_row(layer: Layer, x: Array, w: Array) -> None:
    """A row is an outlier beside a feature that is as large everywhere."""
    layer.row(x)[...] *= OUTLIER
    _matching_feature(layer, x, w)


def _element(layer: Layer, x: Array, w: Array) -> None:
    layer.row(x)[3] = OUTLIER


def _steps(layer: Layer, x: Array, w: Array) -> None:
    """Half of the tokens, or of the image, is far larger than the other half."""
    middle = x.shape[-1 if len(x) == 1 else 0] // 2
    large = x[..., middle:] if len(x) == 1 else x[middle:]
    large[...] *= OUTLIER


def _sparse(layer: Layer, x: Array, w: Array) -> None:
    """Most tokens, or most of an image, are zeros."""
    row = layer.row(x).copy()
    x[...] = 0
    layer.row(x)[...] = row


def _output(layer: Layer, x: Array, w: Array) -> None:
    layer.weights_of_output(w)[...] *= OUTLIER


def _small_output(layer: Layer, x: Array, w: Array) -> None:
    layer.weights_of_output(w)[...] /= OUTLIER


def _subnormal(layer: Layer, x: Array, w: Array) -> None:
    x[...] *= 1e-41


def _near_overflow(layer: Layer, x: Array, w: Array) -> None:
    x[...] *= 3e38 / np.abs(x).max()
    w[...] *= 0.5 / np.sqrt(layer.terms)


def _large_element(layer: Layer, x: Array, w: Array) -> None:
    layer.row(x)[3] = 2.5e38
    w[...] = np.clip(w, -1, 1)


def _infinity(layer: Layer, x: Array, w: Array) -> None:
    layer.row(x)[3] = -np.inf


def _nan(layer: Layer, x: Array, w: Array) -> None:
    layer.row(x)[3] = np.nan


CASES: Mapping[str, Change] = {
    "normal": lambda layer, x, w: None,
    "feature, weights to match": _matching_feature,
    "feature": _feature,
    "feature without weights": _dead_feature,
    "row": _row,
    "small row": _small_row,
    "row beside a feature": _hidden_row,
    "element": _element,
    "half of the rows": _steps,
    "zeros": _sparse,
    "weights of an output": _output,
    "small weights of an output": _small_output,
    "subnormal": _subnormal,
    "near overflow": _near_overflow,
    "element of 2.5e38": _large_element,
    "infinity": _infinity,
    "NaN": _nan,
}


def operands(layer: Layer, case: str) -> tuple[Array, Array]:
    """The input and the weights of a case."""
    random = np.random.default_rng(0)
    x = random.standard_normal(layer.x_shape, np.float32)
    w = random.standard_normal(layer.w_shape, np.float32)
    CASES[case](layer, x, w)
    return x, w


def worst_row(layer: Layer, x: Array, w: Array, y: Array) -> float:
    """The largest error of a row of a result, relative to the size of the row.

    Infinite where infinities and NaN are not those that are expected. Not counted is what
    products lose that are rounded to subnormal numbers.
    """
    with np.errstate(all="ignore"):
        found, exact = layer.rows(y), layer.exact(x, w)
        expected = exact.astype(np.float32)
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return np.inf
    exact = np.where(finite, exact, 0)
    sizes = np.maximum(np.abs(exact).max(1), layer.sizes(x, w))
    errors = np.where(finite, np.abs(np.where(finite, found, 0) - exact), 0).max(1)
    errors = np.maximum(errors - layer.terms * SUBNORMAL_STEP, 0)
    with np.errstate(all="ignore"):
        return float(np.where(errors == 0, 0, errors / sizes).max(initial=0))
