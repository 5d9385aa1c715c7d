"""The steps that add nodes on floats to ONNX models, with operands that may be constant."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from onnx_graphs import OnnxMaker, OnnxStep, Value
from quantized_steps import KERNELS, filters, window
from random_graphs import F32, Shape

SMOOTH = (
    "Relu", "Tanh", "Sigmoid", "Erf", "Abs", "Neg", "Softplus", "HardSwish", "Elu",
    "LeakyRelu", "HardSigmoid", "Selu", "Sin", "Cos", "Atan", "Softsign", "Identity",
)  # fmt: skip


def unary(g: OnnxMaker) -> None:
    """A function of one number."""
    g.node(g.one_of(SMOOTH), g.floats())


def positive(g: OnnxMaker) -> None:
    """A function of positive numbers."""
    x = g.node("Add", g.node("Abs", g.floats()), g.constant(np.array(0.5, F32)))
    g.node(g.one_of(("Sqrt", "Log", "Reciprocal")), x)


def exponential(g: OnnxMaker) -> None:
    """A function that grows fast, of small numbers."""
    g.node(g.one_of(("Exp", "Sinh", "Cosh")), g.node("Tanh", g.floats()))


def clip(g: OnnxMaker) -> None:
    """Bounds, of which one may be missing."""
    low, high = g.constant(np.array(-0.5, F32)), g.constant(np.array(1.5, F32))
    g.node("Clip", g.floats(), *g.one_of(((low, high), (low,), (None, high))))


def binary(g: OnnxMaker) -> None:
    """A function of two numbers."""
    x = g.floats()
    operands = [x, g.beside(x)]
    if g.chance(0.5):
        operands.reverse()
    g.node(g.one_of(("Add", "Sub", "Mul", "Max", "Min", "Add", "Mul")), *operands)


def scaled(g: OnnxMaker) -> None:
    """A product with and a sum of constants, as what is left of a normalization."""
    x = g.floats()
    channels = (x.shape[1], *[1] * (len(x.shape) - 2)) if len(x.shape) > 1 else ()
    x = g.node("Mul", x, g.constant(g.array(channels)))
    g.node("Add", x, g.constant(g.array(channels)))


def select(g: OnnxMaker) -> None:
    """A choice by a comparison."""
    x = g.floats()
    y = g.beside(x)
    condition = g.node(g.one_of(("Greater", "Less", "GreaterOrEqual")), x, y)
    g.node("Where", condition, x, y)


def factors(g: OnnxMaker, shape: Shape) -> Value:
    """Weights, mostly constant, whose sums stay small."""
    array = g.array(shape) / F32.type(np.sqrt(np.prod(shape[1:]) or 1))
    return g.constant(array) if g.chance(0.8) else g.argument(array)


def bias(g: OnnxMaker, count: int) -> list[Value]:
    """A bias, or none."""
    return [g.constant(g.array((count,)))] if g.chance(0.5) else []


def conv(g: OnnxMaker) -> None:
    """A convolution, often followed by what merges into it."""
    x = g.floats(4)
    group, shape = filters(g, x.shape[1])
    operands = [x, factors(g, shape), *bias(g, shape[0])]
    y = g.node("Conv", *operands, group=group, **window(g, shape[2:]))
    if g.chance(0.3):
        y = normalized(g, y)
    if g.chance(0.4):
        g.node(g.one_of(("Relu", "HardSwish", "Sigmoid")), y)


def transposed_conv(g: OnnxMaker) -> None:
    """A transposed convolution."""
    x, outputs = g.floats(4), g.integer(1, 5)
    shape = (x.shape[1], outputs, *g.one_of(KERNELS))
    strides = [g.integer(1, 2), g.integer(1, 2)]
    operands = [x, factors(g, shape), *bias(g, outputs)]
    g.node("ConvTranspose", *operands, strides=strides)


def normalized(g: OnnxMaker, x: Value) -> Value:
    """A batch normalization of constants."""
    channels = (x.shape[1],)
    parameters = [g.constant(g.array(channels)) for _ in range(3)]
    variance = g.constant(np.abs(g.array(channels)) + F32.type(0.5))
    return g.node("BatchNormalization", x, *parameters, variance)


def batch_norm(g: OnnxMaker) -> None:
    """A batch normalization of any value."""
    normalized(g, g.floats(g.one_of((2, 3, 4))))


def layer_norm(g: OnnxMaker) -> None:
    """A layer normalization."""
    x = g.floats(g.integer(2, 4))
    axis = g.integer(1, len(x.shape) - 1)
    parameters = [g.constant(g.array(x.shape[axis:])) for _ in range(2)]
    g.node("LayerNormalization", x, *parameters, axis=axis, epsilon=0.01)


def pool(g: OnnxMaker) -> None:
    """A pool of windows, or of the whole plane."""
    x = g.floats(4)
    if g.chance(0.3):
        g.node(g.one_of(("GlobalAveragePool", "GlobalMaxPool")), x)
        return
    kernel = g.one_of(KERNELS)
    more: dict[str, Any] = window(g, kernel)
    operator = g.one_of(("MaxPool", "AveragePool"))
    if operator == "AveragePool":
        more["count_include_pad"] = g.integer(0, 1)
    more["ceil_mode"] = int(g.chance(0.2))
    g.node(operator, x, kernel_shape=kernel, **more)


def matmul(g: OnnxMaker) -> None:
    """A product of matrices, or of batches of them."""
    x = g.floats(g.integer(1, 5))
    shape = (x.shape[-1], g.one_of((1, 2, 5, 8, 17)))
    batch = x.shape[:-2] if g.chance(0.3) else ()
    batch = tuple(1 if g.chance(0.2) else size for size in batch)
    y = g.node("MatMul", x, factors(g, (*batch, *shape)))
    if g.chance(0.4):
        g.node("Add", y, g.constant(g.array(shape[1:])))


def gemm(g: OnnxMaker) -> None:
    """A matrix product with all of its options."""
    x, left, right = g.floats(2), g.chance(0.2), g.chance(0.5)
    depth, outputs = x.shape[0 if left else 1], g.integer(1, 17)
    rows = x.shape[1 if left else 0]
    shape = (outputs, depth) if right else (depth, outputs)
    addend = g.one_of(((outputs,), (1,), (), (rows, 1), (1, outputs), (rows, outputs)))
    more = [g.new(addend)] if g.chance(0.6) else []
    settings = {"alpha": g.one_of((1.0, 0.5)), "beta": g.one_of((1.0, 2.0))}
    operands = [x, factors(g, shape), *more]
    g.node("Gemm", *operands, transA=int(left), transB=int(right), **settings)


def sisters(g: OnnxMaker) -> None:
    """Products of one value, which rewrites join."""
    x = g.floats(2)
    for _ in range(g.integer(2, 3)):
        y = g.node("MatMul", x, g.constant(g.array((x.shape[1], g.integer(1, 5)))))
        if g.chance(0.5):
            g.node("Add", y, g.constant(g.array(y.shape[-1:])))


def sister_rows(g: OnnxMaker) -> None:
    """Products of several values by one matrix, with biases that may differ."""
    depth, outputs = g.integer(1, 6), g.integer(1, 6)
    matrix = g.constant(g.array((depth, outputs)))
    shared = g.constant(g.array((outputs,)))
    for _ in range(g.integer(2, 3)):
        x = g.argument(g.array((g.integer(1, 4), depth)))
        own = g.constant(g.array((outputs,))) if g.chance(0.5) else shared
        g.node("Gemm", x, matrix, own)


def softmax(g: OnnxMaker) -> None:
    """A softmax along any axis."""
    x = g.floats(g.integer(1, 4))
    axis = g.integer(-len(x.shape), len(x.shape) - 1)
    g.node(g.one_of(("Softmax", "LogSoftmax")), x, axis=axis)


def reduce(g: OnnxMaker) -> None:
    """A reduction over some axes."""
    x = g.floats(g.integer(1, 5))
    axes = [axis for axis in range(len(x.shape)) if g.chance(0.5)] or [0]
    operator = g.one_of(("Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare"))
    operand = g.constant(np.array(axes, np.int64))
    g.node(f"Reduce{operator}", x, operand, keepdims=g.integer(0, 1))


def reshape(g: OnnxMaker) -> None:
    """Another shape of as many elements."""
    x = g.floats()
    size, rank = x.array.size, len(x.shape)
    first = g.one_of([n for n in (1, 2, 3, 4) if size % n == 0])
    shape = g.one_of(([-1], [first, -1], [1, first, -1], [size // first, first]))
    if g.chance(0.3) and rank:
        g.node("Flatten", x, axis=g.integer(0, rank))
    else:
        g.node("Reshape", x, g.constant(np.array(shape, np.int64)))


def transpose(g: OnnxMaker) -> None:
    """Another order of axes."""
    x = g.floats(g.integer(1, 5))
    order = [int(axis) for axis in g.random.permutation(len(x.shape))]
    g.node("Transpose", x, perm=order)


def concat(g: OnnxMaker) -> None:
    """Tensors one after the other."""
    x = g.floats(g.integer(1, 5))
    axis = g.integer(0, len(x.shape) - 1)
    parts = [x]
    for _ in range(g.integer(0, 2)):
        shape = list(x.shape)
        shape[axis] = g.integer(1, 3)
        parts.append(g.new(tuple(shape)))
    if g.chance(0.3):
        parts.reverse()
    g.node("Concat", *parts, axis=axis)


def part(g: OnnxMaker) -> None:
    """A part of a tensor, backwards now and then, or elements by their number."""
    x = g.floats(g.integer(1, 5))
    axis = g.integer(0, len(x.shape) - 1)
    size = x.shape[axis]
    if g.chance(0.3):
        numbers = g.random.integers(-size, size, g.one_of(((), (1,), (3,), (2, 2))))
        g.node("Gather", x, g.constant(np.asarray(numbers, np.int64)), axis=axis)
        return
    step = g.one_of((1, 1, 2, -1))
    start = g.integer(0, size - 1)
    bounds = (start, -(2**31), -1) if step < 0 else (start, 2**31, step)
    first, last, by = (np.array([n], np.int64) for n in bounds)
    ends = (g.constant(a) for a in (first, last, np.array([axis], np.int64), by))
    g.node("Slice", x, *ends)


def pad(g: OnnxMaker) -> None:
    """Padding in front of a window."""
    x = g.floats(4)
    pads = [0, 0, g.integer(0, 2), g.integer(0, 2)] * 2
    value = g.constant(np.array(g.one_of((0.0, 0.0, 1.0)), F32))
    mode = g.one_of(("constant", "constant", "edge"))
    y = g.node("Pad", x, g.constant(np.array(pads, np.int64)), value, mode=mode)
    if g.chance(0.5):
        shape = (g.integer(1, 4), y.shape[1], 3, 3)
        g.node("Conv", y, factors(g, shape))


def attention(g: OnnxMaker) -> None:
    """Queries, keys and values of one input, as exporters write them."""
    batch, length, heads, size = (g.integer(1, 3) for _ in range(4))
    width = heads * size
    x = g.floats(3) if g.chance(0.3) else g.argument(g.array((batch, length, width)))
    if x.shape[2] != width:
        return
    split = g.constant(np.array([x.shape[0], x.shape[1], heads, size], np.int64))

    def projected(order: list[int]) -> Value:
        y = g.node("MatMul", x, g.constant(g.array((width, width))))
        return g.node("Transpose", g.node("Reshape", y, split), perm=order)

    scores = g.node("MatMul", projected([0, 2, 1, 3]), projected([0, 2, 3, 1]))
    scores = g.node("Mul", scores, g.constant(np.array(0.5, F32)))
    if g.chance(0.5):
        scores = g.node("Add", scores, g.new((x.shape[1],)))
    shares = g.node("Softmax", scores, axis=-1)
    y = g.node("MatMul", shares, projected([0, 2, 1, 3]))
    y = g.node("Transpose", y, perm=[0, 2, 1, 3])
    g.node("Reshape", y, g.constant(np.array(x.shape, np.int64)))


def gelu(g: OnnxMaker) -> None:
    """The error function's form, sometimes with another number than GELU has."""
    x = g.floats()
    root = g.constant(np.array(np.sqrt(2), F32))
    one = g.constant(np.array(g.one_of((1.0, 1.0, 2.0)), F32))
    half = g.constant(np.array(0.5, F32))
    gate = g.node("Add", g.node("Erf", g.node("Div", x, root)), one)
    g.node("Mul", g.node("Mul", x, gate), half)


