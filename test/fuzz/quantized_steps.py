"""The steps that add quantized nodes to ONNX models: every such operator that we import.

Scales are random, or powers of two, under which many results lie between two steps.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
from onnx_graphs import CONTRIB, OnnxMaker, OnnxStep, Value
from random_graphs import F32, Array, Shape

U8, S8, S32 = np.dtype(np.uint8), np.dtype(np.int8), np.dtype(np.int32)
STEPS_OF_A_RESULT = 60
"""About so many steps of a result's scale make its standard deviation."""


def scale_for(g: OnnxMaker, deviation: float) -> Array:
    """A scale for numbers that deviate from 0 by so much."""
    scale = max(deviation, 1e-3) / STEPS_OF_A_RESULT * g.random.uniform(0.7, 1.5)
    return np.array(2.0 ** np.round(np.log2(scale)) if g.chance(0.3) else scale, F32)


def point_for(g: OnnxMaker, dtype: np.dtype[Any]) -> Array:
    """A zero point: the usual ones, the ends of the range, or any."""
    info = np.iinfo(dtype)
    middle = 0 if dtype.kind == "i" else 128
    any_one = int(g.random.integers(info.min, info.max + 1))
    return np.array(g.one_of((middle, middle, 0, info.min, info.max, any_one)), dtype)


def whole(g: OnnxMaker, shape: Shape, dtype: np.dtype[Any]) -> Array:
    """Integers over the whole range of a type."""
    info = np.iinfo(dtype)
    return g.random.integers(info.min, info.max + 1, shape).astype(dtype)


def integers(
    g: OnnxMaker, rank: int | None = None, dtype: np.dtype[Any] | None = None
) -> Value:
    """Quantized numbers with one scale, of a rank or of any."""
    size = g.integer(1, 5) if rank is None else rank

    def fits(value: Value) -> bool:
        is_plain = value.scale is not None and value.scale.ndim == 0
        kinds = (U8, S8) if dtype is None else (dtype,)
        if not is_plain or value.dtype not in kinds:
            return False
        return len(value.shape) == rank if rank is not None else value.shape != ()

    return g.pick(fits, lambda: new_integers(g, g.shape(size), dtype or kind(g)))


def kind(g: OnnxMaker) -> np.dtype[Any]:
    """An element type of activations."""
    return g.one_of((U8, U8, S8))


def new_integers(
    g: OnnxMaker, shape: Shape, dtype: np.dtype[Any], fixed: bool = False
) -> Value:
    """New quantized numbers: an input, or a constant."""
    scale, point = scale_for(g, g.random.uniform(0.1, 3)), point_for(g, dtype)
    make = g.constant if fixed else g.argument
    return make(whole(g, shape, dtype), scale=scale, point=point)


def weights(g: OnnxMaker, shape: Shape, dtype: np.dtype[Any], axis: int) -> Value:
    """Factors, mostly constant, with a scale for the tensor or for each channel."""
    by_channel = g.chance(0.5) and len(shape) > 1
    count = shape[axis] if by_channel else None
    scales = np.asarray(g.random.uniform(0.002, 0.02, count), F32)
    points = np.zeros(scales.shape, dtype)
    if dtype == U8 or (not by_channel and g.chance(0.2)):
        points = np.asarray(np.full(scales.shape, point_for(g, dtype)), dtype)
    make = g.constant if g.chance(0.75) else g.argument
    return make(whole(g, shape, dtype), scale=scales, point=points)


