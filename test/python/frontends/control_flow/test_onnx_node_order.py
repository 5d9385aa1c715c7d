"""Graphs whose nodes are not in order, which ONNX Runtime sorts."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models.onnx_testing import (
    check_with_runtime,
    error_of,
    make_model,
    node,
    random,
)

from glow.frontends.onnx.loader import load_model


def test_nodes_at_the_end():
    """Casts of inputs and results, as converters to 16-bit floats add them."""
    nodes = [
        node("Add", "half half", "sum"),
        node("Relu", "sum", "positive"),
        node("Cast", "x", "half", to=TensorProto.FLOAT16),
        node("Cast", "positive", "y", to=TensorProto.FLOAT),
    ]
    model = make_model(nodes, [("x", [2, 3])])
    names = [one.output[0] for one in model.graph.node]
    check_with_runtime(model, random(2, 3), rtol=1e-3)
    assert [one.output[0] for one in model.graph.node] == names
    loaded = [one.output[0] for one in load_model(model).proto.graph.node]
    assert loaded.index("half") < loaded.index("sum") < loaded.index("positive")


def test_nodes_of_a_body():
    """A body that reads what stands behind its node."""
    branches = {
        name: helper.make_graph(
            [node("Mul", "x late", "inner"), node(operator, "inner", name)],
            name,
            [],
            [helper.make_tensor_value_info(name, 1, [3])],
        )
        for name, operator in (("then_branch", "Neg"), ("else_branch", "Exp"))
    }
    nodes = [
        node("If", "flag", "y", **branches),
        node("Greater", "total zero", "flag"),
        node("ReduceSum", "x", "total", keepdims=0),
        node("Abs", "x", "late"),
        node("Constant", "", "zero", value_float=0.0),
    ]
    model = make_model(nodes, [("x", [3])])
    for sign in (1, -1):
        x = np.abs(random(3)) * np.float32(sign)
        check_with_runtime(model, x)


def test_nothing_is_copied_that_is_in_order():
    model = make_model([node("Neg", "x", "z"), node("Relu", "z")], [("x", [3])])
    assert load_model(model).proto is model


@pytest.mark.parametrize("nodes", [
    [node("Add", "x b", "a"), node("Neg", "a", "b"), node("Relu", "b")],
    [node("Add", "x y", "y")],
])  # fmt: skip
def test_nodes_that_read_each_other(nodes):
    assert "is read before it is defined" in error_of(make_model(nodes, [("x", [3])]))
