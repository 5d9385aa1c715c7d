"""Examples of convolutions, pools, matrix products and attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from support.nodes.differential import Example, example, random_array

from glow.dialects import glow


def _conv2d(
    image: Sequence[int],
    outputs: int,
    kernel: Sequence[int],
    bias: bool = True,
    **attributes: Any,
) -> Example:
    group = attributes.get("group", 1)
    weights = random_array((outputs, image[1] // group, *kernel), seed=1)
    operands = [random_array(image), weights]
    if bias:
        operands.append(random_array((outputs,), seed=2))
    return example(glow.Conv2dOp, *operands, **attributes)


def _convolution_examples() -> Iterator[Example]:
    yield _conv2d((1, 1, 1, 1), 1, (1, 1))
    yield _conv2d((1, 3, 9, 9), 16, (3, 3), pads=[1, 1, 1, 1])
    yield _conv2d((2, 16, 7, 5), 32, (1, 1))
    yield _conv2d((1, 32, 8, 8), 16, (1, 1), strides=[2, 2], bias=False)
    yield _conv2d((1, 3, 23, 17), 16, (7, 7), strides=[2, 2], pads=[3, 3, 3, 3])
    yield _conv2d((1, 5, 6, 7), 7, (2, 3), pads=[1, 0, 0, 2])
    yield _conv2d((2, 6, 7, 7), 9, (3, 3), group=3, pads=[1, 1, 1, 1], bias=False)
    yield _conv2d((1, 16, 9, 9), 16, (3, 3), group=16, pads=[1, 1, 1, 1])
    yield _conv2d((1, 20, 6, 6), 40, (3, 3), group=20, strides=[2, 1])
    yield _conv2d((1, 4, 11, 11), 8, (3, 3), dilations=[2, 3], pads=[2, 3, 2, 3])
    yield _conv2d((1, 32, 14, 14), 64, (3, 3), pads=[1, 1, 1, 1])
    yield _conv2d((0, 3, 5, 5), 4, (3, 3))
    yield from _spatial_convolution_examples()
    fused = (("relu", []), ("clip", [0.0, 6.0]), ("sigmoid", []), ("tanh", []),
             ("leaky_relu", [0.1]), ("hard_swish", []))  # fmt: skip
    for activation, arguments in fused:
        extra = {"activation_args": arguments} if arguments else {}
        yield _conv2d((1, 16, 5, 5), 16, (3, 3), activation=activation, **extra)
        matrices = random_array((3, 8)), random_array((8, 5), seed=1)
        yield example(glow.FullyConnectedOp, *matrices, activation=activation, **extra)


def _spatial_convolution_examples() -> Iterator[Example]:
    volumes: list[tuple[Sequence[int], Sequence[int], dict[str, Any]]] = [
        ((1, 1, 1, 1, 1), (1, 1, 1, 1, 1), {}),
        ((2, 3, 5, 6, 7), (4, 3, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
        ((1, 16, 4, 5, 5), (32, 16, 2, 1, 3), {"strides": [2, 1, 2]}),
        ((1, 6, 7, 7, 7), (9, 2, 3, 2, 3), {"group": 3, "pads": [1, 0, 2, 0, 1, 1]}),
        ((1, 2, 9, 8, 7), (3, 2, 3, 2, 2), {"dilations": [3, 2, 1]}),
    ]
    for image, kernel, attributes in volumes:
        operands = [random_array(image), random_array(kernel, seed=1)]
        yield example(glow.Conv3dOp, *operands, **attributes)
    bias = random_array((4,), seed=2)
    yield example(
        glow.Conv3dOp,
        random_array((1, 2, 3, 4, 5)),
        random_array((4, 2, 2, 2, 2)),
        bias,
    )
    planes: list[tuple[Sequence[int], Sequence[int], dict[str, Any]]] = [
        ((1, 1, 1, 1), (1, 1, 1, 1), {}),
        ((1, 3, 5, 7), (3, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((2, 16, 6, 5), (16, 8, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 4, 5, 5), (4, 6, 3, 3), {"strides": [2, 2], "output_padding": [1, 1],
                                      "pads": [1, 1, 1, 1]}),
        ((1, 3, 4, 5), (3, 2, 3, 2), {"strides": [3, 2]}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"dilations": [2, 3], "strides": [2, 1]}),
        ((1, 2, 5, 5), (2, 3, 2, 2), {"strides": [3, 3], "pads": [2, 4, 1, 0]}),
        ((1, 3, 4, 4), (3, 2, 5, 5), {"strides": [2, 2], "pads": [4, 3, 4, 3]}),
    ]  # fmt: skip
    volumes = [
        ((1, 1, 1, 1, 1), (1, 1, 1, 1, 1), {}),
        ((2, 3, 3, 2, 4), (3, 4, 3, 1, 2), {"pads": [1, 0, 0, 0, 0, 1]}),
        ((1, 4, 2, 3, 3), (4, 3, 3, 2, 3), {"strides": [2, 3, 1],
                                            "output_padding": [1, 2, 0]}),
        ((1, 2, 3, 2, 3), (2, 3, 2, 3, 2), {"dilations": [1, 2, 3], "strides": [2, 2, 2],
                                            "pads": [1, 2, 0, 2, 1, 1]}),
    ]  # fmt: skip
    layers = [(glow.ConvTranspose2dOp, *plane) for plane in planes]
    for layer, image, kernel, attributes in (
        *layers, *((glow.ConvTranspose3dOp, *volume) for volume in volumes)
    ):  # fmt: skip
        operands = [random_array(image), random_array(kernel, seed=1)]
        yield example(layer, *operands, **attributes)
        outputs = kernel[1] * attributes.get("group", 1)
        operands.append(random_array((outputs,), seed=2))
        yield example(layer, *operands, **attributes)


def _pool_examples() -> Iterator[Example]:
    settings: list[tuple[Sequence[int], dict[str, Any]]] = [
        ((1, 1, 1, 1), {"kernel": [1, 1]}),
        ((1, 16, 8, 8), {"kernel": [2, 2], "strides": [2, 2]}),
        ((2, 5, 7, 9), {"kernel": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 16, 7, 7), {"kernel": [7, 7]}),
        ((1, 3, 6, 8), {"kernel": [3, 2], "strides": [2, 3], "pads": [0, 1, 1, 0]}),
        ((1, 3, 6, 6), {"kernel": [3, 3], "strides": [2, 2], "ceil_mode": True}),
        ((1, 4, 7, 8), {"kernel": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1],
                        "ceil_mode": True}),
        ((1, 2, 9, 9), {"kernel": [2, 3], "dilations": [2, 2]}),
    ]  # fmt: skip
    for shape, attributes in settings:
        yield example(glow.MaxPool2dOp, random_array(shape), **attributes)
        yield example(glow.AvgPool2dOp, random_array(shape), **attributes)
        few = random_array(shape, np.int8) % 3  # the first of several counts
        for elements in (np.float32, np.int8, np.float64):
            yield example(glow.ArgMaxPool2dOp, few.astype(elements), **attributes)
        attributes = {**attributes, "count_include_pad": True}
        yield example(glow.AvgPool2dOp, random_array(shape), **attributes)
    with_nan = random_array((1, 2, 4, 4))
    with_nan[0, 1, 2, 2] = np.nan
    yield example(glow.MaxPool2dOp, with_nan, kernel=[2, 2])
    yield example(glow.ArgMaxPool2dOp, with_nan, kernel=[2, 2])
    yield example(glow.ArgMaxPool2dOp, -np.inf * np.ones_like(with_nan), kernel=[3, 3])
    yield example(glow.MaxPool2dOp, random_array((1, 2, 4, 4), np.int8), kernel=[2, 2])


def _matrix_examples() -> Iterator[Example]:
    shapes = (
        ((1, 1), (1, 1)), ((7, 5), (5, 3)), ((1, 64), (64, 33)), ((33, 17), (17, 65)),
        ((2, 3, 4, 5), (2, 3, 5, 6)), ((2, 1, 4, 5), (3, 5, 6)), ((3, 0), (0, 2)),
    )  # fmt: skip
    for left, right in shapes:
        x, y = random_array(left), random_array(right, seed=1)
        yield example(glow.MatmulOp, x, y)
        yield example(
            glow.MatmulOp, x, np.swapaxes(y, -1, -2).copy(), transpose_rhs=True
        )
        yield example(
            glow.MatmulOp, np.swapaxes(x, -1, -2).copy(), y, transpose_lhs=True
        )
    for m, k, n in ((2, 1, 3), (1, 16, 10), (5, 33, 17)):
        x, y = random_array((m, k)), random_array((k, n), seed=1)
        yield example(glow.FullyConnectedOp, x, y)
        yield example(glow.FullyConnectedOp, x, y, random_array((n,), seed=2))
        yield example(glow.GemmOp, x, y, alpha=0.5)
        for addend in sorted({(n,), (m, 1), (m, n), ()}):
            bias = random_array(addend, seed=2)
            yield example(glow.GemmOp, x, y, bias, alpha=2.0, beta=0.25)
        transposed = x.T.copy(), y.T.copy()
        yield example(glow.GemmOp, *transposed, transpose_lhs=True, transpose_rhs=True)


def _attention_examples() -> Iterator[Example]:
    cases: tuple[
        tuple[Sequence[int], Sequence[int], int, Sequence[int] | None], ...
    ] = (
        ((1, 1, 1, 1), (1, 1, 1, 1), 1, None),
        ((2, 3, 7, 8), (2, 3, 5, 8), 4, (5,)),
        ((1, 4, 17, 32), (1, 4, 17, 32), 32, (17, 17)),
        ((2, 2, 6, 16), (2, 2, 9, 16), 5, (2, 1, 1, 9)),
    )
    for queries, keys, width, mask in cases:
        operands = [
            random_array(queries),
            random_array(keys, seed=1),
            random_array((*keys[:-1], width), seed=2),
        ]
        yield example(glow.AttentionOp, *operands)
        if mask is not None:
            operands.append(random_array(mask, seed=3))
            yield example(glow.AttentionOp, *operands, scale=0.25)


def _factor_examples() -> Iterator[Example]:
    for shape in ((1, 1), (3, 3), (2, 2, 5, 5), (37, 37), (0, 4, 4)):
        yield example(glow.LuOp, random_array(shape))
    singular = np.array([[0, 2, 1], [0, 4, 3], [0, 6, 9]], np.float64)
    yield example(glow.LuOp, np.stack([singular, singular.T, np.zeros((3, 3))]))


def product_examples() -> Iterator[Example]:
    """All of them."""
    yield from _convolution_examples()
    yield from _pool_examples()
    yield from _matrix_examples()
    yield from _attention_examples()
    yield from _factor_examples()
