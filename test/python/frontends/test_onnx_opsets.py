"""Operators at every opset at which their definition changed, against ONNX Runtime.

The forms of one opset (`onnx_forms`) are the nodes of one model, each with inputs of its own, so
that a model is compiled once for each opset. Native code is made of a form at its first opset
only: what later ones change is how it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, defs, helper, numpy_helper
from support.onnx_models.onnx_forms import (
    along_axes,
    bounds,
    elementwise,
    layers,
    positions,
    quantized,
    reductions,
    shapes,
)
from support.onnx_models.onnx_rows import OPSETS, Row
from support.onnx_models.onnx_spatial_forms import (
    integer_products,
    normalizations,
    pools,
    products,
    resizes,
    samples,
)

import glow

THEMES = (
    elementwise, positions, quantized, layers, along_axes, reductions, shapes, bounds,
    normalizations, pools, products, integer_products, resizes, samples,
)  # fmt: skip
ROWS = [row for theme in THEMES for row in theme()]


def versions(operator: str) -> set[int]:
    """The opsets of `OPSETS` at which an operator changed, and the first."""
    schemas = [s for s in defs.get_all_schemas_with_history() if s.name == operator]
    schemas = [s for s in schemas if not s.domain and not s.deprecated]
    return {max(schema.since_version, OPSETS[0]) for schema in schemas}


CHANGED = {operator: versions(operator) for operator in {row.operator for row in ROWS}}


def at(opset: int) -> list[Row]:
    """The forms to try at an opset: those of operators that changed there."""
    return [
        row
        for row in ROWS
        if row.first <= opset < row.end
        and (opset in CHANGED[row.operator] or opset == row.first)
    ]


def model_of(found: Sequence[Row], opset: int) -> tuple[ModelProto, dict[str, Any]]:
    """One model of all forms, and its inputs."""
    nodes, feeds, weights, outputs = [], {}, [], []
    for number, row in enumerate(found):
        names = [
            "" if x is None else f"x{number}_{k}" for k, x in enumerate(row.inputs)
        ]
        results = [f"y{number}_{k}" for k in range(row.outputs)]
        outputs += results
        for k, (name, array) in enumerate(zip(names, row.inputs, strict=True)):
            if array is not None and k < row.computed:
                feeds[name] = array
            elif array is not None:
                weights.append(numpy_helper.from_array(np.asarray(array), name))
        nodes.append(helper.make_node(row.operator, names, results, **row.attributes))
    info = helper.make_tensor_value_info
    inputs = [
        info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in feeds.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "forms", inputs, results, weights)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


FIRST: dict[Row, int] = {}
"""The first opset at which a form is tried."""
for version in OPSETS:
    for form in at(version):
        FIRST.setdefault(form, version)


@pytest.mark.parametrize("opset", [opset for opset in OPSETS if at(opset)])
def test_forms(opset: int) -> None:
    found = at(opset)
    model, feeds = model_of(found, opset)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results = iter(session.run(None, feeds))
    wanted = {row: [next(results) for _ in range(row.outputs)] for row in found}
    check("interpreter", found, opset, wanted)
    check("cpu", [row for row in found if FIRST[row] == opset], opset, wanted)


def check(
    backend: str, found: Sequence[Row], opset: int, wanted: dict[Row, list[Any]]
) -> None:
    """Compare what a backend computes with what is wanted."""
    if not found:
        return
    model, feeds = model_of(found, opset)
    results = glow.compile(model, backend=backend)(*feeds.values())
    left = iter(results if isinstance(results, tuple) else (results,))
    for row in found:
        name = f"{row.operator} {row.attributes}"
        for expected in wanted[row]:
            result = next(left)
            kinds = (result.dtype, result.shape), (expected.dtype, expected.shape)
            assert kinds[0] == kinds[1], name
            np.testing.assert_allclose(result, expected, 1e-4, 1e-5, err_msg=name)


UNTRIED = {("RoiAlign", 22), ("GlobalLpPool", 22)}
"""Versions that ONNX Runtime does not have."""


def test_each_version_has_a_form() -> None:
    """Every opset of `OPSETS` at which an operator changed is tried."""
    tried = {(row.operator, opset) for opset in OPSETS for row in at(opset)}
    changed = {(name, opset) for name, found in CHANGED.items() for opset in found}
    wanted = {(name, opset) for name, opset in changed if opset in OPSETS}
    assert wanted - tried == UNTRIED
