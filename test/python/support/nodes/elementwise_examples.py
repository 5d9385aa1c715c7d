"""Examples of element-wise nodes: all functions, broadcasts, edges of floats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from support.nodes.differential import EDGES, Array, Example, example, random_array

from glow.dialects import glow
from glow.dialects.node import NodeOp

SHAPES = ((1,), (3, 5), (2, 17, 3), (0, 4), ())
FLOATS = ("float16", "bfloat16", "float64")


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


POSITIVE = {glow.SqrtOp, glow.RsqrtOp, glow.LogOp}
UNIT_RANGE = {glow.AsinOp, glow.AcosOp}
WITH_INTEGERS = {glow.NegOp, glow.AbsOp, glow.SignOp, glow.ReluOp}

PARAMETERS: dict[type[NodeOp], list[dict[str, Any]]] = {
    glow.ClipOp: [
        {"low": 0.0, "high": 6.0}, {"low": -0.5}, {"high": 0.25}, {},
        {"low": 1.0, "high": -1.0},
    ],
    glow.LeakyReluOp: [{}, {"alpha": 0.25}, {"alpha": -1.0}],
    glow.EluOp: [{}, {"alpha": 1.6732632, "gamma": 1.050701}],
    glow.HardSigmoidOp: [{}, {"alpha": 0.5, "beta": 0.25}],
}  # fmt: skip


def _domain(node: type[NodeOp], x: Array) -> Array:
    if node in POSITIVE:
        return (np.abs(x) + np.asarray(0.01, x.dtype)).astype(x.dtype)
    return np.tanh(x).astype(x.dtype) if node in UNIT_RANGE else x


def _unary_examples() -> Iterator[Example]:
    for node in glow.UNARY:
        if node is glow.NotOp:
            yield example(node, random_array((3, 5), np.bool_))
            continue
        if issubclass(node, glow.BitwiseUnaryOp):
            for dtype in (np.int8, np.uint64):
                yield example(node, random_array((3, 17), dtype))
            continue
        for parameters in PARAMETERS.get(node, [{}]):
            for shape in SHAPES:
                yield example(node, _domain(node, random_array(shape)), **parameters)
            yield example(node, EDGES, **parameters)
        for dtype in FLOATS:
            yield example(node, _domain(node, random_array((3, 5), _dtype(dtype))))
        if node in WITH_INTEGERS:
            yield example(node, random_array((17,), np.int32))
            yield example(node, random_array((17,), np.int64))
    yield example(glow.ClipOp, random_array((17,), np.int32), low=-3.0, high=5.0)


BROADCASTS = (
    ((4,), (4,)),
    ((1,), (1,)),
    ((3, 5), (5,)),
    ((2, 3, 1), (3, 7)),
    ((1, 8, 1, 1), (2, 8, 5, 3)),
    ((), (3, 5)),
    ((0, 3), (1, 3)),
    ((2, 33), (2, 33)),
)
DIVISIONS = {glow.DivOp, glow.ModOp, glow.FmodOp}


def _second(node: type[NodeOp], y: Array) -> Array:
    """Divisors that are not zero, exponents that are small."""
    if node in DIVISIONS and y.dtype.kind in "iu":
        return np.where(y == 0, 7, y).astype(y.dtype)
    if node is glow.PowOp:
        return (np.abs(y) % 4).astype(y.dtype)
    return y


def _first(node: type[NodeOp], x: Array) -> Array:
    return np.abs(x) if node is glow.PowOp and x.dtype.kind not in "iu" else x


def _binary_examples() -> Iterator[Example]:
    for node in glow.BINARY:
        if issubclass(node, glow.BitwiseOp):
            yield from _bitwise_examples(node)
            continue
        is_logical = issubclass(node, glow.LogicalOp)
        dtype = np.bool_ if is_logical else np.float32
        for left, right in BROADCASTS:
            x, y = random_array(left, dtype), random_array(right, dtype, 1)
            yield example(node, _first(node, x), _second(node, y))
        if is_logical:
            continue
        yield example(node, np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES)))
        for other in ("int32", "int64", *FLOATS):
            x = _first(node, random_array((2, 50), _dtype(other)))
            yield example(node, x, _second(node, random_array((50,), _dtype(other), 1)))


def _bitwise_examples(node: type[NodeOp]) -> Iterator[Example]:
    """Numbers of all sizes with shifts by more than their width."""
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        limits, generator = np.iinfo(dtype), np.random.default_rng(0)
        x = generator.integers(limits.min, limits.max, (3, 70), dtype, endpoint=True)
        y = random_array((70,), np.int64, 1) * 5 % 80
        y = y if limits.min == 0 else y - 10
        yield example(node, x, y.astype(dtype))


def _other_elementwise_examples() -> Iterator[Example]:
    for shapes in (((4,), (4,), (4,)), ((3, 1), (5,), (3, 5)), ((), (2, 3), ())):
        condition = random_array(shapes[0], np.bool_)
        values = [random_array(shape, seed=1) for shape in shapes[1:]]
        yield example(glow.SelectOp, condition, *values)
    x, integers = random_array((3, 7)) * np.float32(50), random_array((3, 7), np.int32)
    for dtype in ("float16", "bfloat16", "float64", "int8", "int32", "int64", "bool"):
        result = ((3, 7), _dtype(dtype))
        yield example(glow.ConvertOp, x, result=result)
        yield example(glow.ConvertOp, integers, result=result)
    for bits, dtype in ((x, "int32"), (integers, "float32"), (x, "uint32")):
        yield example(glow.BitcastOp, bits, result=((3, 7), dtype))
    for dtype in ("float32", "int32"):
        source = random_array((3, 7), np.bool_)
        yield example(glow.ConvertOp, source, result=((3, 7), dtype))


def elementwise_examples() -> Iterator[Example]:
    """All of them."""
    yield from _unary_examples()
    yield from _binary_examples()
    yield from _other_elementwise_examples()
