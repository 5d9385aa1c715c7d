"""The steps of random networks: products of the sizes by which kernels are chosen.

More channels than a vector holds and remainders of it, planes of several tiles, weights
that are constant and keep the size of what they multiply.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
from random_graphs import F32, Array, GraphMaker, Shape, Step, random_graph
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of

CHANNELS = (1, 2, 3, 5, 8, 15, 16, 17, 24, 32, 33, 48, 64)
ROWS = (1, 1, 2, 3, 5, 14, 16, 33, 64, 130)
DEPTHS = (1, 3, 8, 16, 17, 40, 64, 100, 256, 384)
KERNELS = (
    (1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (2, 3), (1, 7), (3, 1),
)  # fmt: skip


def weights(g: GraphMaker, shape: Shape, depth: int) -> SSAValue:
    """Constants of which `depth` go into each sum."""
    return g.constant(g.array(shape) / F32.type(np.sqrt(depth)))


def image(g: GraphMaker) -> SSAValue:
    """An image, mostly one that a layer made."""
    plane = g.integer(1, 20), g.integer(1, 20)
    new = (g.one_of((1, 1, 2, 3)), g.one_of(CHANNELS), *plane)
    return g.pick(lambda value: len(shape_of(value)) == 4, new)


def matrix(g: GraphMaker) -> SSAValue:
    """Rows of numbers, or a batch of them."""
    batch = g.one_of(((), (), (2,)))
    new = (*batch, g.one_of(ROWS), g.one_of(DEPTHS))
    return g.pick(lambda value: len(shape_of(value)) in (2, 3), new)


def window(g: GraphMaker, kernel: tuple[int, int]) -> dict[str, Any]:
    """A window that keeps the plane, or any other."""
    if g.chance(0.5):
        return {"pads": [size // 2 for size in kernel * 2]}
    return {
        "strides": [g.integer(1, 3), g.integer(1, 2)],
        "dilations": [g.integer(1, 2), g.integer(1, 2)],
        "pads": [g.integer(0, size // 2 + 1) for size in kernel * 2],
    }


def bias(g: GraphMaker, outputs: int) -> list[SSAValue]:
    """A bias, or none."""
    return [g.constant(g.array((outputs,)))] if g.chance(0.6) else []


def convolution(g: GraphMaker) -> None:
    """A convolution, sometimes in groups, and often an activation after it."""
    x, kernel = image(g), g.one_of(KERNELS)
    channels = shape_of(x)[1]
    group = g.one_of(
        [n for n in (1, 1, 1, 1, 2, 3, 4, channels, channels) if channels % n == 0]
    )
    outputs, depth = group * g.integer(1, max(64 // group, 1)), channels // group
    factors = weights(g, (outputs, depth, *kernel), depth * prod(kernel))
    operands = [x, factors, *bias(g, outputs)]
    y = g.node(glow.Conv2dOp, *operands, group=group, **window(g, kernel))
    if g.chance(0.5):
        g.node(g.one_of((glow.ReluOp, glow.ReluOp, glow.TanhOp)), y)


def pool(node: type[NodeOp], g: GraphMaker) -> None:
    """A pool over a small window."""
    kernel = g.one_of(((2, 2), (3, 3), (3, 2)))
    settings = window(g, kernel)
    settings["pads"] = [min(pad, 1) for pad in settings["pads"]]
    # No window may lie in the padding: its maximum is -inf.
    settings.pop("dilations", None)
    g.node(node, image(g), kernel=list(kernel), **settings)


def batch_norm(g: GraphMaker) -> None:
    """A normalization by channel, by constants."""
    x = image(g)
    channels = shape_of(x)[1:2]
    parameters = [g.constant(g.array(channels)) for _ in range(3)]
    variance = g.constant(np.abs(g.array(channels)) + F32.type(0.5))
    g.node(glow.BatchNormOp, x, *parameters, variance)


def together(node: type[NodeOp], g: GraphMaker) -> None:
    """A node of two values of one shape."""
    x = image(g) if g.chance(0.7) else matrix(g)
    g.node(node, x, g.pick(lambda value: value.type == x.type, shape_of(x)))


def joined(g: GraphMaker) -> None:
    """The channels of two images."""
    x = image(g)
    batch, _, *plane = shape_of(x)
    fits = [batch, *plane]

    def has_plane(value: SSAValue) -> bool:
        sizes = list(shape_of(value))
        return len(sizes) == 4 and [sizes[0], *sizes[2:]] == fits

    g.node(glow.ConcatOp, x, g.pick(has_plane, shape_of(x)), axis=1)


def linear(g: GraphMaker) -> None:
    """A product with constant weights, and often an activation after it."""
    x, outputs = matrix(g), g.one_of(DEPTHS)
    depth = shape_of(x)[-1]
    factors, addend = weights(g, (depth, outputs), depth), bias(g, outputs)
    if len(shape_of(x)) == 2:
        y = g.node(glow.FullyConnectedOp, x, factors, *addend)
    else:
        y = g.node(glow.MatmulOp, x, factors)
        y = g.node(glow.AddOp, y, *addend) if addend else y
    if g.chance(0.4):
        g.node(g.one_of((glow.ReluOp, glow.GeluOp)), y)


def flattened(g: GraphMaker) -> None:
    """The pixels of an image as a row."""
    x = image(g)
    batch, *rest = shape_of(x)
    g.node(glow.ReshapeOp, x, result=((batch, prod(rest)), F32))


def product(g: GraphMaker) -> None:
    """A product of two computed matrices, as attention has them."""
    batch, left, right = g.one_of(((), (2,), (2, 3))), g.chance(0.3), g.chance(0.5)
    m, k, n = g.one_of(ROWS), g.one_of(DEPTHS[:-2]), g.one_of(ROWS)
    x = g.argument(g.array((*batch, *((k, m) if left else (m, k)))))
    scaled = g.array((*batch, *((n, k) if right else (k, n)))) / F32.type(np.sqrt(k))
    y = g.argument(scaled)
    g.node(glow.MatmulOp, x, y, transpose_lhs=left, transpose_rhs=right)


def layer_norm(g: GraphMaker) -> None:
    """A normalization of rows."""
    x = matrix(g)
    shape = shape_of(x)[-1:]
    parameters = [g.constant(g.array(shape)) for _ in range(2)]
    axis = len(shape_of(x)) - 1
    g.node(glow.LayerNormOp, x, *parameters, axis=axis, epsilon=0.01)


def transposed_convolution(g: GraphMaker) -> None:
    """A transposed convolution."""
    x, outputs, kernel = image(g), g.integer(1, 40), g.one_of(((2, 2), (3, 3), (4, 4)))
    channels = shape_of(x)[1]
    factors = weights(g, (channels, outputs, *kernel), channels * 4)
    settings: dict[str, Any] = {"strides": [g.integer(1, 2), g.integer(1, 2)]}
    if g.chance(0.5):
        settings["pads"] = [g.integer(0, 1) for _ in range(4)]
    g.node(glow.ConvTranspose2dOp, x, factors, *bias(g, outputs), **settings)


def volume(g: GraphMaker) -> None:
    """A convolution over a volume."""
    channels, outputs = g.one_of(CHANNELS[:10]), g.integer(1, 40)
    x = g.argument(g.array((1, channels, *(g.integer(3, 7) for _ in range(3)))))
    kernel = tuple(g.integer(1, 3) for _ in range(3))
    factors = weights(g, (outputs, channels, *kernel), channels * prod(kernel))
    pads = [g.integer(0, 1) for _ in range(6)]
    strides = [g.integer(1, 2) for _ in range(3)]
    operands = [x, factors, *bias(g, outputs)]
    g.node(glow.Conv3dOp, *operands, strides=strides, pads=pads)


def lstm(g: GraphMaker) -> None:
    """A recurrence with weights that are constant."""
    direction = g.one_of(("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    steps, batch, size = g.integer(1, 6), g.integer(1, 3), g.one_of(DEPTHS[:7])
    hidden = g.one_of((1, 5, 16, 24, 33))
    parameters = (
        weights(g, (count, 4 * hidden, size), size),
        weights(g, (count, 4 * hidden, hidden), hidden),
        weights(g, (count, 8 * hidden), 4),
        *(g.constant(np.zeros((count, batch, hidden), F32)) for _ in range(2)),
    )
    x = g.argument(g.array((steps, batch, size)))
    g.node(glow.LstmOp, x, *parameters, direction=direction)


POOLS = partial(pool, glow.MaxPool2dOp), partial(pool, glow.AvgPool2dOp)
SUMS = partial(together, glow.AddOp), partial(together, glow.MulOp)

QUANTIZED_STEPS: tuple[Step, ...] = (
    *(convolution,) * 5, *(linear,) * 3, flattened, joined, batch_norm, *POOLS,
    *SUMS, partial(together, glow.AddOp),
)  # fmt: skip
"""What becomes a network that computes on integers."""

PRODUCT_STEPS: tuple[Step, ...] = (
    *QUANTIZED_STEPS, product, product, layer_norm, transposed_convolution, volume, lstm,
)  # fmt: skip
"""What has kernels of its own."""


def product_network(seed: int) -> tuple[ModuleOp, list[Array]]:
    """The network of products of a seed, and its inputs."""
    return random_graph(seed, PRODUCT_STEPS, 1 + seed % 4)


def quantized_network(seed: int) -> tuple[ModuleOp, list[Array]]:
    """The network of a seed that is there to be quantized, and its inputs."""
    return random_graph(seed, QUANTIZED_STEPS, 2 + seed % 5)
