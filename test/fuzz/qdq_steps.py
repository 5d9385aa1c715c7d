"""The steps that add nodes on floats between casts (QDQ), as exporters write them."""

from __future__ import annotations

from functools import partial
from typing import Any

from onnx_graphs import OnnxMaker, OnnxStep, Value
from quantized_steps import (
    KERNELS,
    S8,
    U8,
    dequantize,
    filters,
    integers,
    new_integers,
    parameters,
    quantize,
    weights,
    window,
)
from random_graphs import Shape


def constant_weights(g: OnnxMaker, shape: Shape, axis: int) -> Value:
    """Constant weights behind a DequantizeLinear."""
    w = weights(g, shape, S8, axis)
    more = {"axis": axis} if w.scale is not None and w.scale.ndim else {}
    return g.node("DequantizeLinear", w, *parameters(g, w), **more)


def bias(g: OnnxMaker, count: int) -> list[Value]:
    """A float bias, or none."""
    return [g.constant(g.array((count,)))] if g.chance(0.5) else []


def conv(g: OnnxMaker, x: Value) -> Value:
    """A convolution of floats that were quantized."""
    group, shape = filters(g, x.shape[1])
    w = constant_weights(g, shape, 0)
    settings = window(g, shape[2:])
    return g.node("Conv", x, w, *bias(g, shape[0]), group=group, **settings)


def gemm(g: OnnxMaker, x: Value) -> Value:
    """A fully connected layer of floats that were quantized."""
    outputs, flipped = g.integer(1, 17), g.chance(0.5)
    shape = (outputs, x.shape[1]) if flipped else (x.shape[1], outputs)
    w = constant_weights(g, shape, 0 if flipped else 1)
    return g.node("Gemm", x, w, *bias(g, outputs), transB=int(flipped))


def matmul(g: OnnxMaker, x: Value) -> Value:
    """A product of floats that were quantized, with weights or another value."""
    shape = (x.shape[-1], g.integer(1, 17))
    if g.chance(0.6):
        return g.node("MatMul", x, constant_weights(g, shape, 1))
    y = new_integers(g, (*x.shape[:-2], *shape), U8)
    return g.node("MatMul", x, dequantize(g, y))


def pool(g: OnnxMaker, x: Value) -> Value:
    """A pool of floats that were quantized."""
    if g.chance(0.3):
        return g.node("GlobalAveragePool", x)
    kernel = g.one_of(KERNELS)
    settings = {**window(g, kernel), "kernel_shape": kernel}
    settings.pop("dilations", None)
    return g.node(g.one_of(("MaxPool", "AveragePool")), x, **settings)


def unary(g: OnnxMaker, x: Value) -> Value:
    """A function of floats that were quantized."""
    return g.node(g.one_of(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish")), x)


def binary(g: OnnxMaker, x: Value) -> Value:
    """A sum or product of floats that were quantized."""
    other = new_integers(g, x.shape, U8, g.chance(0.3))
    return g.node(g.one_of(("Add", "Mul", "Sub", "Max")), x, dequantize(g, other))


def between_casts(layer: Any, ranks: Shape, g: OnnxMaker) -> None:
    """A node on floats between casts, sometimes with an activation."""
    y = layer(g, dequantize(g, integers(g, g.one_of(ranks))))
    if g.chance(0.3):
        y = g.node("Relu", y)
    quantize(g, y)


LAYERS: tuple[tuple[Any, Shape], ...] = (
    (conv, (4,)), (conv, (4,)), (gemm, (2,)), (matmul, (2, 3, 4)),
    (pool, (4,)), (unary, (1, 2, 3, 4, 5)), (binary, (1, 2, 3, 4, 5)),
)  # fmt: skip

QDQ_STEPS: tuple[OnnxStep, ...] = tuple(
    partial(between_casts, *layer) for layer in LAYERS
)
