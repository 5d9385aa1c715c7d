"""Products of rows with one of several matrices each, which indices name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glow.backends.cpu.reference.block_quantized import BlockUnpacking, unpacked
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact
from glow.interpreter.shape import check_indices


def run_indexed_matmul(
    op: GlowOp, rows: Array, weights: Array, indices: Array
) -> Array:
    """`cpu.indexed_matmul`."""
    depth = weights.shape[2]

    def matrix(number: int) -> Array:
        return weights[number].transpose(1, 0, 2).reshape(depth, -1)

    return _named_products(op, (rows, indices), len(weights), matrix)


def run_indexed_block_matmul(
    op: GlowOp,
    rows: Array,
    weights: Array,
    indices: Array,
    unpacking: BlockUnpacking | None = None,
) -> Array:
    """`cpu.indexed_block_matmul`, as the products with floats that it stands for."""

    def matrix(number: int) -> Array:
        return unpacked(op, rows, weights[number], unpacking)[0]

    return _named_products(op, (rows, indices), len(weights), matrix)


def _named_products(
    op: GlowOp,
    named_rows: tuple[Array, Array],
    count: int,
    matrix: Callable[[int], Array],
) -> Array:
    """Each row times the matrix that its index names."""
    columns, (rows, indices) = op.attributes_view().int("columns"), named_rows
    check_indices(indices, 0, count)
    places = np.mod(indices.astype(np.int64), count)
    result = np.zeros((len(rows), columns), np.float64)
    for number in np.unique(places):
        named = places == number
        result[named] = exact(rows[named]) @ exact(matrix(number))[:, :columns]
    return result
