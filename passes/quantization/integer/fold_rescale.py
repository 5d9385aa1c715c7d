"""Rescaling disappears into the nodes around it (Glow's OptimizeQuantization).

Up: a node with one reader gives its result at the reader's scale at once. Down: products,
sums, pools and bounds take operands of any scale. Each fold removes a rounding, so results
change by a step; networks that come quantized are left as they are (`quantize` skips this
pass).

    %1 = glow.conv2d %x, %w : tensor<1x2x8x8x!a>
    %2 = glow.rescale %1 : tensor<1x2x8x8x!b>
  becomes
    %2 = glow.conv2d %x, %w : tensor<1x2x8x8x!b>
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.glow.integer_forms import ARITHMETIC, PRODUCTS
from glow.dialects.node import NodeOp
from glow.dialects.quant import DequantizeCastOp, QuantizeCastOp
from glow.dialects.weights import stored_value
from glow.interpreter import evaluate_node
from glow.interpreter.integer_arithmetic import dequantize
from glow.passes.quantization.casts import (
    dequantize_value,
    element,
    quantize_value,
    tensor_of,
)
from glow.passes.quantization.constants import accumulator_bias
from glow.passes.quantization.integer.fold_casts import erase_dead_casts
from glow.passes.rewriting.contract import MEANING
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase,
    name_of,
)
from glow.passes.rewriting.operations import all_operations

UP = (*PRODUCTS, *ARITHMETIC, glow.RescaleOp, QuantizeCastOp)
DOWN = ARITHMETIC
"""Nodes whose operands may have any scale."""


def is_plain_rescale(op: Operation | object) -> bool:
    """Whether an operation rescales without multiplier."""
    return isinstance(op, glow.RescaleOp) and op.multiplier is None


def fold_up(op: Operation) -> bool:
    """Let the producer give the rescaled result, if nothing else reads it."""
    producer = op.operands[0].owner
    if not isinstance(producer, UP) or not op.operands[0].has_one_use():
        return False
    builder = NodeBuilder(op)
    if isinstance(producer, QuantizeCastOp):
        data = element(op.results[0])
        assert data is not None
        result = quantize_value(builder, producer.input, data)
    else:
        assert isinstance(producer, NodeOp)
        result = builder.create(
            type(producer),
            list(producer.inputs),
            attributes_of(producer),
            types=[tensor_of(op.results[0])],
        )
        created = result.owner
        assert isinstance(created, Operation)
        created.location = producer.location
    builder.replace(result)
    erase(producer)
    return True


def fold_into_reader(op: Operation) -> bool:
    """Let sums and pools read the value at its own scale."""
    changed = False
    for index, value in enumerate(op.operands):
        owner = value.owner
        if isinstance(owner, glow.RescaleOp) and is_plain_rescale(owner):
            op.operands[index] = owner.input
            changed = True
    return changed


def fold_into_dequantize(op: Operation) -> bool:
    """`dcast(rescale(x))` is `dcast(x)`."""
    owner = op.operands[0].owner
    if not isinstance(owner, glow.RescaleOp) or not is_plain_rescale(owner):
        return False
    builder = NodeBuilder(op)
    builder.replace(dequantize_value(builder, owner.input))
    return True


def fold_constant(op: Operation) -> bool:
    """A rescaled constant is a constant."""
    assert isinstance(op, NodeOp)
    stored, data = stored_value(op.operands[0]), element(op.results[0])
    if stored is None or data is None:
        return False
    builder = NodeBuilder(op)
    (rescaled,) = evaluate_node(op, [stored])
    builder.replace(builder.quantized_constant(rescaled, data, name_of(op.operands[0])))
    return True


def fold_dequantized_constant(op: Operation) -> bool:
    """A constant that nothing reads as integers is one of floats."""
    stored, data = stored_value(op.operands[0]), element(op.operands[0])
    if stored is None or data is None:
        return False
    builder = NodeBuilder(op)
    floats = dequantize(stored, data)
    builder.replace(builder.constant(floats, name_of(op.operands[0])))
    return True


def fold_into_product(op: Operation) -> bool:
    """Let a product read its left operand at that one's own scale; the bias follows."""
    assert isinstance(op, NodeOp)
    rescale = op.inputs[0].owner
    if not isinstance(rescale, glow.RescaleOp) or not is_plain_rescale(rescale):
        return False
    source, weights = element(rescale.input), element(op.inputs[1])
    if source is None or weights is None or source.axis is not None:
        return False
    if len(op.inputs) > 2:
        bias = dequantize_value(NodeBuilder(op), op.inputs[2])
        stored = accumulator_bias(NodeBuilder(op), bias, source, weights)
        if stored is None:
            return False
        op.operands[2] = stored
    op.operands[0] = rescale.input
    return True


def fold_same_type(op: Operation) -> bool:
    """Rescaling to the same type is nothing."""
    if op.operands[0].type != op.results[0].type:
        return False
    NodeBuilder(op).replace(op.operands[0])
    return True


def fold(op: Operation) -> bool:
    """Fold one operation."""
    if isinstance(op, DequantizeCastOp):
        return fold_into_dequantize(op) or fold_dequantized_constant(op)
    if isinstance(op, tuple(PRODUCTS)):
        return fold_into_product(op)
    if isinstance(op, DOWN):
        return fold_into_reader(op)
    if is_plain_rescale(op):
        return fold_same_type(op) or fold_constant(op) or fold_up(op)
    return False


def fold_rescale(module: ModuleOp) -> None:
    """Fold until nothing folds."""
    changed = True
    while changed:
        changed = False
        for op in all_operations(module):
            if op.parent is not None:
                changed |= fold(op)
        erase_dead_casts(module)


class FoldRescalePass(ModulePass):
    """Fold rescaling into producers and readers."""

    name = "fold-rescale"
    preserves = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        fold_rescale(op)
