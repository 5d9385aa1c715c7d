"""What the importer computes itself: the same as running means, and no more than it may."""

from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models.onnx_testing import (
    check_with_runtime,
    error_of,
    make_model,
    names_of,
    node,
    nodes_of,
    random,
)

from glow.compiler import run_passes
from glow.dialects.weights import weights_of
from glow.frontends.onnx import import_model
from glow.interpreter import run
from glow.passes.graph.pipeline import graph_passes

MEGABYTES = 1 << 20


def folded_and_computed(proto, array, opset=17):
    """The result of a node of a constant, and of the same node of an input."""
    (output,) = proto.output
    data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    model = make_model([proto], [], [output], {"x": array}, opset)
    model.graph.output[0].type.Clear()
    module = import_model(model)
    assert names_of(module) == []
    (folded,) = run(module, [])
    del model.graph.initializer[:]
    model.graph.input.append(helper.make_tensor_value_info("x", data_type, array.shape))
    (computed,) = run(import_model(model), [array])
    return folded, computed


@pytest.mark.parametrize("target", ["UINT8", "INT8", "INT32", "INT64", "BOOL"])
def test_casts_out_of_range_saturate(target):
    numbers = np.array([300, -5, 1e20, -1e20, np.inf, -np.inf, np.nan, 2.9], np.float32)
    proto = node("Cast", "x", to=TensorProto.DataType.Value(target))
    folded, computed = folded_and_computed(proto, numbers)
    np.testing.assert_array_equal(folded, computed)
    assert target != "UINT8" or folded.tolist() == [255, 0, 255, 0, 255, 0, 0, 2]


def test_lrn_of_fewer_channels_than_images():
    x = random(4, 2, 3, 3)
    folded, computed = folded_and_computed(node("LRN", "x", size=3, alpha=1.0), x)
    np.testing.assert_array_equal(folded, computed)
    model = make_model(
        [node("LRN", "c", "t", size=3, alpha=1.0), node("Add", "t x")],
        [("x", x.shape)],
        weights={"c": x},
    )
    check_with_runtime(model, x)


def test_forms_that_are_refused_are_refused_of_constants_too():
    weights = {"x": random(3, 1, 2), "w": random(1, 8, 2), "r": random(1, 8, 2)}
    proto = node("LSTM", "x w r", hidden_size=2, input_forget=1)
    check_with_runtime(make_model([proto], [], weights=weights))
    proto = node("LSTM", "x w r", hidden_size=2, direction="sideways")
    model = make_model([proto], [], weights=weights)
    assert "sideways" in error_of(model)


def test_index_out_of_range_of_constants():
    weights = {"x": random(3), "i": np.array([3])}
    model = make_model([node("Gather", "x i")], [], weights=weights)
    assert "index 3 is outside of axis 0 of size 3 (at node 'y')" in error_of(model)


def test_operators_without_a_handler_are_computed_of_constants():
    nodes = [
        node("NonZero", "c", "n"),
        node("Cast", "n", "f", to=1),
        node("Add", "f x"),
    ]
    model = make_model(nodes, [("x", [1, 2])], weights={"c": np.array([0, 3, 4])})
    check_with_runtime(model, random(1, 2))


def chain(first, operator, length):
    """Nodes in a row, each of the result before it."""
    names = [first, *(f"{first}{number}" for number in range(length))]
    return [
        node(operator, f"{a} {a}" if operator == "Add" else a, b)
        for a, b in pairwise(names)
    ]


@pytest.mark.parametrize("operator", ["Add", "Sin"])
def test_memory_and_time_of_folding_are_limited(operator):
    """A chain of a hundred results of 16 MB each, in a file of some kilobytes."""
    nodes = [node("ConstantOfShape", "s", "c"), *chain("c", operator, 100)]
    nodes += [node("ReduceSum", "c99", "r"), node("Add", "r x")]
    model = make_model(nodes, [("x", [1])], weights={"s": np.array([2**22])})
    module = import_model(model)
    kept = sum(array.nbytes for array in weights_of(module).values())
    assert kept <= 17 * MEGABYTES
    assert len(nodes_of(module)) >= 101 - 256 // 16
    run_passes(module, graph_passes()[:3])
    kept = sum(array.nbytes for array in weights_of(module).values())
    assert kept <= 34 * MEGABYTES
    assert len(nodes_of(module)) >= 80 - 2 * 256 // 16
