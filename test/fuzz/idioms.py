"""The steps that add what rewrites look for: nodes in an order that no random walk finds."""

from __future__ import annotations

from functools import partial
from math import pi, sqrt

import numpy as np
from random_graphs import F32, GraphMaker, Step, dtype_in
from single_nodes import BOOL, conv2d
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of


def number(g: GraphMaker, value: float) -> SSAValue:
    """A constant that broadcasts, of one of the shapes that exporters give it."""
    return g.constant(np.full(g.one_of(((), (1,))), value, F32))


def both(g: GraphMaker, node: type[NodeOp], x: SSAValue, y: SSAValue) -> SSAValue:
    """A commutative node with its operands in either order."""
    return g.node(node, x, y) if g.chance(0.5) else g.node(node, y, x)


def small(g: GraphMaker, rank: int | None = None) -> SSAValue:
    """A float value within [-1, 1], as exponentials want it."""
    return g.node(glow.TanhOp, g.tensor(rank, F32))


def gelu(g: GraphMaker) -> None:
    """The error function's form."""
    x = g.tensor(dtype=F32)
    if g.chance(0.5):
        inner = g.node(glow.DivOp, x, number(g, sqrt(2)))
    else:
        inner = both(g, glow.MulOp, x, number(g, 1 / sqrt(2)))
    gate = both(g, glow.AddOp, g.node(glow.ErfOp, inner), number(g, 1.0))
    both(g, glow.MulOp, both(g, glow.MulOp, x, gate), number(g, 0.5))


def gelu_tanh(g: GraphMaker) -> None:
    """The hyperbolic tangent's form, with a power or products."""
    x = g.tensor(dtype=F32)
    if g.chance(0.5):
        cube = g.node(glow.PowOp, x, number(g, 3.0))
    else:
        cube = both(g, glow.MulOp, g.node(glow.MulOp, x, x), x)
    inner = both(g, glow.AddOp, x, both(g, glow.MulOp, cube, number(g, 0.044715)))
    scaled = both(g, glow.MulOp, inner, number(g, sqrt(2 / pi)))
    gate = both(g, glow.AddOp, g.node(glow.TanhOp, scaled), number(g, 1.0))
    both(g, glow.MulOp, both(g, glow.MulOp, x, number(g, 0.5)), gate)


def sigmoid(g: GraphMaker) -> None:
    """1 / (1 + exp(-x)), or x in the place of 1."""
    x = small(g)
    total = both(
        g, glow.AddOp, g.node(glow.ExpOp, g.node(glow.NegOp, x)), number(g, 1.0)
    )
    g.node(glow.DivOp, x if g.chance(0.5) else number(g, 1.0), total)


def hard_swish(g: GraphMaker) -> None:
    """x * clip(x + 3, 0, 6) / 6, in its spellings."""
    x = g.tensor(dtype=F32)
    bounded = g.node(
        glow.ClipOp, both(g, glow.AddOp, x, number(g, 3.0)), low=0.0, high=6.0
    )
    if g.chance(0.5):
        g.node(glow.DivOp, both(g, glow.MulOp, x, bounded), number(g, 6.0))
    else:
        both(g, glow.MulOp, x, both(g, glow.MulOp, bounded, number(g, 1 / 6)))


def mean(g: GraphMaker, x: SSAValue, axes: list[int]) -> SSAValue:
    """A mean that keeps the axes."""
    return g.node(glow.ReduceMeanOp, x, axes=axes, keepdims=True)


def layer_norm(g: GraphMaker) -> None:
    """The nine nodes of a layer normalization."""
    x = g.tensor(g.integer(2, 3), F32)
    rank = len(shape_of(x))
    axes = [rank - 1] if g.chance(0.7) else list(range(1, rank))
    centred = g.node(glow.SubOp, x, mean(g, x, axes))
    if g.chance(0.5):
        square = g.node(glow.PowOp, centred, number(g, 2.0))
    else:
        square = g.node(glow.MulOp, centred, centred)
    total = both(g, glow.AddOp, mean(g, square, axes), number(g, 0.01))
    normal = g.node(glow.DivOp, centred, g.node(glow.SqrtOp, total))
    shape = shape_of(x)[axes[0] :]
    scaled = both(g, glow.MulOp, normal, g.new(shape))
    if g.chance(0.7):
        both(g, glow.AddOp, scaled, g.new(shape))


