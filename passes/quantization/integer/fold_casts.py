"""Casts cancel, or move to where they cost least; every rewrite is exact.

`qcast` moves up through nodes that only move, choose or bound elements, and `dcast`
down, so that those nodes work on small integers and products meet their casts:

    %1 = quant.dcast %0 : tensor<4x!a> to tensor<4xf32>
    %2 = quant.qcast %1 : tensor<4xf32> to tensor<4x!a>     is %0, or glow.rescale %0
    %3 = glow.relu %x; %4 = quant.qcast %3                  is glow.relu of the cast %x
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import takewhile

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.glow.integer_forms import MOVEMENT
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import DequantizeCastOp, Quantization, QuantizeCastOp
from glow.dialects.quantized import quantized_type
from glow.dialects.weights import constant_value, stored_value
from glow.interpreter.integer_arithmetic import quantize
from glow.passes.quantization.casts import (
    common_target,
    dequantize_value,
    dequantized,
    element,
    lowest_is_zero,
    quantize_value,
    replace_casts,
    tensor_of,
)
from glow.passes.quantization.constants import constant_floats, has_floats
from glow.passes.quantization.profiling.instrument_profile import is_float_tensor
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase,
    erase_dead_nodes,
    name_of,
)
from glow.passes.rewriting.operations import all_operations

BOUNDED = (glow.ReluOp, glow.ClipOp)
RAISED = (*MOVEMENT, *BOUNDED)
SUNK = (*MOVEMENT, glow.ReluOp)
PARTIAL = (glow.SliceOp, glow.GatherOp)
"""Nodes that may read a part of their operand, of which then no more shall be cast."""
MAX_SPLAT = 1 << 24
"""The most elements of a splat that becomes a quantized constant."""
MAX_SWEEPS = 64


def cancel(op: Operation) -> bool:
    """`qcast(dcast(x))` is x, or x under another scale; a constant is `fold_constant`'s."""
    assert isinstance(op, QuantizeCastOp)
    source, target = dequantized(op.input), element(op.result)
    if source is None or target is None:
        return False
    data = element(source)
    if data != target:
        if data is None or data.axis is not None or target.axis is not None:
            return False
        if has_floats(op.input):
            return False
        builder = NodeBuilder(op)
        source = builder.create(
            glow.RescaleOp, [source], {}, types=[tensor_of(op.result)]
        )
        source.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(source)
    erase(op)
    return True


def fold_constant(op: Operation) -> bool:
    """A cast constant is a quantized constant, as is one that was quantized in another way."""
    assert isinstance(op, QuantizeCastOp)
    array, target = constant_floats(op.input), element(op.result)
    if array is None or target is None:
        return False
    if isinstance(op.input.owner, glow.SplatOp) and array.size > MAX_SPLAT:
        return (
            False  # One number takes no memory; so many stored ones may take too much.
        )
    builder = NodeBuilder(op)
    name = f"{name_of(op.input)}.quantized"
    builder.replace(builder.quantized_constant(quantize(array, target), target, name))
    return True


def raise_cast(op: Operation) -> bool:
    """`qcast(move(x))` is `move(qcast(x))`, where nothing else reads the float value."""
    assert isinstance(op, QuantizeCastOp)
    node, target = op.input.owner, element(op.result)
    if not isinstance(node, RAISED) or target is None or target.axis is not None:
        return False
    if common_target(op.input) != target:
        return False
    if isinstance(node, PARTIAL) and not _is_read_as(node.inputs[0], target):
        return False
    builder = NodeBuilder(node)
    operands = [
        quantize_value(builder, value, target) if is_float_tensor(value) else value
        for value in node.inputs
    ]
    if isinstance(node, glow.ReluOp) and lowest_is_zero(target):
        result = operands[0]
    else:
        result = _rebuilt(builder, node, operands, target)
    result.name_hint = op.input.name_hint
    replace_casts(op.input, result)
    erase(node)
    return True


