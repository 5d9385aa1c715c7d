"""Random examples of nodes for gradient checks: odd shapes and attributes, away from kinks.

`gradient_example(name, seed)` repeats one. Operands are f64; those of functions with a bounded
domain stay inside of it, and divisors away from zero.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from support.nodes.differential import Array, Example, example
from support.training.gradient_indexing_cases import INDEXING_CASES
from support.training.gradient_movement_cases import MOVEMENT_CASES
from support.training.gradients import Case, Kink, check_example

from glow.dialects import glow
from glow.dialects.glow.elementwise import no_slope
from glow.dialects.node import NodeOp

MAX_WINDOW = 3
ATTEMPTS, FAR = 4, 1_000_003


def _away_from_zero(array: Array) -> Array:
    return array + np.where(array < 0, -0.3, 0.3)


def _inside_one(array: Array) -> Array:
    return array / (np.abs(array) + 0.5)


DOMAINS: dict[type[NodeOp], Callable[[Array], Array]] = {
    glow.LogOp: lambda x: np.abs(x) + 0.1,
    glow.SqrtOp: lambda x: np.abs(x) + 0.1,
    glow.RsqrtOp: lambda x: np.abs(x) + 0.1,
    glow.ReciprocalOp: _away_from_zero,
    glow.TanOp: _inside_one,
    glow.AsinOp: _inside_one,
    glow.AcosOp: _inside_one,
}
"""What keeps random numbers where a function is smooth."""

SETTINGS: dict[type[NodeOp], Callable[[Case], dict[str, Any]]] = {
    glow.ClipOp: lambda c: {
        "low": c.one_of((-0.5, -np.inf)),
        "high": c.one_of((0.7, np.inf)),
    },
    glow.LeakyReluOp: lambda c: {"alpha": c.one_of((0.1, 0.0, 2.0))},
    glow.EluOp: lambda c: {"alpha": 0.5, "gamma": c.one_of((1.0, 2.0))},
    glow.HardSigmoidOp: lambda c: {"alpha": c.one_of((0.2, 1 / 6)), "beta": 0.4},
}


def unary(node: type[NodeOp], c: Case) -> Example:
    """A function of one number."""
    x = c.numbers(*c.shape(c.integer(0, 3))) * c.one_of((1, 3))
    settings = SETTINGS.get(node, lambda _: {})(c)
    return example(node, DOMAINS.get(node, np.asarray)(x), **settings)


def binary(node: type[NodeOp], c: Case) -> Example:
    """A function of two operands that broadcast."""
    shape = c.shape(c.integer(0, 3))
    shapes = [
        tuple(1 if c.integer(0, 3) == 0 else size for size in shape)[c.integer(0, 1) :]
        for _ in range(2)
    ]
    x, y = (c.numbers(*each) for each in shapes)
    if node is glow.PowOp:
        x = np.abs(x) + 0.1
    elif node in (glow.DivOp, glow.ModOp, glow.FmodOp):
        y = _away_from_zero(y)
    return example(node, x, y)


def select(c: Case) -> Example:
    """A choice of operands that broadcast."""
    shape = c.shape(2)
    condition = np.asarray(c.numbers(*shape) < 0)
    return example(
        glow.SelectOp, condition, c.numbers(*c.one_of((shape, ()))), c.numbers(*shape)
    )


def matmul(c: Case) -> Example:
    """A product of matrices of repeated batches."""
    m, k, n = c.shape(3)
    batch = c.shape(c.integer(0, 2))
    other = tuple(c.one_of((1, size)) for size in batch)[c.integer(0, len(batch)) :]
    if c.flag():
        batch, other = other, batch
    left, right = c.flag(), c.flag()
    return example(
        glow.MatmulOp,
        c.numbers(*batch, *((k, m) if left else (m, k))),
        c.numbers(*other, *((n, k) if right else (k, n))),
        transpose_lhs=left,
        transpose_rhs=right,
    )


ACTIVATIONS = {
    None: (),
    "relu": (),
    "sigmoid": (),
    "clip": (-0.5, 0.5),
    "leaky_relu": (0.25,),
    "hard_swish": (),
}


def _activation(c: Case) -> dict[str, Any]:
    name = c.one_of(tuple(ACTIVATIONS))
    if name is None:
        return {}
    arguments = ACTIVATIONS[name]
    more = {"activation_args": list(arguments)} if arguments else {}
    return {"activation": name, **more}


def fully_connected(c: Case) -> Example:
    """A layer with and without bias and activation."""
    m, k, n = c.shape(3)
    operands = (c.numbers(m, k), c.numbers(k, n), c.numbers(n))
    count = c.integer(2, 3)
    return example(glow.FullyConnectedOp, *operands[:count], **_activation(c))


def gemm(c: Case) -> Example:
    """ONNX's product."""
    m, k, n = c.shape(3)
    left, right = c.flag(), c.flag()
    operands = (
        c.numbers(*((k, m) if left else (m, k))),
        c.numbers(*((n, k) if right else (k, n))),
        c.numbers(*c.one_of(((), (n,), (m, 1), (m, n)))),
    )
    return example(
        glow.GemmOp,
        *operands[: c.integer(2, 3)],
        alpha=c.one_of((1.0, 0.5)),
        beta=c.one_of((1.0, 3.0)),
        transpose_lhs=left,
        transpose_rhs=right,
    )