def after_layer_norm(g: GraphMaker) -> None:
    """A normalization, then a scale and a shift."""
    x = g.tensor(2, F32)
    shape = shape_of(x)[1:]
    y = g.node(glow.LayerNormOp, x, g.new(shape), g.new(shape), axis=1, epsilon=0.01)
    scaled = both(g, glow.MulOp, y, g.constant(g.array(g.one_of((shape, (1,))))))
    both(g, glow.AddOp, scaled, g.constant(g.array(g.one_of((shape, (1,))))))


def softmax(g: GraphMaker) -> None:
    """Exponentials by their sum, shifted or not."""
    x = small(g, g.integer(1, 3))
    axis = g.integer(0, len(shape_of(x)) - 1)
    if g.chance(0.5):
        largest = g.node(glow.ReduceMaxOp, x, axes=[axis], keepdims=True)
        x = g.node(glow.SubOp, x, largest)
    powers = g.node(glow.ExpOp, x)
    total = g.node(glow.ReduceSumOp, powers, axes=[axis], keepdims=True)
    g.node(glow.DivOp, powers, total)


def leaky(g: GraphMaker) -> None:
    """max(x, alpha * x)."""
    x = g.tensor(dtype=F32)
    scaled = both(g, glow.MulOp, x, number(g, g.one_of((0.25, 1.0, 2.0, -1.0))))
    both(g, glow.MaxOp, x, scaled)


def bounds(g: GraphMaker) -> None:
    """A minimum and a maximum with numbers."""
    x = g.tensor(dtype=F32)
    low, high = number(g, g.one_of((-0.5, 0.0, 2.0))), number(g, g.one_of((0.5, 6.0)))
    if g.chance(0.5):
        both(g, glow.MaxOp, both(g, glow.MinOp, x, high), low)
    else:
        both(g, glow.MinOp, both(g, glow.MaxOp, x, low), high)


def channel_chain(g: GraphMaker) -> None:
    """A layer, then scales, shifts and normalizations of its channels."""
    if g.chance(0.6):
        x = conv2d(g)
        shape: tuple[int, ...] = (shape_of(x)[1], 1, 1)
    else:
        y = g.tensor(2, F32)
        weights = g.constant(g.array((shape_of(y)[1], 3)))
        x = g.node(g.one_of((glow.MatmulOp, glow.FullyConnectedOp)), y, weights)
        shape = (3,)
    for _ in range(g.integer(1, 3)):
        factor = g.constant(g.array(g.one_of((shape, (1,)))))
        kind = g.one_of(("affine", "affine", "norm"))
        if kind == "affine":
            x = g.node(g.one_of((glow.AddOp, glow.MulOp, glow.SubOp)), x, factor)
        else:
            parts = [g.constant(g.array(shape[:1])) for _ in range(3)]
            variance = g.constant(np.abs(g.array(shape[:1])) + F32.type(0.5))
            x = g.node(glow.BatchNormOp, x, *parts, variance)
    if g.chance(0.5):
        g.node(g.one_of((glow.ReluOp, glow.ClipOp, glow.SigmoidOp)), x)


