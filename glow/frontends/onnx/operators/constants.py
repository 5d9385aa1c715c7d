"""Handlers of operators whose result is known at import, and of pass-throughs."""

from __future__ import annotations

from math import ceil
from typing import cast

import numpy as np

from glow.dialects.node import fail_unless
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.graph import BUDGET
from glow.frontends.onnx.inputs import check_shape
from glow.frontends.onnx.messages import AttributeProto
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.operators.dynamic_slices import dynamic_range
from glow.frontends.onnx.refusal import UnsupportedError, refuse_if
from glow.frontends.onnx.registry import onnx_op
from glow.frontends.onnx.tensors import dtype_of_onnx, to_array


@onnx_op("Constant")
def constant(node: OnnxNode) -> Value:
    """The value of whichever attribute is given."""
    refuse_if(len(node.proto.attribute) != 1, "without exactly one attribute")
    attribute = node.proto.attribute[0]
    match attribute.type:
        case AttributeProto.TENSOR:
            return to_array(attribute.t)
        case AttributeProto.FLOAT:
            return np.array(attribute.f, np.float32)
        case AttributeProto.FLOATS:
            return np.array(attribute.floats, np.float32)
        case AttributeProto.INT:
            return np.array(attribute.i, np.int64)
        case AttributeProto.INTS:
            return np.array(attribute.ints, np.int64)
        case _:
            raise UnsupportedError(attribute.name)


@onnx_op("ConstantOfShape")
def constant_of_shape(node: OnnxNode) -> Value:
    """A view of one number; the memory of the full tensor is never taken."""
    sizes = node.integers(0, "shape")
    check_shape(sizes)
    value = node.attr_tensor("value")
    number = np.zeros(1, np.float32) if value is None else to_array(value)
    return np.broadcast_to(number.reshape(()), sizes)


@onnx_op("Shape")
def shape_of_input(node: OnnxNode) -> Value:
    """The sizes from `start` to `end`."""
    sizes = node.shape(0)
    start, end = node.attr_int("start", 0), node.attr_int("end", len(sizes))
    return np.array(sizes[start:end], np.int64)


@onnx_op("Size")
def size_of_input(node: OnnxNode) -> Value:
    """The number of elements."""
    return np.array(np.prod(node.shape(0), dtype=np.int64))


@onnx_op("Range")
def range_(node: OnnxNode) -> Value:
    """The numbers from `start` on in steps of `delta`, before `limit`."""
    placed = dynamic_range(node)
    if placed is not None:
        return placed
    names = ("start", "limit", "delta")
    given = [node.array(index, name) for index, name in enumerate(names)]
    start, limit, delta = (array.item() for array in given)
    fail_unless(delta != 0, "delta is 0")
    span = (limit - start) / delta
    fail_unless(span <= BUDGET, f"a range of {span:.3g} numbers is too long")
    numbers = cast(Array, start + delta * np.arange(max(ceil(span), 0)))
    return numbers.astype(given[0].dtype)


@onnx_op("EyeLike")
def eye_like(node: OnnxNode) -> Value:
    """A matrix with ones on the diagonal `k`."""
    rows, columns = node.shape(0)
    refuse_if(rows * columns > BUDGET, f"size {rows}x{columns}")
    dtype = dtype_of(element_type(node.value(0)))
    if node.has_attribute("dtype"):
        dtype = dtype_of_onnx(node.attr_int("dtype", 0))
    return np.eye(rows, columns, node.attr_int("k", 0), dtype)


@onnx_op("Identity")
def identity(node: OnnxNode) -> Value:
    """The input itself."""
    return node.value(0)
