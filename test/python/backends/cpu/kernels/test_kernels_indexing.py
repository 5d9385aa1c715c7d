"""Kernels that read, write or go along an axis in an order of their own, against NumPy.

`run_kernel` runs them in parts too, behind guard pages, and with anything on the stack.
"""

import numpy as np
import pytest
from support.kernels.indexing_kernels import INDEXING
from support.kernels.kernel_testing import RANDOM, normal, run_kernel

from glow.interpreter.indexing import corners, selected_boxes

ERRORS = np.zeros(1, np.int8)


def test_gather_nd():
    data, indices = normal(5, 4, 19), RANDOM.integers(-4, 4, (7, 2))
    out = np.zeros((7, 19), np.float32)
    (found,) = run_kernel(INDEXING["gather_nd"](), [out], [data, indices, ERRORS])
    np.testing.assert_array_equal(found, data[indices[:, 0], indices[:, 1]])


def test_scatter():
    """Few places, many updates: their order counts."""
    data, updates, indices = normal(21, 3), normal(40, 3), RANDOM.integers(-4, 4, 40)
    expected = data.copy()
    np.add.at(expected, indices, updates)
    inputs = [data, indices, updates, ERRORS]
    (found,) = run_kernel(INDEXING["scatter"](), [np.zeros_like(data)], inputs)
    np.testing.assert_array_equal(found, expected)


def test_cumulative():
    x = normal(2, 5, 37)
    (found,) = run_kernel(INDEXING["cumulative"](), [np.zeros_like(x)], [x])
    expected = np.cumsum(x, axis=1, dtype=np.float32)
    np.testing.assert_array_equal(found[:, 1:], expected[:, :-1])
    assert not found[:, 0].any()


def test_heap_and_sort():
    x = RANDOM.integers(-9, 9, (3, 100)).astype(np.float32)
    outputs = [np.zeros((3, 5), np.float32), np.zeros((3, 5), np.int64)]
    values, places = run_kernel(INDEXING["heap"](), outputs, [x])
    np.testing.assert_array_equal(places, np.argsort(-x, axis=1, kind="stable")[:, :5])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))
    x = RANDOM.integers(-9, 9, (3, 50))
    values, places = run_kernel(INDEXING["sort"](), [x * 0, x * 0], [x])
    np.testing.assert_array_equal(places, np.argsort(x, axis=1, kind="stable"))
    np.testing.assert_array_equal(values, np.sort(x, axis=1))


def test_compact():
    for flags in (
        RANDOM.random(33) < 0.4,
        np.ones(33, np.bool_),
        np.zeros(33, np.bool_),
    ):
        outputs = [np.full(33, 7), np.zeros(1, np.int64)]
        places, count = run_kernel(INDEXING["compact"](), outputs, [flags.astype("i1")])
        expected = np.flatnonzero(flags)
        assert count[0] == len(expected)
        np.testing.assert_array_equal(places, np.pad(expected, (0, 33 - len(expected))))


def test_select_boxes():
    """The same box nine times, of which one stays; with no candidate, none."""
    boxes = np.tile(np.array([0, 0, 1, 1], np.float32), (2, 9, 1))
    order = np.stack([RANDOM.permutation(9) for _ in range(4)]).reshape(2, 2, 9)
    valid = np.ones((2, 2, 9), np.int8)
    valid[1, 1] = 0
    scratch = np.full((2, 2, 5, 16), np.nan, np.float32)
    outputs = [np.full((2, 2, 4), 7), np.full((2, 2), 7), scratch]
    inputs = [boxes, order, valid, np.array([0.5], np.float32)]
    selected, count, _ = run_kernel(INDEXING["select boxes"](), outputs, inputs)
    np.testing.assert_array_equal(count, [[1, 1], [1, 0]])
    expected = np.zeros((2, 2, 4), np.int64)
    expected[..., 0] = order[..., 0] * count
    np.testing.assert_array_equal(selected, expected)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_select_many_boxes(threshold: float):
    """Several groups of registers, boxes without area, infinity, NaN, and a full output."""
    boxes = RANDOM.random((1, 700, 4), np.float32)
    boxes[0, ::7, 2:] = boxes[0, ::7, :2]
    boxes[0, 3::50] = np.nan
    boxes[0, 5::90, 0] = np.inf
    boxes[0, 10:600, 2:] = boxes[0, 10:600, :2] + boxes[0, 10:600, 2:] / 50
    order = RANDOM.permutation(700).reshape(1, 1, 700)
    valid = (RANDOM.random((1, 1, 700)) < 0.9).astype(np.int8)
    scratch = np.full((1, 1, 5, 400), np.nan, np.float32)
    outputs = [np.zeros((1, 1, 400), np.int64), np.zeros((1, 1), np.int64), scratch]
    limit = np.array([threshold], np.float32)
    found = run_kernel(
        INDEXING["select many boxes"](), outputs, [boxes, order, valid, limit]
    )
    low, high = corners(boxes[0], centers=False)
    with np.errstate(invalid="ignore"):
        places = order[0, 0][valid[0, 0].astype(np.bool_)]
        expected = selected_boxes(low, high, places, limit[0], 400)
    assert found[1].item() == len(expected)
    np.testing.assert_array_equal(found[0][0, 0, : len(expected)], expected)


def test_lu():
    x = normal(3, 19, 19)
    outputs = [np.zeros_like(x), np.zeros(3, np.float32)]
    factors, sign = run_kernel(INDEXING["lu"](), outputs, [x])
    found = sign * np.prod(np.diagonal(factors, axis1=1, axis2=2), axis=1)
    np.testing.assert_allclose(found, np.linalg.det(x.astype(np.float64)), rtol=1e-4)
    lower = np.tril(factors, -1) + np.eye(19)
    product = lower @ np.triu(factors)
    np.testing.assert_allclose(np.sort(product, 1), np.sort(x, 1), atol=1e-4)