def _window(c: Case, axes: int) -> dict[str, list[int]]:
    return {
        "strides": [c.integer(1, MAX_WINDOW) for _ in range(axes)],
        "dilations": [c.integer(1, 2) for _ in range(axes)],
        "pads": [c.integer(0, 2) for _ in range(2 * axes)],
    }


def convolution(node: type[NodeOp], axes: int, c: Case) -> Example:
    """A convolution of any window and number of groups."""
    group, inputs, outputs = c.one_of((1, 1, 2, 3)), c.integer(1, 2), c.integer(1, 3)
    kernel = [c.integer(1, 3) for _ in range(axes)]
    extents = [c.integer(5, 7) for _ in range(axes)]
    operands = (
        c.numbers(c.integer(1, 2), group * inputs, *extents),
        c.numbers(group * outputs, inputs, *kernel),
        c.numbers(group * outputs),
    )
    settings = {**_window(c, axes), "group": group}
    if node is glow.Conv2dOp:
        settings |= _activation(c)
    return example(node, *operands[: c.integer(2, 3)], **settings)


def transposed(node: type[NodeOp], axes: int, c: Case) -> Example:
    """A transposed convolution, with output padding where there is room for it."""
    group, inputs, outputs = c.one_of((1, 1, 2)), c.integer(1, 2), c.integer(1, 2)
    kernel = [c.integer(2, 3) for _ in range(axes)]
    window = _window(c, axes)
    window["pads"] = [c.integer(0, 1) for _ in range(2 * axes)]
    limits = zip(window["strides"], window["dilations"], strict=True)
    operands = (
        c.numbers(c.integer(1, 2), group * inputs, *[c.integer(2, 4)] * axes),
        c.numbers(group * inputs, outputs, *kernel),
        c.numbers(group * outputs),
    )
    return example(
        node,
        *operands[: c.integer(2, 3)],
        **window,
        group=group,
        output_padding=[c.integer(0, max(pair) - 1) for pair in limits],
    )


def avg_pool(c: Case) -> Example:
    """An average pool: any window, blocks, or all of the plane."""
    shape = (*c.shape(2), c.integer(5, 7), c.integer(5, 7))
    kernel = [c.integer(1, 3), c.integer(1, 3)]
    settings: dict[str, Any] = _window(c, 2)
    kind = c.integer(0, 3)
    if kind == 0:
        settings = {}
        kernel = list(shape[2:])
    elif kind == 1:
        settings |= {"strides": kernel, "dilations": [1, 1]}
    if "pads" in settings:
        settings["pads"] = [c.integer(0, size - 1) for size in kernel * 2]
    return example(
        glow.AvgPool2dOp,
        c.numbers(*shape),
        kernel=kernel,
        ceil_mode=c.flag(),
        count_include_pad=c.flag(),
        **settings,
    )


def along_axis(node: type[NodeOp], c: Case) -> Example:
    """A softmax."""
    shape = c.shape(c.integer(1, 3))
    return example(node, c.numbers(*shape), axis=c.integer(0, len(shape) - 1))


