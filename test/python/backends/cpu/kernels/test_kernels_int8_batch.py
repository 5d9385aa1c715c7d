"""Int8 matmuls with dynamic operands against NumPy, bit for bit, on every target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from support.kernels.kernel_testing import run_kernel
from test_kernels_int8 import TARGETS

from glow.backends.cpu.kernels.matmul.int8_batch_matmul import (
    Int8BatchMatmulSpec,
    build_int8_batch_matmul,
)
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class Case:
    """Batch, rows, columns, depth; the order in which axes lie in memory."""

    batch: tuple[int, ...]
    sizes: tuple[int, int, int]
    a_order: tuple[int, ...]
    b_order: tuple[int, ...]
    c_order: tuple[int, ...]
    points: tuple[int, int] = (131, 7)
    signed: bool = False


PLAIN = (0, 1)
SWAPPED = (1, 0)
HEADS = (0, 2, 1, 3)
"""Rows of all heads side by side."""
TURNED = (0, 3, 1, 2)
"""The same of a matrix whose columns lie together."""

CASES = {
    "one": Case((), (1, 1, 1), PLAIN, PLAIN, PLAIN),
    "rows of B": Case((), (9, 33, 20), PLAIN, PLAIN, PLAIN),
    "columns of B": Case((), (9, 33, 20), PLAIN, SWAPPED, PLAIN, signed=True),
    "columns of B, no words": Case((), (5, 18, 22), PLAIN, SWAPPED, PLAIN),
    "columns of A": Case((), (13, 17, 30), SWAPPED, PLAIN, PLAIN, signed=True),
    "odd depth": Case((2,), (7, 19, 67), (0, 1, 2), (0, 1, 2), (0, 1, 2), (255, 0)),
    "one row": Case((3,), (1, 40, 64), (0, 1, 2), (0, 2, 1), (0, 1, 2)),
    "one column": Case((3,), (21, 1, 3), (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 128)),
    "queries and keys": Case((2, 3), (25, 25, 32), HEADS, TURNED, (0, 1, 2, 3)),
    "attention and values": Case(
        (2, 3), (25, 32, 25), (0, 1, 2, 3), HEADS, HEADS, (0, 135)
    ),
    "plain": Case((2,), (16, 64, 64), (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 128)),
    "plain, signed": Case(
        (2,), (16, 64, 64), (0, 1, 2), (0, 2, 1), (0, 1, 2), (0, 0), signed=True
    ),
    "deep": Case((), (3, 70, 2050), PLAIN, PLAIN, PLAIN, (255, 0)),
}


def strides_of(shape: tuple[int, ...], order: tuple[int, ...]) -> Strides:
    """The strides of a tensor whose axes lie in memory in that order."""
    steps = types.row_major_strides(tuple(shape[axis] for axis in order))
    *batch, row, column = (steps[order.index(axis)] for axis in range(len(shape)))
    return Strides(tuple(batch), row, column)


def stored(x: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    return np.ascontiguousarray(np.transpose(x, order))


def check(case: Case, target: Target) -> None:
    rows, columns, depth = case.sizes
    random = np.random.default_rng(0)
    a_shape, b_shape = (*case.batch, rows, depth), (*case.batch, depth, columns)
    dtype = np.int8 if case.signed else np.uint8
    limits = np.iinfo(dtype)
    a = random.integers(0, 256, a_shape).astype(np.uint8)
    b = random.integers(limits.min, limits.max + 1, b_shape).astype(dtype)
    a[..., :2, :], b[..., :2] = 255, limits.min
    p, q = case.points
    expected = (a.astype(np.int64) - p) @ (b.astype(np.int64) - q)
    c_shape = expected.shape
    spec = Int8BatchMatmulSpec(
        case.batch,
        rows,
        columns,
        depth,
        strides_of(a_shape, case.a_order),
        strides_of(b_shape, case.b_order),
        strides_of(c_shape, case.c_order),
        case.signed,
        plain_a=p == 0,
        plain_b=q == (0 if case.signed else 128),
    )
    output = stored(np.zeros(c_shape, np.int32), case.c_order)
    points = np.array(case.points, np.int32)
    inputs = [stored(a, case.a_order), stored(b, case.b_order), points]
    kernel = build_int8_batch_matmul(spec, target)
    (found,) = run_kernel(kernel, [output], inputs, target)
    np.testing.assert_array_equal(found, stored(expected, case.c_order))


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_products_are_exact(name: str, case: str) -> None:
    check(CASES[case], TARGETS[name])