def partner(g: OnnxMaker, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """An element type of weights that ONNX Runtime multiplies activations with."""
    return g.one_of((S8, S8, U8)) if dtype == U8 else S8


def deviation(value: Value, by_channel: int | None = None) -> float:
    """How far the numbers are from 0."""
    if by_channel is None or value.scale is None or value.scale.ndim == 0:
        return float(np.sqrt(np.mean(np.square(value.numbers)))) if value.shape else 1.0
    plain = value.array.astype(np.float64) - float(np.mean(value.point))
    return float(np.sqrt(np.mean(np.square(plain))) * np.mean(value.scale))


def parameters(g: OnnxMaker, value: Value) -> list[Value]:
    """Scale and zero point as constants."""
    return [g.constant(value.scale), g.constant(value.point)]


def result_of(
    g: OnnxMaker,
    operator: str,
    inputs: list[Value | None],
    size: float,
    dtype: np.dtype[Any],
    bias: Value | None = None,
    **attributes: Any,
) -> Value:
    """A node with the parameters of its result behind its inputs; `domain` is one more."""
    scale, point = scale_for(g, size), point_for(g, dtype)
    more = [g.constant(scale), g.constant(point), *([bias] if bias else [])]
    result = g.node(operator, *inputs, *more, **attributes)
    result.scale, result.point = scale, point
    return result


def bias_of(g: OnnxMaker, count: int) -> Value | None:
    """Sums to start from, or none."""
    if g.chance(0.4):
        return None
    return g.constant(g.random.integers(-3000, 3000, count).astype(S32))


def window(g: OnnxMaker, kernel: Shape) -> dict[str, Any]:
    """A window, often of the shape that rewrites look for."""
    if g.chance(0.3):
        return {"strides": [1, 1], "pads": [size // 2 for size in kernel * 2]}
    return {
        "strides": [g.integer(1, 2), g.integer(1, 2)],
        "dilations": [g.integer(1, 2), 1],
        "pads": [g.integer(0, 1) if size > 1 else 0 for size in kernel * 2],
    }


KERNELS = ((1, 1), (1, 1), (2, 2), (3, 3), (3, 3), (2, 3))


def filters(g: OnnxMaker, channels: int) -> tuple[int, Shape]:
    """A number of groups, and the shape of the weights of a convolution."""
    group = g.one_of([n for n in (1, 1, 1, channels, 2) if channels % n == 0])
    outputs = group * g.integer(1, 5)
    return group, (outputs, channels // group, *g.one_of(KERNELS))


def qlinear_conv(g: OnnxMaker) -> None:
    """A convolution."""
    x = integers(g, 4)
    group, shape = filters(g, x.shape[1])
    w = weights(g, shape, partner(g, x.dtype), 0)
    size = deviation(x) * deviation(w, 0) * float(np.sqrt(prod(shape[1:])))
    inputs: list[Value | None] = [x, *parameters(g, x), w, *parameters(g, w)]
    settings = window(g, shape[2:])
    result_of(
        g, "QLinearConv", inputs, size, x.dtype, bias_of(g, shape[0]),
        group=group, **settings,
    )  # fmt: skip


def factor(g: OnnxMaker, x: Value, by_column: bool) -> Value:
    """A matrix, or a batch of them, to multiply with."""
    shape = (x.shape[-1], g.one_of((1, 2, 3, 5, 7, 16, 17)))
    if g.chance(0.3) and len(x.shape) > 2:
        shape = (*(1 if g.chance(0.3) else size for size in x.shape[:-2]), *shape)
    if len(shape) > 2 or not by_column:
        make = g.constant if g.chance(0.5) else g.argument
        dtype = partner(g, x.dtype)
        scale, point = scale_for(g, 1.0), point_for(g, dtype)
        return make(whole(g, shape, dtype), scale=scale, point=point)
    return weights(g, shape, partner(g, x.dtype), 1)


def qlinear_matmul(g: OnnxMaker) -> None:
    """A product of matrices or batches of them."""
    x = integers(g, g.integer(2, 5))
    w = factor(g, x, by_column=True)
    size = deviation(x) * deviation(w, 1) * float(np.sqrt(x.shape[-1]))
    inputs: list[Value | None] = [x, *parameters(g, x), w, *parameters(g, w)]
    result_of(g, "QLinearMatMul", inputs, size, x.dtype)


def qgemm(g: OnnxMaker) -> None:
    """A fully connected layer, with a quantized or a float result."""
    x, flipped = integers(g, 2), g.chance(0.5)
    outputs = g.integer(1, 17)
    shape = (outputs, x.shape[1]) if flipped else (x.shape[1], outputs)
    w = weights(g, shape, partner(g, x.dtype), 0 if flipped else 1)
    size = deviation(x) * deviation(w, 1) * float(np.sqrt(x.shape[1]))
    inputs: list[Value | None] = [
        x, *parameters(g, x), w, *parameters(g, w), bias_of(g, outputs),
    ]  # fmt: skip
    settings: dict[str, Any] = {"transB": int(flipped), "domain": CONTRIB}
    if g.chance(0.6):
        result_of(g, "QGemm", inputs, size, x.dtype, **settings)
    else:
        g.node("QGemm", *inputs, **settings)


def qlinear_binary(operator: str, g: OnnxMaker) -> None:
    """A sum or a product, element by element."""
    x = integers(g)
    same = [
        v for v in g.values
        if v.scale is not None and (v.shape, v.dtype) == (x.shape, x.dtype)
    ]  # fmt: skip
    shape = tuple(1 if g.chance(0.2) else size for size in x.shape)
    shape = shape[g.integer(0, len(shape) - 1) :] if g.chance(0.3) else shape
    y = (
        g.one_of(same)
        if g.chance(0.6)
        else new_integers(g, shape, x.dtype, g.chance(0.5))
    )
    a, b = deviation(x), deviation(y)
    size = a * b if operator == "QLinearMul" else a + b
    inputs: list[Value | None] = [x, *parameters(g, x), y, *parameters(g, y)]
    result_of(g, operator, inputs, size, x.dtype, domain=CONTRIB)


def qlinear_pool(g: OnnxMaker) -> None:
    """An average of windows, or of the whole plane."""
    x = integers(g, 4)
    inputs: list[Value | None] = [x, *parameters(g, x)]
    if g.chance(0.4):
        operator, settings = "QLinearGlobalAveragePool", dict[str, Any]()
    else:
        kernel = g.one_of(KERNELS)
        settings = {**window(g, kernel), "kernel_shape": kernel}
        settings.pop("dilations", None)
        # Of a window that ends behind the padding ONNX Runtime counts more than ONNX says.
        settings[g.one_of(("count_include_pad", "ceil_mode"))] = g.integer(0, 1)
        operator = "QLinearAveragePool"
    size = deviation(x)
    result_of(g, operator, inputs, size, x.dtype, domain=CONTRIB, **settings)


def qlinear_concat(g: OnnxMaker) -> None:
    """Tensors one after the other, each with a scale of its own."""
    first = integers(g)
    axis = g.integer(0, len(first.shape) - 1)
    parts = [first]
    for _ in range(g.integer(0, 2)):
        shape = list(first.shape)
        shape[axis] = g.integer(1, 4)
        parts.append(new_integers(g, tuple(shape), first.dtype, g.chance(0.3)))
    scale, point = scale_for(g, deviation(first)), point_for(g, first.dtype)
    inputs = [g.constant(scale), g.constant(point)]
    for part in parts:
        inputs += [part, *parameters(g, part)]
    result = g.node("QLinearConcat", *inputs, domain=CONTRIB, axis=axis)
    result.scale, result.point = scale, point


def qlinear_function(g: OnnxMaker) -> None:
    """A function of each element."""
    x, operator = integers(g), g.one_of(("QLinearSigmoid", "QLinearLeakyRelu"))
    more = {"alpha": g.one_of((0.1, 0.25, 0.01))} if operator[7] == "L" else {}
    size = deviation(x) if more else 0.5
    inputs: list[Value | None] = [x, *parameters(g, x)]
    result_of(g, operator, inputs, size, x.dtype, domain=CONTRIB, **more)


def integer_points(g: OnnxMaker, x: Value, y: Value) -> list[Value]:
    """Zero points of an integer product, or none."""
    if g.chance(0.3):
        return []
    return [g.constant(point_for(g, value.dtype)) for value in (x, y)]


def matmul_integer(g: OnnxMaker) -> None:
    """A product of integers, sometimes made floats."""
    x = integers(g, g.integer(2, 4))
    y = factor(g, x, by_column=False)
    points = integer_points(g, x, y)
    if g.chance(0.5):
        g.node("MatMulInteger", x, y, *points)
        return
    if len(y.shape) > 2:
        return
    scales = [g.new(()), g.constant(g.array((y.shape[-1],)))]
    bias = [g.constant(g.array((y.shape[-1],)))] if g.chance(0.5) else []
    inputs = [x, y, *scales, *(points or [None, None]), *bias]
    g.node("MatMulIntegerToFloat", *inputs, domain=CONTRIB)


def conv_integer(g: OnnxMaker) -> None:
    """A convolution of integers, whose sums are made floats."""
    x = integers(g, 4, U8)
    group, shape = filters(g, x.shape[1])
    make = g.constant if g.chance(0.7) else g.argument
    y = make(whole(g, shape, g.one_of((U8, S8))))
    points = integer_points(g, x, y)
    settings = window(g, shape[2:])
    sums = g.node("ConvInteger", x, y, *points, group=group, **settings)
    if g.chance(0.5):
        unit = g.constant(np.array(1e-4, F32))
        g.node("Mul", g.node("Cast", sums, to=1), unit)


def dynamic_quantize(g: OnnxMaker) -> None:
    """Floats quantized by their own range, and their product."""
    x = g.floats(2)
    if g.chance(0.3):
        g.nodes("DynamicQuantizeLinear", [x], outputs=3)
        return
    outputs = g.integer(1, 17)
    y = weights(g, (x.shape[1], outputs), S8, 1)
    y.point = np.zeros(y.point.shape, S8) if y.point is not None else None
    bias = [g.constant(g.array((outputs,)))] if g.chance(0.5) else []
    if g.chance(0.5):
        inputs = [x, y, *parameters(g, y), *bias]
        g.node("DynamicQuantizeMatMul", *inputs, domain=CONTRIB)
        return
    bytes_, scale, point = g.nodes("DynamicQuantizeLinear", [x], outputs=3)
    sums = g.node("MatMulInteger", bytes_, y, point)
    unit = g.node("Mul", scale, g.constant(y.scale))
    result = g.node("Mul", g.node("Cast", sums, to=1), unit)
    if bias:
        g.node("Add", result, *bias)


def quantize(g: OnnxMaker, x: Value, by_axis: bool = False) -> Value:
    """Floats to integers, by one scale or one for each index of an axis."""
    dtype = kind(g)
    axis = g.integer(0, len(x.shape) - 1) if by_axis and x.shape else None
    scale, point = scale_for(g, deviation(x)), point_for(g, dtype)
    if axis is not None:
        scale = scale * g.random.uniform(0.5, 2, x.shape[axis]).astype(F32)
        point = np.full(scale.shape, point)
    more = {} if axis is None else {"axis": axis}
    parameters = [g.constant(scale), g.constant(point)]
    result = g.node("QuantizeLinear", x, *parameters, **more)
    if axis is None:
        result.scale, result.point = scale, point
    else:
        g.node("DequantizeLinear", result, *parameters, **more)
    return result


def dequantize(g: OnnxMaker, x: Value) -> Value:
    """Integers to floats."""
    return g.node("DequantizeLinear", x, *parameters(g, x))


def cast(g: OnnxMaker) -> None:
    """Floats to integers, or back."""
    if g.chance(0.5):
        quantize(g, g.floats(), by_axis=g.chance(0.5))
    else:
        dequantize(g, integers(g))


def moved(g: OnnxMaker) -> None:
    """Integers that only move, or the largest of a window."""
    x = integers(g)
    rank = len(x.shape)
    which = g.integer(0, 4)
    if which == 0:
        order = [int(axis) for axis in g.random.permutation(rank)]
        g.quantized("Transpose", x, perm=order)
    elif which == 1:
        g.quantized("Flatten", x, axis=g.integer(0, rank))
    elif which == 2:
        pads = np.array([g.integer(0, 1) for _ in range(2 * rank)], np.int64)
        g.quantized("Pad", x, g.constant(pads), g.constant(x.point))
    elif which == 3:
        axis = g.integer(0, rank - 1)
        last = g.integer(1, x.shape[axis])
        ends = [g.constant(np.array([n], np.int64)) for n in (last - 1, last + 2, axis)]
        g.quantized("Slice", x, *ends)
    else:
        image = integers(g, 4)
        kernel = g.one_of(((2, 2), (3, 3)))
        g.quantized("MaxPool", image, kernel_shape=kernel, pads=[0, 0, 1, 1])


INTEGER_STEPS: tuple[OnnxStep, ...] = (
    *(qlinear_conv, qlinear_matmul, qgemm) * 3, qlinear_pool, qlinear_pool,
    partial(qlinear_binary, "QLinearAdd"), partial(qlinear_binary, "QLinearMul"),
    qlinear_concat, qlinear_function, matmul_integer, conv_integer, dynamic_quantize,
    cast, moved, moved,
)  # fmt: skip
