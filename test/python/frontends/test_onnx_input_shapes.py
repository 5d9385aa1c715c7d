"""The ONNX importer: shapes of inputs that are open, given or fixed, and wrong ones."""

import numpy as np
import pytest
from support.onnx_models.onnx_testing import (
    check_with_runtime,
    error_of,
    main_of,
    make_model,
    node,
    random,
)

from glow.frontends.onnx import import_model
from glow.interpreter import run


def test_open_sizes():
    model = make_model([node("Relu", "x")], [("x", ["N", 3])])
    line = error_of(model)
    assert line.startswith("input 'x' has open sizes (N); pass input_shapes, or")
    for shapes in ({"x": [4, 3]}, {"N": 4}, {"x": [4, 3], "N": 4}):
        module = import_model(model, input_shapes=shapes)
        assert main_of(module).args[0].type.get_shape() == (4, 3)


def test_open_sizes_that_must_be_large():
    """A network that halves its images five times and pools what is left."""
    pools = [
        node("MaxPool", f"x{k}", f"x{k + 1}", kernel_shape=[2, 2], strides=[2, 2])
        for k in range(6)
    ]
    model = make_model(pools, [("x0", [1, 1, "H", "W"])])
    line = error_of(model)
    assert line.startswith("input 'x0' has open sizes (H, W); pass input_shapes, or")


def test_unknown_rank():
    model = make_model([node("Relu", "x")], ["x"])
    line = error_of(model)
    assert line == "the model does not tell the shape of input 'x'; pass input_shapes"
    assert import_model(model, input_shapes={"x": [4]})


def test_declared_size_of_zero():
    model = make_model([node("Relu", "x")], [("x", [0, 3])])
    check_with_runtime(model, random(0, 3))


def test_size_with_a_name_is_that_of_all_inputs():
    shapes = [("a", ["N", 3]), ("b", ["N", 1])]
    model = make_model([node("Add", "a b")], shapes)
    module = import_model(model, input_shapes={"b": [4, 1]})
    assert [arg.type.get_shape() for arg in main_of(module).args] == [(4, 3), (4, 1)]
    line = error_of(model, input_shapes={"a": [4, 3], "b": [5, 1]})
    assert line == "input 'b' has N = 5, but input 'a' has N = 4"
    line = error_of(model, input_shapes={"a": [4, 3], "N": 5})
    assert line == "input 'a' has N = 4, but input_shapes has N = 5"
    values = {"a": np.zeros((2, 3), np.float32)}
    line = error_of(model, input_shapes={"N": 5}, input_values=values)
    assert line == "input 'a' has N = 2, but input_shapes has N = 5"


def test_wrong_input_shapes():
    model = make_model([node("Relu", "x")], [("x", ["N", 3])])
    line = error_of(model, input_shapes={"z": [1]})
    assert line == (
        "the model has no input 'z'; its inputs are: 'x', its open sizes: 'N'"
    )
    line = error_of(model, input_shapes={"x": [1]})
    assert line == "input 'x' is declared as Nx3, with 2 axes, not as [1]"
    line = error_of(model, input_shapes={"N": 4.5})
    assert line.startswith("input_shapes must give a whole number for the size 'N'")
    line = error_of(model, input_shapes={"N": -1})
    assert line == "input_shapes gives the size -1 for 'N'"
    line = error_of(model, input_shapes={"x": [-2, 3]})
    assert line == "input 'x': [-2, 3] is an impossible shape"
    line = error_of(model, input_shapes={"x": [2, 4]})
    assert "is declared as Nx3, with 3 where 4 of [2, 4] is given" in line
    line = error_of(
        make_model([node("Relu", "x")], ["x"]), input_shapes={"x": [1] * 97}
    )
    assert line == "input 'x': 97 axes are more than 64"


@pytest.mark.parametrize("given", [[4.5, 3], [4, "a"], 4.5, None, "4x3"])
def test_input_shapes_are_whole_numbers(given):
    model = make_model([node("Relu", "x")], [("x", ["N", 3])])
    line = error_of(model, input_shapes={"x": given})
    assert line.startswith("input_shapes must give whole numbers for input 'x'")


def test_inputs_with_a_value_in_the_model():
    weights = {"b": np.ones(2, np.float32)}
    inputs = [("x", ["N"]), ("b", ["N"])]
    model = make_model([node("Add", "x b")], inputs, weights=weights)
    values = {"b": np.full(3, 2, np.float32)}
    module = import_model(model, input_shapes={"x": [3]}, input_values=values)
    (result,) = run(module, [np.zeros(3, np.float32)])
    assert result.tolist() == [2, 2, 2]
    assert import_model(model, input_shapes={"x": [2], "b": [2]})
    line = error_of(model, input_shapes={"b": [3], "x": [3]})
    assert line == "input 'b' has a value of shape [2] in the model, not [3]"


def test_declared_output_of_another_shape():
    model = make_model([node("Relu", "x")], [("x", ["N"])], [("y", [3])])
    with pytest.warns(UserWarning, match="output 'y' is declared as 3, but the graph"):
        import_model(model, input_shapes={"x": [2]})


def test_fixed_inputs():
    model = make_model([node("Add", "x b")], [("x", [2]), ("b", [2])])
    module = import_model(model, input_values={"b": np.ones(2, np.float32)})
    (result,) = run(module, [np.zeros(2, np.float32)])
    assert result.tolist() == [1, 1]
    line = error_of(model, input_values={"z": np.ones(2)})
    assert line == "the model has no input 'z'; its inputs are: 'x', 'b'"
