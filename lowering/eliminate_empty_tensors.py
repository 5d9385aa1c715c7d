"""No work on tensors without elements, so that kernels never see one as their source.

A node whose results have no element becomes splats; so does one that folds no elements,
of the number that the fold starts with. Empty pieces of a concatenation vanish.

    %0 = glow.reduce_sum %x axes [1] : tensor<2xf32>      // %x : tensor<2x0xf32>
  becomes
    %0 = glow.splat 0.0 : tensor<2xf32>

Of quantized elements it is the stored number that is filled in.
"""

from __future__ import annotations

from math import inf, isnan, nan, prod
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import Quantization, UniformQuantizedType, storage_cast
from glow.dialects.quantized import is_quantized, parameters_of, stored_type
from glow.dialects.weights import dtype_of
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.passes.rewriting.operations import all_operations


def is_empty(value: SSAValue) -> bool:
    """Whether a value is a tensor without elements."""
    return isinstance(value.type, TensorType) and prod(shape_of(value)) == 0


def extremes(element: Attribute) -> tuple[float, float]:
    """The least and the greatest number of an element type."""
    if isinstance(element, UniformQuantizedType):
        return -inf, inf
    dtype = dtype_of(element)
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind in "iu":
        limits = np.iinfo(str(dtype))
        return int(limits.min), int(limits.max)
    return -inf, inf


def fold_of_nothing(op: NodeOp) -> float | None:
    """The number that a node's results have when its input is empty; None of others."""
    low, high = extremes(element_type(op.results[0]))
    numbers: dict[type[NodeOp], float] = {
        glow.ReduceSumOp: 0,
        glow.ReduceMeanOp: nan if high == inf else 0,
        glow.ReduceProdOp: 1,
        glow.ReduceMaxOp: low,
        glow.ReduceMinOp: high,
        glow.MatmulOp: 0,
        glow.SampleOp: 0,
    }
    if isinstance(op, glow.PadOp):
        return padding(op.attributes_view())
    return numbers.get(type(op))


def padding(attributes: Attributes) -> float | None:
    """What pads an empty tensor; the other modes have nothing to repeat."""
    is_constant = attributes.string("mode") == "constant"
    return attributes.float("value") if is_constant else None


def eliminate_empty(op: NodeOp) -> None:
    """Replace a node that has nothing to compute."""
    if all(is_empty(result) for result in op.results):
        _splat(op, 0)
        return
    if not any(is_empty(value) for value in op.inputs):
        return
    if isinstance(op, glow.ConcatOp):
        pieces = [value for value in op.inputs if not is_empty(value)]
        builder, axis = NodeBuilder(op), op.attributes_view().int("axis")
        builder.replace(builder.node(glow.ConcatOp, *pieces, axis=axis))
        return
    number = fold_of_nothing(op)
    if number is not None:
        _splat(op, number)


def _splat(op: NodeOp, number: float) -> None:
    """Replace all results by one number."""
    builder = NodeBuilder(op)
    builder.replace(*(_filled(builder, number, one.type) for one in op.results))


def _filled(builder: NodeBuilder, number: float, result: Attribute) -> SSAValue:
    result = cast(TensorType[Attribute], result)
    if not is_quantized(result):
        return builder.insert(glow.SplatOp.from_number(number, result)).results[0]
    integer = stored_number(number, parameters_of(result))
    splat = glow.SplatOp.from_number(integer, stored_type(result))
    filled = builder.insert(splat).results[0]
    return builder.insert(storage_cast(filled, result)).results[0]


def stored_number(number: float, data: Quantization) -> int:
    """What is stored for a number, the least for NaN; an axis has the scale of its first index."""
    low, high = data.limits
    if isnan(number):
        return low
    steps = round(number / data.scales[0]) + data.zero_points[0]
    return min(max(steps, low), high)


class EliminateEmptyTensorsPass(ModulePass):
    """Remove the nodes that read or make tensors without elements."""

    name = "eliminate-empty-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for child in all_operations(op):
            is_number = isinstance(child, glow.SplatOp | glow.ConstantOp)
            if isinstance(child, NodeOp) and child.results and not is_number:
                eliminate_empty(child)
