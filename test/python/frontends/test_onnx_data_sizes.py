"""Operators whose results are as large as the data says, against ONNX Runtime and NumPy."""

import numpy as np
import onnxruntime
import pytest
from support.onnx_models.onnx_testing import random
from test_onnx_indexing import model_of

import glow
from glow import compiler


def runtime(model, *inputs):
    """ONNX Runtime's results."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))


def results_of(model, *inputs):
    """All results of a call."""
    found = model(*inputs)
    return found if isinstance(found, tuple) else (found,)


def assert_same(results, expected):
    for result, wanted in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(result, wanted)


BACKENDS = pytest.mark.parametrize("backend", ["cpu", "interpreter"])


@BACKENDS
def test_non_zero(backend):
    """Calls of one model with different counts, none and all among them."""
    generator = np.random.default_rng(0)
    for shape, dtype in (((4, 3, 5), np.float32), ((7,), np.bool_)):
        model = model_of("NonZero", np.zeros(shape, dtype))
        compiled = glow.compile(model, backend=backend)
        for share in (0, 0.3, 1):
            x = (generator.random(shape) < share).astype(dtype)
            assert_same(results_of(compiled, x), runtime(model, x))
    nan = np.array([0, np.nan, -0.0, 1], np.float32)
    compiled = glow.compile(model_of("NonZero", nan), backend=backend)
    np.testing.assert_array_equal(compiled(nan), [[1, 3]])


def test_a_count_that_was_there_compiles_nothing(monkeypatch):
    model, rows = glow.compile(model_of("NonZero", random(5))), np.eye(5, dtype="f")
    model(rows[0])
    monkeypatch.setattr(compiler, "compile_step", None)
    for row in rows:
        np.testing.assert_array_equal(model(row), np.stack(np.nonzero(row)))


@BACKENDS
def test_compress(backend):
    x, flags = random(3, 6), np.array([0, 1, 1, 0, 1], np.bool_)
    for settings, some in (
        ({"axis": 1}, flags),
        ({"axis": -2}, flags[:2]),
        ({}, flags),
    ):
        model = model_of("Compress", x, some, **settings)
        compiled = glow.compile(model, backend=backend)
        for given in (some, ~some, some & False):
            assert_same(results_of(compiled, x, given), runtime(model, x, given))


@BACKENDS
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique(is_sorted, backend):
    generator = np.random.default_rng(0)
    for shape, axis, dtype in (
        ((4, 10), None, np.float32), ((9, 5), 0, np.float32), ((2, 30), 1, np.int8),
    ):  # fmt: skip
        x = generator.integers(-2, 3, shape).astype(dtype)
        settings = {} if axis is None else {"axis": axis}
        model = model_of("Unique", x, outputs="yifc", sorted=is_sorted, **settings)
        compiled = glow.compile(model, backend=backend)
        for one in (x, np.zeros_like(x))[: 1 + is_sorted]:
            assert_same(results_of(compiled, one), runtime(model, one))


def test_unique_counts_all_nans_as_one():
    x = np.array([np.nan, 1, np.nan, -np.inf, 1, np.inf], np.float32)
    model = glow.compile(model_of("Unique", x, outputs="yifc"))
    assert_same(
        model(x),
        np.unique(x, return_index=True, return_inverse=True, return_counts=True),
    )


def boxes_of(count, seed, images=2, classes=3):
    """Boxes that overlap, with scores of which some are equal."""
    generator = np.random.default_rng(seed)
    boxes = generator.random((images, count, 4)).astype(np.float32)
    scores = generator.integers(0, 9, (images, classes, count)) / np.float32(8)
    return boxes, scores.astype(np.float32)


@BACKENDS
@pytest.mark.parametrize("center", [0, 1])
def test_non_max_suppression(center, backend):
    boxes, scores = boxes_of(30, 0)
    numbers = [np.array([7]), *(np.array([n], np.float32) for n in (0.2, 0.3))]
    for given in (3, 4, 5):
        operands = [boxes, scores, *numbers][:given]
        model = model_of(
            "NonMaxSuppression", *operands, constants=range(2, given),
            center_point_box=center,
        )  # fmt: skip
        compiled = glow.compile(model, backend=backend)
        for seed in (0, 1):
            inputs = boxes_of(30, seed)
            assert_same(results_of(compiled, *inputs), runtime(model, *inputs))


def test_bounds_of_non_max_suppression_at_the_call():
    boxes, scores = boxes_of(12, 0)
    numbers = np.array([2]), np.array([0.5], np.float32), np.array([0.4], np.float32)
    model = model_of("NonMaxSuppression", boxes, scores, *numbers)
    compiled = glow.compile(model)
    for most in (0, 1, 4, 100):
        inputs = boxes, scores, np.array([most]), *numbers[1:]
        assert_same(results_of(compiled, *inputs), runtime(model, *inputs))
