"""Whether results are kept as far as a pass says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from support.nodes.differential import Array, assert_close
from support.nodes.random_nodes import tolerance
from xdsl.ir import Operation

from glow.dialects.glow import BlockDequantizeOp
from glow.passes.rewriting.contract import BITS

ROUNDED, ROUNDED_ROWS = "values, up to rounded rows", 0.02
"""What a pass preserves that rounds the rows of products to 8 bits, and how far results are off."""


def rounds_rows(op: Operation) -> bool:
    """Whether it allows products to round the rows that they multiply."""
    return isinstance(op, BlockDequantizeOp) and op.row_bits.value.data > 0


def check_results(
    actual: Sequence[Array],
    expected: Sequence[Array],
    preserves: str,
    inputs: Sequence[Array] = (),
) -> None:
    """Fail where results are not kept as far as a pass says."""
    assert len(actual) == len(expected), "another number of results"
    for after, before in zip(actual, expected, strict=True):
        assert after.shape == before.shape, f"{after.shape} != {before.shape}"
        assert after.dtype == before.dtype, f"{after.dtype} != {before.dtype}"
        if preserves == BITS:
            np.testing.assert_array_equal(after, before)
        elif preserves == ROUNDED:
            assert_close(after, before, ROUNDED_ROWS)
        else:
            assert_close(after, before, tolerance([*inputs, *expected]))
