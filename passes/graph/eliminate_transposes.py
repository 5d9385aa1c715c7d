"""Sinks transposes towards the outputs until they cancel or somebody absorbs them.

Networks from channels-last frameworks wrap every convolution in transposes; attention
wraps every product. One sweep in program order moves each transpose below the
element-wise nodes, rescalings, tables and concatenations that read it; two in a row
become one, one that moves only axes of size 1 becomes a reshape, and matrix products read
transposed operands as they are (`transpose_lhs`, `transpose_rhs`).

    %1 = glow.transpose %x permutation [0, 3, 1, 2] : tensor<1x8x4x4xf32>
    %2 = glow.relu %1 : tensor<1x8x4x4xf32>
    %3 = glow.transpose %2 permutation [0, 2, 3, 1] : tensor<1x4x4x8xf32>
  becomes
    %3 = glow.relu %x : tensor<1x4x4x8xf32>
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import DataParallel, NodeOp, shape_of
from glow.dialects.weights import stored_value
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase_dead_nodes,
    like,
    name_of,
)
from glow.passes.rewriting.operations import all_operations

Permutation = tuple[int, ...]


def permutation_of(value: SSAValue) -> Permutation | None:
    """The permutation of the transpose that makes the value."""
    owner = value.owner
    if not isinstance(owner, glow.TransposeOp):
        return None
    return owner.attributes_view().ints("permutation")


def inverse(permutation: Sequence[int]) -> Permutation:
    """The permutation that undoes another one."""
    return tuple(int(axis) for axis in np.argsort(permutation))


def sinking_permutation(op: NodeOp) -> Permutation | None:
    """The transpose that all operands have, where untransposed ones are constants.

    Transposes with other readers stay where they are: sinking would double the work.
    """
    found: Permutation | None = None
    for value in op.inputs:
        permutation = permutation_of(value)
        if permutation is None:
            if stored_value(value) is None:
                return None
        elif found not in (None, permutation) or not value.has_one_use():
            return None
        else:
            found = permutation
    return found


def before_transpose(
    builder: NodeBuilder, value: SSAValue, permutation: Permutation
) -> SSAValue:
    """The operand as it is before the transpose sinks below its reader."""
    if permutation_of(value) is not None:
        assert isinstance(value.owner, Operation)
        return value.owner.operands[0]
    shape = shape_of(value)
    if all(size == 1 for size in shape):
        return builder.reshape(value, ())
    array = stored_value(value)
    assert array is not None
    full = array.reshape((1,) * (len(permutation) - len(shape)) + shape)
    moved = np.transpose(full, inverse(permutation))
    return builder.constant_like(value, moved, f"{name_of(value)}.transposed")


def sink_through_elementwise(op: NodeOp) -> None:
    """op(transpose(x), ...) into transpose(op(x, ...))."""
    permutation = sinking_permutation(op)
    if permutation is None or len(op.results) != 1 or op.regions:
        return
    rank = len(permutation)
    if any(len(shape_of(value)) > rank for value in op.inputs):
        return
    builder = NodeBuilder(op)
    operands = [before_transpose(builder, value, permutation) for value in op.inputs]
    shape = [shape_of(op.results[0])[axis] for axis in inverse(permutation)]
    types = [like(op.results[0], shape)]
    result = builder.create(type(op), operands, attributes_of(op), types=types)
    builder.replace(builder.transpose(result, permutation))


def sink_through_lookup(op: NodeOp) -> None:
    """table[transpose(x)] into transpose(table[x])."""
    assert isinstance(op, glow.LookupTableOp)
    permutation = permutation_of(op.input)
    if permutation is None or not op.input.has_one_use():
        return
    builder = NodeBuilder(op)
    source = before_transpose(builder, op.input, permutation)
    types = [like(op.result, shape_of(source))]
    looked_up = builder.create(type(op), [source, op.table], {}, types=types)
    builder.replace(builder.transpose(looked_up, permutation))


def sink_through_concat(op: NodeOp) -> None:
    """concat(transpose(x), transpose(y)) into transpose(concat(x, y))."""
    permutation = sinking_permutation(op)
    if permutation is None or any(permutation_of(v) is None for v in op.inputs):
        return
    builder = NodeBuilder(op)
    pieces = [before_transpose(builder, value, permutation) for value in op.inputs]
    axis = permutation[op.attributes_view().int("axis")]
    result = builder.node(glow.ConcatOp, *pieces, axis=axis)
    builder.replace(builder.transpose(result, permutation))


def merge(op: NodeOp) -> None:
    """Merge a transpose with the one before it, or make it a reshape."""
    permutation = op.attributes_view().ints("permutation")
    source, builder = op.operands[0], NodeBuilder(op)
    first = permutation_of(source)
    if first is not None:
        assert isinstance(source.owner, Operation)
        source = source.owner.operands[0]
        permutation = tuple(first[axis] for axis in permutation)
    shape = shape_of(source)
    moved = [axis for axis in permutation if shape[axis] != 1]
    if moved == sorted(moved):
        builder.replace(builder.reshape(source, shape_of(op.results[0])))
    elif first is not None:
        builder.replace(builder.transpose(source, permutation))


def _swapped(permutation: Permutation) -> Permutation:
    return (*permutation[:-2], permutation[-1], permutation[-2])


def absorb_into_matmul(op: NodeOp) -> None:
    """Let a product read the last two axes of its operands swapped.

    That removes a transpose that swaps only these; one that also moves other axes
    becomes one that leaves the innermost axis in place, which copies whole rows.
    """
    attributes = attributes_of(op)
    operands = list(op.operands[:2])
    builder = NodeBuilder(op)
    for index, flag in enumerate(("transpose_lhs", "transpose_rhs")):
        permutation = permutation_of(operands[index])
        last = len(shape_of(operands[index])) - 1
        if permutation is None or permutation[-2] != last:
            continue
        owner = operands[index].owner
        assert isinstance(owner, Operation)
        operands[index] = builder.transpose(owner.operands[0], _swapped(permutation))
        attributes[flag] = flag not in attributes
    if operands != list(op.operands[:2]):
        builder.replace(builder.substitute(glow.MatmulOp, operands, attributes))


def rewrite(op: NodeOp) -> None:
    """Rewrite one node, whose operands are already as good as they get."""
    if isinstance(op, glow.TransposeOp):
        merge(op)
    elif isinstance(op, glow.MatmulOp):
        absorb_into_matmul(op)
    elif isinstance(op, glow.ConcatOp):
        sink_through_concat(op)
    elif isinstance(op, glow.LookupTableOp):
        sink_through_lookup(op)
    elif op.has_trait(DataParallel) or isinstance(op, glow.RescaleOp):
        sink_through_elementwise(op)


class EliminateTransposesPass(GraphPass):
    """Sink, merge and absorb transposes."""

    name = "eliminate-transposes"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for child in all_operations(op):
            if isinstance(child, NodeOp) and child.parent is not None:
                rewrite(child)
        erase_dead_nodes(op)
