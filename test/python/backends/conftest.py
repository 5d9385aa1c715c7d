"""Draws the same numbers in each test of a backend, whichever tests ran before it."""

import numpy as np
import pytest
from support.kernels import kernel_testing


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    start = np.random.default_rng(0).bit_generator.state
    kernel_testing.RANDOM.bit_generator.state = start
