"""Equal columns of a matrix give equal results, bit for bit.

A softmax of large numbers that should be equal makes 0 and 1 of a difference in the last digit,
as in ONNX's light models, whose weights are all 0.02.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.runner import Runner

import glow
from benchmarks.networks.light import FILES, FOLDER

COLUMNS = (1, 15, 16, 17, 33, 40, 63, 65, 100, 129, 1000)
DEPTH = 77


def test_columns_of_products_are_summed_up_in_one_order() -> None:
    """Whatever the width of the last panel: constant and computed matrices, plain and stacked."""
    random = np.random.default_rng(0)
    nodes, arrays, weights = [], {}, {}

    def column(*shape: int) -> np.ndarray:
        return random.standard_normal((*shape, DEPTH, 1)).astype(np.float32)

    for rows in (1, 3, 8):
        for count in COLUMNS:
            name = f"{rows}x{count}"
            arrays[f"x{name}"] = column(rows)[..., 0]
            arrays[f"s{name}"] = column(2, rows)[..., 0]
            arrays[f"b{name}"] = column(2).repeat(count, axis=2)
            weights[f"w{name}"] = column().repeat(count, axis=1)
            for left, right in (("x", "w"), ("s", "b")):
                operands = [f"{left}{name}", f"{right}{name}"]
                nodes.append(helper.make_node("MatMul", operands, [f"y{left}{name}"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
        for name, array in arrays.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    constants = [numpy_helper.from_array(array, n) for n, array in weights.items()]
    graph = helper.make_graph(nodes, "products", inputs, outputs, constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    found = glow.compile(model).run(arrays)
    assert len(found) == 6 * len(COLUMNS)
    uneven = [name for name, y in found.items() if (y != y[..., :1]).any()]
    assert not uneven, uneven


@pytest.mark.parametrize("name", ["resnet50", "squeezenet", "zfnet512"])
def test_light_models_give_what_onnx_expects(name: str) -> None:
    """Compared as ONNX's own tests do."""
    path = FOLDER / FILES[name]
    model = onnx.load(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    (image,) = (value for value in model.graph.input if value.name not in constants)
    arrays = {image.name: Runner.generate_dummy_data(image)}
    stored = path.with_name(f"{path.stem}_output_0.pb").read_bytes()
    expected = numpy_helper.to_array(TensorProto.FromString(stored))
    (found,) = glow.compile(model).run(arrays).values()
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-7)
