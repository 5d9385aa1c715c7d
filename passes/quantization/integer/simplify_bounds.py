"""Bounds that the range of an integer implies are dropped, and rescaling sinks.

After Glow's OptimizeQuantization:

- `relu` and `clip` whose result cannot differ are nothing; an absorbed `relu` likewise.
- Others are the saturation of the node before them, where that is rounded anyway and what
  reads the result takes any range.
- `max` or `min` with a constant beyond all stored values is nothing.
- `rescale` of a `max` or `min` is that of the rescaled operands, which then folds up.
- `rescale` before a node that only moves elements comes after it instead, where it may
  fold into what follows.

    %1 = glow.max %x, %lowest : tensor<4x!a>       is %x
    %1 = glow.add %x, %y : tensor<4x!quant.uniform<u8:f32, 0.05>>
    %2 = glow.clip %1 low 0.0 high 6.0             is glow.add to u8<0:120>:f32, 0.05
    %1 = glow.rescale %x; %2 = glow.reshape %1     is glow.rescale of the reshaped %x
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from glow.dialects import glow
from glow.dialects.glow.integer_forms import ARITHMETIC, PRODUCTS
from glow.dialects.node import NodeOp
from glow.dialects.quant import DequantizeCastOp, Quantization
from glow.dialects.quantized import quantized_type
from glow.dialects.weights import stored_value
from glow.interpreter.integer_arithmetic import dequantize, quantize
from glow.passes.quantization.casts import element, lowest_is_zero, tensor_of
from glow.passes.quantization.integer.fold_rescale import UP, is_plain_rescale
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase,
    erase_dead_nodes,
)
from glow.passes.rewriting.operations import all_operations

MOVED: tuple[type[NodeOp], ...] = (
    glow.ReshapeOp, glow.TransposeOp, glow.SliceOp, glow.MaxPool2dOp,
)  # fmt: skip


READERS = (
    *PRODUCTS, *ARITHMETIC, glow.RescaleOp, glow.LookupTableOp, DequantizeCastOp,
)  # fmt: skip
"""What takes an operand of any scale and range."""


def numbers_of(data: Quantization) -> tuple[float, float]:
    """The smallest and largest number that can be stored (per tensor)."""
    low, high = dequantize(np.array(data.limits), data)
    return float(low), float(high)


def drop_bounds(op: Operation) -> bool:
    """`relu` and `clip` beyond what is stored."""
    assert isinstance(op, NodeOp)
    data = element(op.operands[0])
    if (
        data is None
        or data.axis is not None
        or op.operands[0].type != op.results[0].type
    ):
        return False
    if stored_bounds(op, data) != data.limits:
        return False
    NodeBuilder(op).replace(op.operands[0])
    return True


def stored_bounds(op: NodeOp, data: Quantization) -> tuple[int, int]:
    """The smallest and the largest stored value that `relu` or `clip` leaves."""
    numbers = (0.0, float("inf"))
    if isinstance(op, glow.ClipOp):
        attributes = op.attributes_view()
        numbers = (attributes.float("low"), attributes.float("high"))
    low, high = quantize(np.array(numbers, np.float32), data)
    return int(low), int(high)


def narrow_producer(op: Operation) -> bool:
    """Let the node before a bound saturate at it."""
    assert isinstance(op, NodeOp)
    value, result, data = op.operands[0], op.results[0], element(op.operands[0])
    if data is None or value.type != result.type or not value.has_one_use():
        return False
    if not isinstance(value.owner, UP) or not all(map(takes_any_range, result.uses)):
        return False
    low, high = stored_bounds(op, data)
    if not (low <= data.zero_points[0] <= high and low < high):
        return False
    narrow = quantized_type(tensor_of(value), replace(data, storage_range=(low, high)))
    value.name_hint = result.name_hint or value.name_hint
    result.replace_all_uses_with(Rewriter.replace_value_with_new_type(value, narrow))
    erase(op)
    return True


def takes_any_range(use: Use) -> bool:
    """Whether an operation reads numbers, not a type that it shares with others."""
    return isinstance(use.operation, READERS)


def drop_or_narrow(op: Operation) -> bool:
    """Either of the two."""
    return drop_bounds(op) or narrow_producer(op)


def drop_absorbed_relu(op: Operation) -> bool:
    """An absorbed `relu` whose result cannot be negative anyway."""
    assert isinstance(op, NodeOp)
    data = element(op.results[0])
    attributes = op.attributes_view()
    if data is None or "activation" not in op.property_names():
        return False
    absorbed = attributes.has("activation") and attributes.string("activation")
    if absorbed != "relu" or not lowest_is_zero(data):
        return False
    del op.properties["activation"]
    return True


def drop_constant_bound(op: Operation) -> bool:
    """`max` and `min` with a constant beyond all numbers of the other operand."""
    for value, bound in (op.operands[:2], op.operands[1::-1]):
        array, data = stored_value(bound), element(value)
        of_bound = element(bound)
        if array is None or data is None or of_bound is None:
            continue
        same = value.type == op.results[0].type and data.axis is None
        numbers = dequantize(array, of_bound)
        low, high = numbers_of(data)
        is_max = isinstance(op, glow.MaxOp)
        beyond = numbers.max() <= low if is_max else numbers.min() >= high
        if same and beyond:
            NodeBuilder(op).replace(value)
            return True
    return False


def split_rescale(op: Operation) -> bool:
    """`rescale(max(a, b))` is `max(rescale(a), rescale(b))`."""
    if not is_plain_rescale(op):
        return False
    node, value = op.operands[0].owner, op.operands[0]
    target = element(op.results[0])
    if not isinstance(node, glow.MaxOp | glow.MinOp) or not value.has_one_use():
        return False
    assert target is not None
    builder = NodeBuilder(op)
    parts = [_rescaled(builder, part, target) for part in node.inputs]
    result = builder.create(type(node), parts, {}, types=[tensor_of(op.results[0])])
    builder.replace(result)
    return True


def _rescaled(builder: NodeBuilder, value: SSAValue, data: Quantization) -> SSAValue:
    target = quantized_type(tensor_of(value), data)
    return builder.create(glow.RescaleOp, [value], {}, types=[target])


def sink_rescale(op: Operation) -> bool:
    """Move elements first, then rescale them."""
    assert isinstance(op, NodeOp)
    rescale = op.operands[0].owner
    if not isinstance(rescale, glow.RescaleOp) or not is_plain_rescale(rescale):
        return False
    source, target = element(rescale.input), element(op.results[0])
    if source is None or target is None or not rescale.result.has_one_use():
        return False
    builder = NodeBuilder(op)
    moved = builder.create(
        type(op),
        [rescale.input],
        attributes_of(op),
        types=[quantized_type(tensor_of(op.results[0]), source)],
    )
    builder.replace(_rescaled(builder, moved, target))
    return True


Rewrite = Callable[[Operation], bool]

RULES: dict[type[Operation], Rewrite] = {
    glow.ReluOp: drop_or_narrow,
    glow.ClipOp: drop_or_narrow,
    glow.MaxOp: drop_constant_bound,
    glow.MinOp: drop_constant_bound,
    glow.RescaleOp: split_rescale,
    **dict.fromkeys(MOVED, sink_rescale),
    **dict.fromkeys(PRODUCTS, drop_absorbed_relu),
}


def simplify_bounds(module: ModuleOp) -> None:
    """Apply the rules in program order until none does."""
    changed = True
    while changed:
        changed = False
        for op in all_operations(module):
            rule = RULES.get(type(op))
            if rule is not None and op.parent is not None:
                changed |= rule(op)
        erase_dead_nodes(module)


class SimplifyBoundsPass(ModulePass):
    """Drop bounds that ranges imply; sink rescaling below movement."""

    name = "simplify-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        simplify_bounds(op)
