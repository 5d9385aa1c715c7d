"""Scatters whose indices are one line that is repeated take whole slices."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block

from glow.dialects.errors import GlowError
from glow.dialects.glow import ScatterOp
from glow.dialects.node import tensor_type
from glow.dialects.weight_table import element_type_of
from glow.interpreter import evaluate_node

RANDOM = np.random.default_rng(0)


def scattered(data, indices, updates, axis):
    arrays = [data, indices, updates]
    types = [tensor_type(x.shape, element_type_of(x.dtype)) for x in arrays]
    coordinates = [-1 if n == axis else n for n in range(data.ndim)]
    op = ScatterOp.build_node(
        Block(arg_types=types).args, coordinates=coordinates, reduction="none"
    )
    return evaluate_node(op, arrays)[0]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_repeated_indices_are_slices(axis):
    shape = (5, 3, 4)
    data, sizes = RANDOM.random(shape), [4, 2, 3]
    sizes[axis] = 7
    line = RANDOM.integers(-shape[axis], shape[axis], 7)
    line = line.reshape([-1 if n == axis else 1 for n in range(3)])
    indices, updates = np.broadcast_to(line, sizes)[..., None], RANDOM.random(sizes)
    found = scattered(data, indices, updates, axis)
    np.testing.assert_array_equal(found, scattered(data, indices.copy(), updates, axis))
    outside = np.broadcast_to(np.array(9), sizes)[..., None]
    with pytest.raises(GlowError, match="index 9 is outside of axis"):
        scattered(data, outside, updates, axis)


def test_one_update():
    data, place = np.arange(4.0), np.array([[2]])
    found = scattered(data, place, np.array([9.0]), 0)
    np.testing.assert_array_equal(found, [0, 1, 9, 3])