def layer_norm(c: Case) -> Example:
    """A layer normalization of at least two elements."""
    shape = (*c.shape(c.integer(1, 2)), c.integer(2, 4))
    axis = c.integer(0, len(shape) - 1)
    operands = (c.numbers(*part) for part in (shape, shape[axis:], shape[axis:]))
    return example(
        glow.LayerNormOp, *[*operands][: c.integer(2, 3)], axis=axis, epsilon=0.01
    )


def batch_norm(c: Case) -> Example:
    """A batch normalization with its statistics as operands."""
    shape = c.shape(c.integer(2, 4))
    channels = shape[1]
    parameters = (c.numbers(channels) for _ in range(3))
    variance = c.positive(channels)
    return example(
        glow.BatchNormOp, c.numbers(*shape), *parameters, variance, epsilon=0.01
    )


def local_response_norm(c: Case) -> Example:
    """A normalization over neighbouring channels."""
    shape = (c.integer(1, 2), c.integer(1, 5), *c.shape(c.integer(0, 2)))
    settings = {"alpha": 0.5, "beta": 0.75, "offset": 2.0}
    return example(
        glow.LocalResponseNormOp, c.numbers(*shape), size=c.integer(1, 5), **settings
    )


def reduce(node: type[NodeOp], c: Case) -> Example:
    """A reduction over some axes; a product of numbers of which one may be 0."""
    x = c.numbers(*c.shape(c.integer(1, 3)))
    if node is glow.ReduceProdOp and c.flag():
        x.flat[c.integer(0, x.size - 1)] = 0
    axes = [axis for axis in range(x.ndim) if c.flag()]
    return example(node, x, axes=axes, keepdims=c.flag())


def cumulative(c: Case) -> Example:
    """Sums or products along an axis."""
    x = c.numbers(*c.shape(c.integer(1, 3)))
    if c.flag():
        x.flat[c.integer(0, x.size - 1)] = 0
    return example(
        glow.CumulativeOp,
        x,
        kind=c.one_of(("sum", "prod")),
        axis=c.integer(0, x.ndim - 1),
        exclusive=c.flag(),
        reverse=c.flag(),
    )


REDUCTIONS = (
    glow.ReduceSumOp, glow.ReduceMeanOp, glow.ReduceMaxOp, glow.ReduceMinOp,
    glow.ReduceProdOp,
)  # fmt: skip


def _elementwise() -> dict[str, Callable[[Case], Example]]:
    cases: dict[str, Callable[[Case], Example]] = {}
    for node, facts in glow.FACTS.items():
        if facts.derivative in (None, no_slope) or node is glow.SelectOp:
            continue
        build = unary if node in glow.UNARY else binary
        cases[node.name.removeprefix("glow.")] = partial(build, node)
    return cases


CASES: dict[str, Callable[[Case], Example]] = {
    **_elementwise(),
    "select": select,
    "matmul": matmul,
    "fully_connected": fully_connected,
    "gemm": gemm,
    "conv2d": partial(convolution, glow.Conv2dOp, 2),
    "conv3d": partial(convolution, glow.Conv3dOp, 3),
    "conv_transpose2d": partial(transposed, glow.ConvTranspose2dOp, 2),
    "conv_transpose3d": partial(transposed, glow.ConvTranspose3dOp, 3),
    "avg_pool2d": avg_pool,
    "softmax": partial(along_axis, glow.SoftmaxOp),
    "log_softmax": partial(along_axis, glow.LogSoftmaxOp),
    "layer_norm": layer_norm,
    "batch_norm": batch_norm,
    "local_response_norm": local_response_norm,
    **{node.name.removeprefix("glow."): partial(reduce, node) for node in REDUCTIONS},
    "cumulative": cumulative,
    **MOVEMENT_CASES,
    **INDEXING_CASES,
}
"""What is checked: name of a node to what makes a random example of it."""


def gradient_example(name: str, seed: int) -> Example:
    """A random example of a case."""
    return CASES[name](Case(seed))


def check_case(name: str, seed: int) -> None:
    """Compare a random example's gradients with differences, elsewhere if a kink is near."""
    for attempt in range(ATTEMPTS):
        try:
            check_example(gradient_example(name, seed + attempt * FAR))
        except Kink:
            continue
        return
    raise AssertionError(f"{name}: {ATTEMPTS} examples have kinks near their inputs")
