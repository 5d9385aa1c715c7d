"""Random inputs for a network, drawn the same way for every runtime that is compared."""

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

Array = np.ndarray
"""A NumPy array of any element type."""


def make_inputs(model: ModelProto, seed: int = 0) -> dict[str, Array]:
    """Returns one array for each input of `model`, by name.

    Floats are standard normal; integers are rows of the table that they index.
    Raises ValueError for an input whose shape is not static.
    """
    weights = {tensor.name for tensor in model.graph.initializer}
    rng = np.random.default_rng(seed)
    return {
        value.name: _draw(model, value, rng)
        for value in model.graph.input
        if value.name not in weights
    }


def _draw(model: ModelProto, value: ValueInfoProto, rng: np.random.Generator) -> Array:
    tensor_type = value.type.tensor_type
    shape = tuple(dimension.dim_value for dimension in tensor_type.shape.dim)
    if 0 in shape:
        raise ValueError(f"input '{value.name}' has no static shape: {shape}")
    dtype = helper.tensor_dtype_to_np_dtype(tensor_type.elem_type)
    if tensor_type.elem_type in (TensorProto.INT32, TensorProto.INT64):
        return rng.integers(0, _rows_indexed_by(model, value.name), shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _rows_indexed_by(model: ModelProto, name: str) -> int:
    """Returns the height of the smallest weight that `name` gathers rows from."""
    heights = {
        tensor.name: tensor.dims[0] for tensor in model.graph.initializer if tensor.dims
    }
    tables = [
        heights[node.input[0]]
        for node in model.graph.node
        if node.op_type == "Gather"
        and node.input[1] == name
        and node.input[0] in heights
    ]
    return min(tables, default=2)
