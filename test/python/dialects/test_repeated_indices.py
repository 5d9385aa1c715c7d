"""A scatter along an axis whose indices are repeated along others, as graph networks have them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import glow

REDUCTIONS = ("none", "add", "mul", "max")
CASES = {
    "rows": ((7, 4), (7, 1), (5, 4), 0),
    "parts of rows": ((7, 4), (7, 1), (5, 6), 0),
    "columns": ((7, 4), (1, 4), (7, 5), 1),
    "rows of matrices": ((6, 3, 5), (6, 1, 1), (4, 3, 5), 0),
    "rows in matrices": ((2, 6, 5), (2, 6, 1), (2, 4, 5), 1),
    "single elements": ((6, 1), (6, 1), (4, 1), 0),
    "one index for all": ((3, 4), (1, 1), (5, 4), 0),
}


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", CASES)
def test_repeated_indices(case: str, reduction: str, backend: str) -> None:
    walked, once, sizes, axis = CASES[case]
    nodes = [
        helper.make_node("Expand", ["i", "shape"], ["places"]),
        helper.make_node(
            "ScatterElements",
            ["x", "places", "u"],
            ["y"],
            axis=axis,
            reduction=reduction,
        ),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "scatter",
        [
            value("x", TensorProto.FLOAT, sizes),
            value("i", TensorProto.INT64, once),
            value("u", TensorProto.FLOAT, walked),
        ],
        [value("y", TensorProto.FLOAT, sizes)],
        [numpy_helper.from_array(np.array(walked, np.int64), "shape")],
    )
    opset = helper.make_opsetid("", 18)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    random = np.random.default_rng(0)
    feeds = {
        "x": random.standard_normal(sizes).astype(np.float32),
        "i": random.integers(-sizes[axis], sizes[axis], once),
        "u": random.standard_normal(walked).astype(np.float32),
    }
    (expected,) = ReferenceEvaluator(model).run(None, feeds)
    found = glow.compile(model, backend=backend, threads=1).run(feeds)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
