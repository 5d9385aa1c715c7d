"""Handlers of conversions between element types, those of storage included.

A conversion that saturates is `clip, convert`: the node itself gives infinities or NaN where a
number is out of range.
"""

from __future__ import annotations

from math import isfinite

import numpy as np
from xdsl.dialects.builtin import ReducedPrecisionFloatType, f8E8M0FNU, f32
from xdsl.ir import Attribute

from glow.dialects.glow import ClipOp, ConvertOp
from glow.dialects.node import tensor_type
from glow.dialects.small_types import is_small_float
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.registry import onnx_op
from glow.frontends.onnx.tensors import element_type_of_onnx
from glow.interpreter.array_functions import convert


def limits(element: ReducedPrecisionFloatType) -> tuple[float, float]:
    """The least and the largest finite number of a small float; a power of two is positive."""
    numbers = map(element.decode_bits, range(1 << element.bitwidth))
    largest = max(filter(isfinite, numbers))
    return (1 / largest if element == f8E8M0FNU else -largest), largest


def cast_to(
    node: OnnxNode, value: Operand, target: Attribute, *, saturate: bool, mode: str
) -> Operand:
    """The value in another type, by ONNX's tables for small floats (Cast-25)."""
    if not is_small_float(target) or element_type(value) == target:
        return node.convert(value, target)
    value = node.convert(value, f32)
    low, high = limits(target)
    mode = mode if target == f8E8M0FNU else "nearest"
    if isinstance(value, Constant):
        array = np.clip(value.array, low, high) if saturate else value.array
        with np.errstate(all="ignore"):
            return Constant(convert(array, dtype_of(target), mode), value.name)
    if saturate:
        value = node.emit(ClipOp, value, low=low, high=high)
    result = tensor_type(shape(value), target)
    return node.emit(ConvertOp, value, types=[result], round_mode=mode)


def _cast(node: OnnxNode, target: Attribute) -> Value:
    return cast_to(
        node,
        node.value(0),
        target,
        saturate=bool(node.attr_int("saturate", 1)),
        mode=node.attr_string("round_mode", "up"),
    )


@onnx_op("Cast")
def cast(node: OnnxNode) -> Value:
    """A conversion to the attribute's type."""
    return _cast(node, element_type_of_onnx(node.attr_int("to", 0)))


@onnx_op("CastLike")
def cast_like(node: OnnxNode) -> Value:
    """A conversion to the second operand's type."""
    return _cast(node, element_type(node.value(1)))
