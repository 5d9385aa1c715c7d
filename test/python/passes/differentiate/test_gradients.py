"""Gradients against central differences; `test/fuzz` does the same with many seeds."""

from __future__ import annotations

import pytest
from gradient_checks import check_gradient_graph
from support.training.gradient_cases import CASES, check_case, gradient_example
from support.training.gradients import check_native

SEEDS = 2


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_slopes(name):
    """Each rule gives the slope of the function, whatever shapes and attributes."""
    for seed in range(SEEDS):
        check_case(name, seed)


NATIVE = {
    "conv2d": 1, "conv_transpose2d": 4276, "matmul": 1, "layer_norm": 1, "avg_pool2d": 1,
    "mish": 1, "reduce_max": 1, "gather": 1, "scatter_max": 1, "gru": 1,
}  # fmt: skip
"""What is compiled, and the seeds."""


@pytest.mark.parametrize("name", NATIVE)
def test_native_code_has_the_interpreters_gradients(name):
    """The backward graph compiles as any other."""
    check_native(gradient_example(name, NATIVE[name]))


def test_gradients_of_graphs_are_slopes():
    """Values that are read and broadcast several times get the sum of all."""
    assert sum(check_gradient_graph(seed) for seed in range(8)) > 6
