"""Models of one random node: any element type, odd and empty shapes, odd attributes.

A seed names a model, so that a failure can be repeated: `random_example(17)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from support.nodes.differential import Array, Example, example, random_array
from support.nodes.elementwise_examples import BROADCASTS, DIVISIONS

from glow.dialects import glow

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = tuple(map(np.dtype, ("float16", BFLOAT16, "float32", "float64")))
INTEGERS = tuple(
    np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
)
DTYPES = (*FLOATS, *INTEGERS, np.dtype(np.bool_))


class Chooser:
    """Random choices of one example."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = np.random.default_rng(seed)

    def one_of(self, values: Any) -> Any:
        """One of some values."""
        return values[self.random.integers(len(values))]

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high + 1))

    def shape(self, rank: int) -> tuple[int, ...]:
        """A shape, now and then with an empty axis."""
        sizes = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 0)
        weights = np.array([3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 0.5])
        picked = self.random.choice(sizes, rank, p=weights / weights.sum())
        return tuple(map(int, picked))

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Random elements, large ones among integers too."""
        self.seed += 1
        array = random_array(shape, dtype, self.seed)
        if dtype.kind in "iu" and self.integer(0, 3) == 0:
            limits = np.iinfo(dtype)
            array = self.random.integers(limits.min, limits.max, shape, dtype, True)
        return np.asarray(array)

    def dtype(self) -> np.dtype[Any]:
        """An element type."""
        return self.one_of(DTYPES)


def _unary(c: Chooser) -> Example:
    node, dtype = c.one_of(glow.UNARY), c.dtype()
    return example(node, c.array(c.shape(c.integer(0, 3)), dtype))


def _binary(c: Chooser) -> Example:
    node, dtype = c.one_of(glow.BINARY), c.dtype()
    left, right = c.one_of(BROADCASTS)
    x, y = c.array(left, dtype), c.array(right, dtype)
    if node in DIVISIONS and dtype.kind in "iu":
        y = np.where(y == 0, 7, y).astype(dtype)
    if node is glow.PowOp:
        y = (np.abs(y) % 5).astype(dtype)
    return example(node, x, y)


def _select(c: Chooser) -> Example:
    shape, dtype = c.shape(2), c.dtype()
    condition = c.array(shape, np.dtype(np.bool_))
    return example(
        glow.SelectOp, condition, c.array(shape, dtype), c.array(shape, dtype)
    )


def _convert(c: Chooser) -> Example:
    shape, source, target = c.shape(2), c.dtype(), c.dtype()
    array = c.array(shape, source)
    if target.kind == "u" or target.itemsize < 4:
        array = (np.abs(random_array(shape, source, c.seed)) % 100).astype(source)
    return example(glow.ConvertOp, array, result=(shape, target))


def _window(c: Chooser) -> dict[str, Any]:
    return {
        "kernel": [c.integer(1, 3), c.integer(1, 3)],
        "strides": [c.integer(1, 3), c.integer(1, 2)],
        "dilations": [c.integer(1, 2), c.integer(1, 2)],
    }


def _conv2d(c: Chooser) -> Example:
    dtype, group = c.dtype(), c.one_of((1, 1, 1, 2, 3))
    inputs, outputs = group * c.integer(1, 6), group * c.integer(1, 9)
    settings = _window(c)
    kernel = settings.pop("kernel")
    image = (c.integer(0, 2), inputs, c.integer(6, 12), c.integer(6, 12))
    operands = [
        c.array(image, dtype),
        c.array((outputs, inputs // group, *kernel), dtype),
    ]
    if c.integer(0, 1):
        operands.append(c.array((outputs,), dtype))
    pads = [c.integer(0, 2) for _ in range(4)]
    return example(glow.Conv2dOp, *operands, pads=pads, group=group, **settings)


def _pool(c: Chooser) -> Example:
    node, settings = c.one_of((glow.MaxPool2dOp, glow.AvgPool2dOp)), _window(c)
    shape = (c.integer(0, 2), c.integer(1, 20), c.integer(5, 9), c.integer(5, 9))
    settings["pads"] = [c.integer(0, size - 1) for size in settings["kernel"] * 2]
    if node is glow.AvgPool2dOp:
        settings["count_include_pad"] = bool(c.integer(0, 1))
        # Sums of the largest 64-bit numbers wrap, and then have no mean.
        return example(node, random_array(shape, c.dtype(), c.seed), **settings)
    return example(node, c.array(shape, c.dtype()), **settings)


def _matmul(c: Chooser) -> Example:
    (m, k, n), dtype = c.shape(3), c.dtype()
    batch = c.one_of(((), (), (2,), (3, 2)))
    left, right = bool(c.integer(0, 1)), bool(c.integer(0, 1))
    x = c.array((*batch, k, m) if left else (*batch, m, k), dtype)
    y = c.array((n, k) if right else (k, n), dtype)
    settings = {"transpose_lhs": True} if left else {}
    settings |= {"transpose_rhs": True} if right else {}
    return example(glow.MatmulOp, x, y, **settings)


def _layer(c: Chooser) -> Example:
    (m, k, n), dtype = c.shape(3), c.dtype()
    node = c.one_of((glow.FullyConnectedOp, glow.GemmOp))
    operands = (c.array((m, k), dtype), c.array((k, n), dtype), c.array((n,), dtype))
    return example(node, *operands[: c.integer(2, 3)])


def _softmax(c: Chooser) -> Example:
    shape = c.shape(c.integer(1, 3))
    node = c.one_of((glow.SoftmaxOp, glow.LogSoftmaxOp))
    return example(
        node, c.array(shape, c.one_of(FLOATS)), axis=c.integer(0, len(shape) - 1)
    )


def _layer_norm(c: Chooser) -> Example:
    shape, dtype = c.shape(c.integer(1, 3)), c.one_of(FLOATS)
    axis = c.integer(0, len(shape) - 1)
    operands = [c.array(part, dtype) for part in (shape, shape[axis:], shape[axis:])]
    return example(
        glow.LayerNormOp, *operands[: c.integer(2, 3)], axis=axis, epsilon=0.01
    )


def _channel_norm(c: Chooser) -> Example:
    shape, dtype = c.shape(4), c.one_of(FLOATS)
    x = c.array(shape, dtype)
    if c.integer(0, 1):
        settings = {"size": c.integer(1, 5), "alpha": 0.5, "beta": 0.75, "offset": 2.0}
        return example(glow.LocalResponseNormOp, x, **settings)
    factors = [c.array(shape[1:2], dtype) for _ in range(4)]
    factors[3] = np.abs(factors[3])
    return example(glow.BatchNormOp, x, *factors, epsilon=0.01)


def _reduce(c: Chooser) -> Example:
    node = c.one_of(
        (
            glow.ReduceSumOp,
            glow.ReduceMeanOp,
            glow.ReduceMaxOp,
            glow.ReduceMinOp,
            glow.ReduceProdOp,
        )
    )
    shape = c.shape(c.integer(1, 3))
    axes = [axis for axis in range(len(shape)) if c.integer(0, 1)]
    return example(
        node, c.array(shape, c.dtype()), axes=axes, keepdims=bool(c.integer(0, 1))
    )


def _arg_reduce(c: Chooser) -> Example:
    shape = c.shape(c.integer(1, 3))
    return example(
        c.one_of((glow.ArgMaxOp, glow.ArgMinOp)),
        c.array(shape, c.dtype()),
        axis=c.integer(0, len(shape) - 1),
        select_last=bool(c.integer(0, 1)),
    )


def _transpose(c: Chooser) -> Example:
    shape = c.shape(c.integer(1, 4))
    permutation = [int(axis) for axis in c.random.permutation(len(shape))]
    return example(glow.TransposeOp, c.array(shape, c.dtype()), permutation=permutation)


def _slice(c: Chooser) -> Example:
    shape = c.shape(c.integer(1, 3))
    starts = [c.integer(0, max(size - 1, 0)) for size in shape]
    sizes = [
        c.integer(min(size, 1), size - start)
        for size, start in zip(shape, starts, strict=True)
    ]
    steps = [1] * len(shape)
    return example(
        glow.SliceOp, c.array(shape, c.dtype()), starts=starts, sizes=sizes, steps=steps
    )


def _concat(c: Chooser) -> Example:
    shape, dtype = list(c.shape(c.integer(1, 3))), c.dtype()
    axis, parts = c.integer(0, len(shape) - 1), []
    for _ in range(c.integer(1, 3)):
        shape[axis] = c.integer(0, 5)
        parts.append(c.array(tuple(shape), dtype))
    return example(glow.ConcatOp, *parts, axis=axis)


def _pad(c: Chooser) -> Example:
    shape = c.shape(c.integer(1, 3))
    pads = [c.integer(0, 3) for _ in range(2 * len(shape))]
    mode = c.one_of(("constant", "edge", "reflect", "wrap"))
    return example(glow.PadOp, c.array(shape, c.dtype()), pads=pads, mode=mode)


def _gather(c: Chooser) -> Example:
    shape = c.shape(c.integer(1, 3))
    axis = c.integer(0, len(shape) - 1)
    dtype = c.one_of((np.dtype("int32"), np.dtype("int64")))
    indices = random_array(c.shape(c.integer(0, 2)), dtype, c.seed)
    size = max(shape[axis], 1)
    indices = np.asarray(indices % (2 * size) - size, dtype)
    return example(glow.GatherOp, c.array(shape, c.dtype()), indices, axis=axis)


def _repeat(c: Chooser) -> Example:
    shape, dtype = c.shape(2), c.dtype()
    if c.integer(0, 1):
        repeats = [c.integer(0, 3), c.integer(1, 2)]
        return example(glow.TileOp, c.array(shape, dtype), repeats=repeats)
    source = c.one_of((shape, shape[1:], (1, shape[1]), ()))
    return example(glow.BroadcastOp, c.array(source, dtype), result=(shape, dtype))


def _scatter(c: Chooser) -> Example:
    shape, dtype = c.shape(c.integer(1, 3)), c.dtype()
    axis = c.integer(0, len(shape) - 1)
    sizes = [c.integer(0, size) for size in shape]
    sizes[axis] = c.integer(0, 40) if 0 not in shape else 0
    size = max(shape[axis], 1)
    indices = random_array((*sizes, 1), np.int64, c.seed) % (2 * size) - size
    reductions = ("none", "max") if dtype.kind == "f" else ("none", "add", "min")
    return example(
        glow.ScatterOp,
        c.array(shape, dtype),
        indices,
        c.array(tuple(sizes), dtype),
        coordinates=[-1 if a == axis else a for a in range(len(shape))],
        reduction="none" if dtype.kind == "b" else c.one_of(reductions),
    )


def _along_an_axis(c: Chooser) -> Example:
    shape, dtype = c.shape(c.integer(1, 3)), c.dtype()
    if c.integer(0, 1):
        k, smallest = c.integer(0, shape[-1]), bool(c.integer(0, 1))
        return example(glow.TopKOp, c.array(shape, dtype), k=k, smallest=smallest)
    return example(
        glow.CumulativeOp,
        c.array(shape, dtype),
        kind=c.one_of(("sum", "prod")) if dtype.kind in "iu" else "sum",
        axis=c.integer(0, len(shape) - 1),
        exclusive=bool(c.integer(0, 1)),
        reverse=bool(c.integer(0, 1)),
    )


MAKERS: tuple[Callable[[Chooser], Example], ...] = (
    _unary, _unary, _binary, _binary, _select, _convert, _convert, _conv2d, _pool, _pool,
    _matmul, _layer, _softmax, _layer_norm, _channel_norm, _reduce, _reduce,
    _arg_reduce, _transpose, _slice, _concat, _pad, _gather, _repeat,
    _scatter, _along_an_axis,
)  # fmt: skip


def random_example(seed: int) -> Example:
    """The example of a seed; neighbouring seeds make different kinds of nodes."""
    return MAKERS[seed % len(MAKERS)](Chooser(seed))


TOLERANCES = {2: 2e-2, 4: 1e-4, 8: 1e-12}


def tolerance(arrays: Sequence[Array]) -> float:
    """How far results may be off, by the narrowest float among the arrays."""
    widths = [array.dtype.itemsize for array in arrays if array.dtype.kind not in "biu"]
    return TOLERANCES[min(widths, default=4)]