def _is_read_as(value: SSAValue, target: Quantization) -> bool:
    """Whether one cast of a value serves all its readers, as a constant's does by itself.

    A recurrence over a sequence reads each step with a scale of its own: as many casts of the
    whole sequence would take as often the time as there are steps.
    """
    return constant_value(value) is not None or all(
        element(use.operation.results[0]) == target
        if isinstance(use.operation, QuantizeCastOp)
        else isinstance(use.operation, PARTIAL)
        and common_target(use.operation.results[0]) == target
        for use in value.uses
    )


def _rebuilt(
    builder: NodeBuilder, node: NodeOp, operands: list[SSAValue], data: Quantization
) -> SSAValue:
    result_type = quantized_type(tensor_of(node.results[0]), data)
    return builder.create(
        type(node), operands, attributes_of(node), types=[result_type]
    )


def sink_cast(op: Operation) -> bool:
    """`move(dcast(x))` is `dcast(move(x))`."""
    assert isinstance(op, NodeOp)
    floats = [value for value in op.inputs if is_float_tensor(value)]
    sources = {value: dequantized(value) for value in floats}
    types = {element(source) if source else None for source in sources.values()}
    data = next(iter(types), None)
    if len(types) != 1 or data is None:
        return False
    if isinstance(op, glow.TransposeOp | glow.ReshapeOp) and _sink_constant(op):
        return True
    if data.axis is not None:
        return False
    builder = NodeBuilder(op)
    operands = [sources.get(value) or value for value in op.inputs]
    moved = _rebuilt(builder, op, operands, data)
    builder.replace(dequantize_value(builder, moved))
    return True


def _sink_constant(op: glow.TransposeOp | glow.ReshapeOp) -> bool:
    """Move constant weights, with the axis along which they are quantized."""
    source = dequantized(op.inputs[0])
    array = None if source is None else stored_value(source)
    if source is None or array is None:
        return False
    data = element(source)
    assert data is not None
    axes = _moved_axes(op)
    axis = None if data.axis is None else axes.get(data.axis)
    if data.axis is not None and axis is None:
        return False
    builder, shape = NodeBuilder(op), shape_of(op.result)
    name = f"{name_of(source)}.moved"
    if isinstance(op, glow.TransposeOp):
        array = array.transpose(op.attributes_view().ints("permutation"))
    moved = replace(data, axis=axis)
    constant = builder.quantized_constant(array.reshape(shape), moved, name)
    builder.replace(dequantize_value(builder, constant))
    return True


def _moved_axes(op: glow.TransposeOp | glow.ReshapeOp) -> dict[int, int]:
    """Where axes of the operand are in the result: of a reshape, the first ones that stay."""
    if isinstance(op, glow.TransposeOp):
        permutation = op.attributes_view().ints("permutation")
        return {axis: place for place, axis in enumerate(permutation)}
    pairs = zip(shape_of(op.input), shape_of(op.result), strict=False)
    same = takewhile(lambda pair: pair[0] == pair[1], pairs)
    return {axis: axis for axis, _ in enumerate(same)}


Rewrite = Callable[[Operation], bool]

CAST_REWRITES: tuple[Rewrite, ...] = (cancel, fold_constant, raise_cast)


@cache
def _rewrites(kind: type[Operation]) -> tuple[Rewrite, ...]:
    if issubclass(kind, QuantizeCastOp):
        return CAST_REWRITES
    return (sink_cast,) if issubclass(kind, SUNK) else ()


def fold_casts(module: ModuleOp) -> None:
    """Fold and move casts until none can."""
    for _ in range(MAX_SWEEPS):
        changed = False
        for op in all_operations(module):
            for rewrite in _rewrites(type(op)):
                if op.parent is not None and rewrite(op):
                    changed = True
                    break
        erase_dead_casts(module)
        if not changed:
            return


def erase_dead_casts(module: ModuleOp) -> None:
    """Erase casts and nodes that nothing uses."""
    for op in reversed(all_operations(module)):
        if isinstance(op, DequantizeCastOp | QuantizeCastOp) and not op.result.uses:
            erase(op)
    erase_dead_nodes(module)


class FoldCastsPass(ModulePass):
    """Cancel casts between float and quantized elements, or move them."""

    name = "fold-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        fold_casts(op)
