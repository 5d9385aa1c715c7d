"""Gradients against central differences, a table of cases for each theme."""

from __future__ import annotations

import pytest
from gradients import check_example, node_example

from glow.dialects import glow

CASES = {
    "add": (glow.AddOp, [(3, 4), (4,)], {}),
    "mul": (glow.MulOp, [(3, 1), (2, 1, 4)], {}),
    "relu": (glow.ReluOp, [(3, 4)], {}),
    "matmul": (glow.MatmulOp, [(2, 3, 4), (4, 5)], {}),
    "matmul_transposed": (
        glow.MatmulOp,
        [(4, 3), (2, 5, 4)],
        {"transpose_lhs": True, "transpose_rhs": True},
    ),
    "reduce_sum": (glow.ReduceSumOp, [(2, 3, 4)], {"axes": [0, 2]}),
    "reduce_mean": (glow.ReduceMeanOp, [(2, 3, 4)], {"axes": [1], "keepdims": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_slope(name):
    """Each rule gives the slope of the function."""
    node, shapes, attributes = CASES[name]
    check_example(node_example(node, *shapes, **attributes))