def channel_shuffle(g: GraphMaker) -> None:
    """Reshape, transpose, reshape between grouped convolutions."""
    batch, height, width = g.integer(1, 2), 3, 3
    image = g.new((batch, 4, height, width))
    first = g.node(glow.Conv2dOp, image, g.constant(g.array((4, 2, 1, 1))), group=2)
    split = g.node(glow.ReshapeOp, first, result=((batch, 2, 2, height, width), F32))
    moved = g.node(glow.TransposeOp, split, permutation=[0, 2, 1, 3, 4])
    joined = g.node(glow.ReshapeOp, moved, result=(shape_of(first), F32))
    group = g.one_of((1, 2, 4))
    g.node(
        glow.Conv2dOp, joined, g.constant(g.array((4, 4 // group, 1, 1))), group=group
    )


def space_to_batch(g: GraphMaker) -> None:
    """A dilated convolution as its exporters spell it."""
    batch, channels, rate, size = g.integer(1, 2), g.integer(1, 3), 2, g.integer(2, 3)
    image = g.new((batch, channels, rate * size, rate * size))
    parts = (batch, channels, size, rate, size, rate)
    split = g.node(glow.ReshapeOp, image, result=(parts, F32))
    order = [3, 5, 0, 1, 2, 4] if g.chance(0.8) else [5, 3, 0, 1, 2, 4]
    moved = g.node(glow.TransposeOp, split, permutation=order)
    blocks = (rate * rate * batch, channels, size, size)
    packed = g.node(glow.ReshapeOp, moved, result=(blocks, F32))
    outputs = g.integer(1, 3)
    weights = g.constant(g.array((outputs, channels, 3, 3)))
    pads = g.one_of(([1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 2, 1]))
    y = g.node(glow.Conv2dOp, packed, weights, pads=pads)
    back = (rate, rate, batch, outputs, size, size)
    split = g.node(glow.ReshapeOp, y, result=(back, F32))
    moved = g.node(glow.TransposeOp, split, permutation=[2, 3, 4, 0, 5, 1])
    plane = (batch, outputs, rate * size, rate * size)
    g.node(glow.ReshapeOp, moved, result=(plane, F32))


def attention(g: GraphMaker) -> None:
    """Queries, keys and values of one input, scores with a scale, softmax."""
    batch, length, heads, width = g.integer(1, 2), g.integer(1, 4), g.integer(1, 2), 2
    size = heads * width
    x = g.new((batch, length, size))

    def projected(order: list[int]) -> SSAValue:
        y = g.node(glow.MatmulOp, x, g.constant(g.array((size, size))))
        if g.chance(0.5):
            y = both(g, glow.AddOp, y, g.constant(g.array((size,))))
        y = g.node(glow.ReshapeOp, y, result=((batch, length, heads, width), F32))
        return g.node(glow.TransposeOp, y, permutation=order)

    scores = g.node(glow.MatmulOp, projected([0, 2, 1, 3]), projected([0, 2, 3, 1]))
    if g.chance(0.5):
        scores = g.node(glow.DivOp, scores, number(g, 2.0))
    else:
        scores = both(g, glow.MulOp, scores, number(g, 0.5))
    if g.chance(0.5):
        scores = both(g, glow.AddOp, scores, g.new((batch, 1, 1, length)))
    weights = g.node(glow.SoftmaxOp, scores, axis=3)
    y = g.node(glow.MatmulOp, weights, projected([0, 2, 1, 3]))
    y = g.node(glow.TransposeOp, y, permutation=[0, 2, 1, 3])
    g.node(glow.ReshapeOp, y, result=((batch, length, size), F32))


def sisters(g: GraphMaker) -> None:
    """Products of one input, with and without bias and activation."""
    x = g.tensor(2, F32)
    for _ in range(g.integer(2, 3)):
        weights = g.constant(g.array((shape_of(x)[1], g.integer(1, 4))))
        y = g.node(g.one_of((glow.MatmulOp, glow.FullyConnectedOp)), x, weights)
        if g.chance(0.3):
            y = g.node(glow.ReluOp, y)


def sister_convolutions(g: GraphMaker) -> None:
    """Convolutions of one input."""
    x = g.tensor(4, F32)
    for _ in range(g.integer(2, 3)):
        weights = g.constant(g.array((g.integer(1, 4), shape_of(x)[1], 1, 1)))
        bias = [g.constant(g.array(shape_of(weights)[:1]))] if g.chance(0.5) else []
        y = g.node(glow.Conv2dOp, x, weights, *bias)
        if g.chance(0.5):
            g.node(glow.ReluOp, y)


def padded_window(g: GraphMaker) -> None:
    """A pad in front of a convolution or a pool."""
    x = g.tensor(4, F32)
    pads = [0, 0, *(g.integer(0, 2) for _ in range(2))] * 2
    value = g.one_of((0.0, 0.0, 1.0, float("-inf")))
    padded = g.node(glow.PadOp, x, pads=pads, value=value)
    if g.chance(0.6):
        conv2d(g, padded)
    else:
        node = g.one_of((glow.MaxPool2dOp, glow.AvgPool2dOp))
        more = {"count_include_pad": True} if node is glow.AvgPool2dOp else {}
        g.node(node, padded, kernel=[2, 2], strides=[1, 2], pads=[0, 0, 1, 1], **more)


def pieces(g: GraphMaker) -> None:
    """Slices that follow each other, and something that joins them again."""
    x = g.tensor(g.integer(1, 3))
    shape = shape_of(x)
    axis = g.integer(0, len(shape) - 1)
    cut = g.integer(0, shape[axis])
    parts: list[SSAValue] = []
    for start, size in ((0, cut), (cut, shape[axis] - cut)):
        starts, sizes = [0] * len(shape), list(shape)
        starts[axis], sizes[axis] = min(start, shape[axis] - 1), size
        if size:
            part = g.node(
                glow.SliceOp, x, starts=starts, sizes=sizes, steps=[1] * len(shape)
            )
            parts.append(part)
    if g.chance(0.3):
        parts = [g.node(glow.AbsOp, part) for part in parts]
    if g.chance(0.2):
        parts.reverse()
    joined = g.node(glow.ConcatOp, *parts, axis=axis)
    if g.chance(0.5):
        more = g.node(glow.ConcatOp, joined, parts[0], axis=axis)
        g.node(glow.NotOp if dtype_in(more) == BOOL else glow.NegOp, more)


def wrapped(g: GraphMaker) -> None:
    """Transposes or reshapes around nodes that could do without."""
    x = g.tensor(4, F32)
    order = [int(axis) for axis in g.random.permutation(4)]
    y = g.node(glow.TransposeOp, x, permutation=order)
    kind = g.integer(0, 4)
    if kind == 0:
        y = g.node(glow.ReluOp, y)
    elif kind == 1:
        y = both(g, glow.AddOp, y, g.constant(g.array(shape_of(y)[2:])))
    elif kind == 2:
        y = g.node(glow.SoftmaxOp, y, axis=g.integer(0, 3))
    elif kind == 3:
        y = mean(g, y, [g.integer(0, 3)])
    else:
        y = g.node(glow.PadOp, y, pads=[0, 1, 0, 0, 0, 0, 2, 0])
    g.node(glow.TransposeOp, y, permutation=[int(axis) for axis in np.argsort(order)])


def flattened(g: GraphMaker) -> None:
    """A transposed image, flattened in front of a layer."""
    x = g.new(g.shape(4))
    moved = g.node(
        glow.TransposeOp, x, permutation=g.one_of(([0, 2, 3, 1], [0, 3, 1, 2]))
    )
    batch, *rest = shape_of(moved)
    size = int(np.prod(rest))
    flat = g.node(glow.ReshapeOp, moved, result=((batch, size), F32))
    g.node(glow.FullyConnectedOp, flat, g.constant(g.array((size, g.integer(1, 3)))))


def repeated(g: GraphMaker) -> None:
    """Something broadcast or tiled in front of a sum or a product of matrices."""
    x = g.tensor(2, F32)
    rows, depth = shape_of(x)
    if g.chance(0.5):
        row = g.node(glow.TileOp, g.new((1, depth)), repeats=[rows, 1])
        both(g, glow.AddOp, x, row)
    else:
        matrix = g.new((depth, 3))
        wide = g.node(glow.BroadcastOp, matrix, result=((2, depth, 3), F32))
        g.node(glow.MatmulOp, g.new((2, rows, depth)), wide)


def twice(node: type[NodeOp], g: GraphMaker) -> None:
    """The same node two times, on equal operands."""
    x = g.tensor(dtype=F32)
    array = g.array(shape_of(x)[-1:])
    for _ in range(2):
        both(g, node, x, g.constant(array.copy()))


IDIOMS: tuple[Step, ...] = (
    gelu, gelu_tanh, sigmoid, hard_swish, layer_norm, after_layer_norm, softmax, leaky,
    bounds, channel_chain, channel_chain, channel_shuffle, space_to_batch, attention,
    sisters, sister_convolutions, padded_window, pieces, wrapped, wrapped, flattened,
    repeated, partial(twice, glow.AddOp), partial(twice, glow.MulOp),
)  # fmt: skip
