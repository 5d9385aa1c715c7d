"""An index outside of its axis is an error of the call, on every backend."""

import os
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models.onnx_testing import error_of, make_model, node, random

import glow
from glow.dialects.errors import GlowError


def lookups(operator, data, indices, index_type=TensorProto.INT64, axis=0):
    """A model of two lookups at indices that are an input."""
    settings = {} if operator == "GatherND" else {"axis": axis}
    nodes = [
        node(operator, "x i", "g", name="first", **settings),
        node(operator, "g j", "h", name="second", **settings),
        node("Relu", "h"),
    ]
    model = make_model(nodes, [("x", data)])
    for name in "ij":
        info = helper.make_tensor_value_info(name, index_type, indices)
        model.graph.input.append(info)
    return model


CASES = [
    ("Gather", (5, 40), (3,), [0, 4, -5], [0, 5, 1]),
    ("Gather", (5, 40), (3,), [0, 4, -5], [0, -6, 1]),
    ("Gather", (5, 2), (), 4, 2**40),
    ("Gather", (5, 1, 3), (1,), [4], [-(2**62)]),
    ("GatherElements", (5, 3), (1, 3), [[0, 4, -5]], [[0, 1, 5]]),
    ("GatherND", (5, 40), (3, 1), [[0], [4], [-5]], [[0], [-6], [1]]),
]


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize(("operator", "data", "shape", "inside", "outside"), CASES)
def test_index_outside_of_its_axis(operator, data, shape, inside, outside, backend):
    model = glow.compile(lookups(operator, data, shape), backend=backend)
    x, good, bad = random(*data), np.array(inside), np.array(outside)
    zeros = np.zeros_like(good)
    expected = model(x, good, zeros)
    for i, j, name in ((bad, zeros, "first"), (zeros, bad, "second")):
        with pytest.raises(
            GlowError, match=rf"^[^\n]*outside of .*axis.*at node '{name}'"
        ):
            model(x, i, j)
        # The error is forgotten.
        np.testing.assert_array_equal(model(x, good, zeros), expected)


def test_index_of_four_bytes():
    model = glow.compile(lookups("Gather", (5, 40), (3,), TensorProto.INT32))
    x, zeros = random(5, 40), np.zeros(3, np.int32)
    with pytest.raises(GlowError, match="at node 'first'"):
        model(x, np.array([0, -6, 0], np.int32), zeros)
    np.testing.assert_array_equal(model(x, zeros, zeros)[1], np.maximum(x[0], 0))


def test_memory_of_the_caller():
    model = glow.compile(lookups("Gather", (5, 40), (3,)))
    x, zeros, out = random(5, 40), np.zeros(3, np.int64), np.empty((3, 40), np.float32)
    with pytest.raises(GlowError, match="at node 'second'"):
        model.run_into([x, zeros, zeros + 3], [out])
    model.run_into([x, zeros, zeros], [out])
    np.testing.assert_array_equal(out[2], np.maximum(x[0], 0))


def test_model_of_the_cache(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(lookups("Gather", (5, 40), (3,)).SerializeToString())
    zeros = np.zeros(3, np.int64)
    for _ in range(2):
        model = glow.compile(path)
        with pytest.raises(GlowError, match="at node 'first'"):
            model(random(5, 40), zeros + 5, zeros)
        glow.compilation.wait_for_stores()


def test_calls_at_once_have_errors_of_their_own():
    model = glow.compile(lookups("Gather", (400, 64), (256,)))
    x, good = random(400, 64), np.arange(256)
    expected, wrong = model(x, good, good), []

    def call(number):
        for _ in range(50):
            try:
                result = model(x, good + 200 * number, good)
            except GlowError:
                wrong.extend([number] * (number == 0))
            else:
                same = np.array_equal(result, expected)
                wrong.extend([number] * (number == 1 or not same))

    threads = [threading.Thread(target=call, args=(k % 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_threads_of_one_call():
    model = glow.compile(
        lookups("Gather", (4000, 64), (40000,)), threads=os.cpu_count()
    )
    x, good = random(4000, 64), np.zeros(40000, np.int64)
    bad = good.copy()
    bad[-1] = 4000
    with pytest.raises(GlowError, match="at node 'first'"):
        model(x, bad, good)


def test_indices_that_are_known():
    weights = {"i": np.array([0, 3])}
    model = make_model([node("Gather", "x i")], [("x", [3])], weights=weights)
    assert "index 3 is outside of axis 0 of size 3 (at node 'y')" in error_of(model)
    model = make_model([node("Gather", "x i")], [("x", [0, 2])], weights=weights)
    assert "axis 0 is empty: no index is inside" in error_of(model)
