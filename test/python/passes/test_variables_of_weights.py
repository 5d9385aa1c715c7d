"""Variables of imported networks have the names of the initializers, to the letter."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import glow
from glow.compiler import compile_module, load
from glow.options import CompileOptions
from glow.passes.graph.convert_constants_to_variables import (
    ConvertConstantsToVariablesPass,
)
from glow.universe import new_context

SHAPES = {"fc1/weight": (16, 16), "layer.1.bias_3": (16,), "onnx::MatMul_12": (16, 1)}
SHAPES |= {"7": (1,), "größe": (1,)}


def network():
    """Three products; one initializer is read twice, a constant is no weight."""
    generator = np.random.default_rng(0)
    arrays = {
        name: generator.standard_normal(shape).astype(np.float32)
        for name, shape in SHAPES.items()
    }
    arrays["7"] = arrays["7"] * 0
    nodes = [
        helper.make_node("MatMul", ["x", "fc1/weight"], ["a"]),
        helper.make_node("Add", ["a", "layer.1.bias_3"], ["b"]),
        helper.make_node("MatMul", ["b", "fc1/weight"], ["c"]),
        helper.make_node("Constant", [], ["k"], value_floats=[0.5] * 16),
        helper.make_node("Mul", ["c", "k"], ["d"]),
        helper.make_node("MatMul", ["d", "onnx::MatMul_12"], ["e"]),
        helper.make_node("Add", ["e", "7"], ["f"]),
        helper.make_node("Mul", ["f", "größe"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 1])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    return model, arrays


def with_variables(model, backend, *names):
    module = load(model)
    ConvertConstantsToVariablesPass(names).apply(new_context(), module)
    return compile_module(module, CompileOptions(backend=backend))


def test_names_are_those_of_the_initializers() -> None:
    model, arrays = network()
    x = np.random.default_rng(1).standard_normal((2, 16)).astype(np.float32)
    expected = glow.compile(model, backend="interpreter")(x)
    for backend in ("interpreter", "cpu"):
        compiled = with_variables(model, backend)
        assert set(compiled.variables) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(compiled.variables[name], array)
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-4, atol=1e-5)
        compiled.variables["größe"][:] *= 2
        np.testing.assert_allclose(compiled(x), 2 * expected, rtol=1e-4, atol=1e-5)


def test_some_names() -> None:
    compiled = with_variables(network()[0], "interpreter", "7", "k")
    assert list(compiled.variables) == ["k", "7"]
