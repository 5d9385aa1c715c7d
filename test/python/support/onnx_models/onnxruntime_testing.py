"""What ONNX Runtime computes: the tests' second opinion on whole networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import ModelProto, TensorProto, numpy_helper

Array = npt.NDArray[Any]

EXACT_SUMS = "session.x64quantprecision"
"""The option by which ONNX Runtime multiplies u8 by u8 where it would by i8.

On processors without VNNI its products of u8 and i8 add pairs in 16 bits, which saturate. The
weights that it rewrites are constants, from the extended optimizations on; also those beside i8,
for which it then has no kernel.
"""
ZERO_POINT_AT = {"QGemm": 2, "QLinearConv": 2, "QLinearMatMul": 2}
"""The operand that has the type of what is multiplied by weights."""


def exact_session(model: ModelProto) -> onnxruntime.InferenceSession:
    """A session for a quantized model whose sums are those that ONNX defines, on all processors."""
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_DISABLE_ALL
    if not multiplies_i8(model):
        options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED
        options.add_session_config_entry(EXACT_SUMS, "1")
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def multiplies_i8(model: ModelProto) -> bool:
    """Whether an operator on integers takes i8 beside its weights."""
    points = {
        node.input[ZERO_POINT_AT[node.op_type]]
        for node in model.graph.node
        if node.op_type in ZERO_POINT_AT
    }
    return any(
        tensor.data_type == TensorProto.INT8 and tensor.name in points
        for tensor in model.graph.initializer
    )


def exact_outputs(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model of one quantized operator, whose weights become constants."""
    weights = {
        name: inputs[name]
        for name in model.graph.node[0].input[1:]
        if name in inputs and inputs[name].dtype == np.int8
    }
    changed = ModelProto()
    changed.CopyFrom(model)
    del changed.graph.input[:]
    changed.graph.input.extend(v for v in model.graph.input if v.name not in weights)
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    changed.graph.initializer.extend(tensors)
    others = {name: array for name, array in inputs.items() if name not in weights}
    results = exact_session(changed).run(None, others)
    return [np.asarray(result) for result in results]


def onnxruntime_outputs(
    model: ModelProto, inputs: dict[str, Array]
) -> dict[str, Array]:
    """The outputs by name."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    results = session.run(names, inputs)
    return dict(zip(names, map(np.asarray, results), strict=True))