def pooled_function(operator: str, g: OnnxMaker) -> None:
    """A maximum pool and a function, which change places if the function never falls."""
    pads = [g.integer(0, 1) for _ in range(4)]
    x = g.node("MaxPool", g.floats(4), kernel_shape=[2, 2], pads=pads)
    g.node(operator, x)


def resize(g: OnnxMaker) -> None:
    """More or fewer pixels, often before a convolution."""
    x = g.floats(4)
    if min(x.shape) == 0:
        return
    sizes = [*x.shape[:2], *(g.integer(1, 2 * size) for size in x.shape[2:])]
    if g.chance(0.5):
        sizes[2:] = [2 * size for size in x.shape[2:]]
    mode = g.one_of(("nearest", "linear", "linear", "cubic"))
    settings = {
        "coordinate_transformation_mode": g.one_of(("half_pixel", "asymmetric"))
    }
    y = g.node(
        "Resize", x, None, None, g.constant(np.array(sizes)), mode=mode, **settings
    )
    if g.chance(0.5):
        g.node("Conv", y, factors(g, (g.integer(1, 4), y.shape[1], 1, 1)))


def grid_sample(g: OnnxMaker) -> None:
    """Pixels at coordinates that are inputs, or constants."""
    x = g.floats(4)
    if min(x.shape) == 0:
        return
    grid = g.new((x.shape[0], g.integer(1, 4), g.integer(1, 4), 2))
    padding = g.one_of(("zeros", "border", "reflection"))
    aligned = g.integer(0, 1)
    g.node("GridSample", x, grid, padding_mode=padding, align_corners=aligned)


FLOAT_STEPS: tuple[OnnxStep, ...] = (
    unary, unary, positive, exponential, clip, binary, binary, scaled, scaled, select,
    *(conv, matmul, gemm) * 3, transposed_conv, batch_norm, layer_norm, pool, pool,
    sisters, sister_rows, softmax, reduce, reshape, transpose, transpose, concat, part,
    pad, attention, gelu, resize, resize, grid_sample,
    *(partial(pooled_function, f) for f in ("Abs", "Relu", "Tanh")),
)  # fmt: skip
