"""Gradients against central differences; `test/fuzz` does the same with many seeds."""

from __future__ import annotations

import pytest
from gradient_cases import CASES, check_case

SEEDS = 2


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_slopes(name):
    """Each rule gives the slope of the function, whatever shapes and attributes."""
    for seed in range(SEEDS):
        check_case(name, seed)
