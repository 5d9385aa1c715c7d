"""Bounds that the range of an integer implies are dropped, and rescaling sinks.

After Glow's OptimizeQuantization:

- `relu` and `clip` whose result cannot differ are nothing; an absorbed `relu` likewise.
- `max` or `min` with a constant beyond all stored values is nothing.
- `rescale` of a `max` or `min` is that of the rescaled operands, which then folds up.
- `rescale` before a node that only moves elements comes after it instead, where it may
  fold into what follows.

    %1 = glow.max %x, %lowest : tensor<4x!a>       is %x
    %1 = glow.rescale %x; %2 = glow.reshape %1     is glow.rescale of the reshaped %x
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization
from glow.dialects.quantized import quantized_type
from glow.dialects.weights import stored_value
from glow.interpreter.integer_arithmetic import dequantize
from glow.passes.graph.node_builder import (
    NodeBuilder,
    attributes_of,
    erase_dead_nodes,
)
from glow.passes.quantization.casts import element, lowest_is_zero, tensor_of
from glow.passes.quantization.fold_rescale import is_plain_rescale

MOVED: tuple[type[NodeOp], ...] = (
    glow.ReshapeOp, glow.TransposeOp, glow.SliceOp, glow.MaxPool2dOp,
)  # fmt: skip


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
    low, high = numbers_of(data)
    if isinstance(op, glow.ReluOp):
        bounds = (0.0, float("inf"))
    else:
        attributes = op.attributes_view()
        bounds = (attributes.float("low"), attributes.float("high"))
    if bounds[0] > low or bounds[1] < high:
        return False
    NodeBuilder(op).replace(op.operands[0])
    return True


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
    glow.ReluOp: drop_bounds,
    glow.ClipOp: drop_bounds,
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
        for op in list(module.walk()):
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
