"""The ONNX importer on models that it must refuse: one line that says what is wrong."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models.onnx_testing import error_of, make_model, node, random

from glow.frontends.onnx import importer


def test_all_unsupported_operators_are_listed():
    model = make_model(
        [
            node("Foo", "x", "t", name="a"),
            node("Foo", "t", "u", name="b"),
            node("Relu", "u", "v"),
            node("Bar", "v", "w", name="c", domain="x"),
            node("MaxPool", "x", "p", name="d", kernel_shape=[1, 1], auto_pad="NO"),
            node("Sum", "w p", "y"),
        ],
        [("x", [1, 1, 2, 2])],
        x=1,
    )
    assert error_of(model) == (
        "3 operators are not supported: 'Foo' at node 'a', 'b'; 'Bar' (domain x) at "
        "node 'c'; 'MaxPool' (auto_pad NO) at node 'd'"
    )


def test_one_unsupported_operator():
    model = make_model([node("Foo", "x")], [("x", [1])])
    assert error_of(model) == "1 operator is not supported: 'Foo' at node 'y'"


def test_what_the_body_of_an_operator_lacks_names_the_operator(monkeypatch):
    """Users know the operator that they wrote, not how ONNX defines it."""
    known = importer.handler_of

    def handler_of(proto):
        lacks = proto.op_type in ("Bernoulli", "RandomUniformLike")
        return None if lacks else known(proto)

    monkeypatch.setattr(importer, "handler_of", handler_of)
    model = make_model([node("Bernoulli", "x", name="draw")], [("x", [1])])
    assert error_of(model) == (
        "1 operator is not supported: 'Bernoulli' (its body needs 'RandomUniformLike') "
        "at node 'draw'"
    )


def test_a_size_that_data_decides_is_named_when_a_program_must_be_whole():
    model = make_model([node("NonZero", "x", name="where")], [("x", [5])])
    message = error_of(model)
    assert message.startswith(
        "'NonZero' at node 'where' needs the value of its result size;"
    )


def test_no_range_of_no_elements():
    model = make_model(
        [node("DynamicQuantizeLinear", "x", "y s z", name="q")], [("x", [0])]
    )
    assert error_of(model) == (
        "DynamicQuantizeLinear: tensor<0xf32> has no elements, and so no range "
        "(at node 'q')"
    )


def test_contradicting_shapes_name_the_node():
    model = make_model(
        [node("Add", "x b", name="sum")], [("x", [2])], weights={"b": random(3)}
    )
    assert error_of(model) == (
        "Add: operands do not broadcast: shapes 2, 3 (at node 'sum')"
    )
    model = make_model(
        [node("Conv", "x w", name="c")], [("x", [1, 3, 8, 8])],
        weights={"w": random(4, 2, 3, 3)},
    )  # fmt: skip
    assert "input channels (3) must be group (1) times" in error_of(model)


def test_declared_elements_of_an_output_contradict():
    model = make_model([node("Relu", "x")], [("x", [2])])
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT8
    assert error_of(model) == (
        "output 'y' is declared with elements i8, but the graph computes tensor<2xf32>"
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Relu", "z")], "'z' is read before it is defined (at node 'y')"),
        ([node("Relu", "x"), node("Neg", "x")], "'y' is defined twice (at node 'y')"),
        ([node("Add", "x")], "'Add' (input 1 missing) at node 'y'"),
        ([node("DepthToSpace", "x", blocksize=2)], "DepthToSpace: "),
        ([node("InstanceNormalization", "x x x")], "input must have channels, not"),
        ([node("GroupNormalization", "x x x")], "input must have channels, not shape"),
        ([node("Conv", "x x", strides=[0])], "at node 'y'"),
        ([node("Softmax", "x", axis=7)], "Softmax: axis 7 of a rank-1 tensor"),
        ([node("Reshape", "x x")], "'Reshape' at node 'y' needs the value of its shape"),
        ([node("Cast", "x", to=8)], "elements of type string are not supported"),
        ([node("Constant", "")], "'Constant' (without exactly one attribute)"),
        ([node("Softmax", "x", axis="one")], "attribute 'axis' is of type string, not"),
        ([node("Softmax", "x", axis=1.0)], "attribute 'axis' is of type float, not int"),
        ([node("Elu", "x", alpha=1)], "attribute 'alpha' is of type int, not float"),
        ([node("Transpose", "x", perm=0)], "attribute 'perm' is of type int, not ints"),
        ([node("Gelu", "x", approximate=1)], "attribute 'approximate' is of type int"),
    ],
)  # fmt: skip
def test_malformed_graphs(nodes, message):
    assert message in error_of(make_model(nodes, [("x", [2])]))


def test_huge_constants_are_never_made():
    shape = np.array([2**20, 2**20, 2**20])
    model = make_model([node("ConstantOfShape", "s")], [], weights={"s": shape})
    assert "is an impossible shape" in error_of(model)


def test_function_that_calls_itself():
    function = helper.make_function(
        "f", "F", ["a"], ["b"], [node("F", "a", "b", domain="f")], [], []
    )
    model = make_model([node("F", "x", domain="f")], [("x", [2])], functions=[function])
    model.opset_import.add(domain="f", version=1)
    assert "recursion" in error_of(model)


def chain_of_functions(count, calls):
    """Functions of which each calls the next one some times."""
    return [
        helper.make_function(
            "f", f"F{level}", ["a"], ["b"],
            [
                node("Relu" if level == count else f"F{level + 1}", "a",
                     "b" if call == calls - 1 else f"t{call}",
                     domain="" if level == count else "f")
                for call in range(calls)
            ],
            [], [],
        )
        for level in range(count + 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "calls", "message"),
    [
        (29, 2, "stand for more than 262144 nodes"),
        (500, 1, "more than 100 functions call each other in a row"),
    ],
)
def test_functions_that_stand_for_too_many_nodes(count, calls, message):
    functions = chain_of_functions(count, calls)
    call = node("F0", "x", domain="f")
    model = make_model([call], [("x", [2])], functions=functions, f=1)
    assert message in error_of(model)


@pytest.mark.parametrize("opset", [0, 99])
def test_unknown_opsets(opset):
    model = make_model([node("Add", "x x")], [("x", [2])], opset=opset)
    assert f"the model has ONNX opset {opset}" in error_of(model)


def test_a_window_of_no_size():
    """An attribute that ONNX requires counts as zero where it is missing."""
    model = make_model([node("LRN", "x")], [("x", [1, 2, 3, 3])])
    assert "LRN: size must be positive" in error_of(model)
