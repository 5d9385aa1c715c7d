"""Recurrent layers with constant weights: `cpu.recurrence`, one for each direction.

  %y, %h, %c = glow.lstm %x, %w, %r, %b, %h0, %c0 : ...
becomes
  %p = cpu.matmul %x2, %w.packed, %b : tensor<100x2048xf32>
  %s, %c = cpu.recurrence %p3, %r.packed, %h1, %c1 gates 4 {
    ... the cell on one unit ...
  } : tensor<100x1x512xf32>, tensor<1x512xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config_attributes import config_attributes
from glow.backends.cpu.layout.layout import Layout, constant_key
from glow.backends.cpu.layout.products import fully_connected
from glow.backends.cpu.legality import is_fused_recurrence
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.lowering.lower_nodes.cells import cell_of
from glow.lowering.lower_nodes.recurrent import (
    Direction,
    biases,
    by_direction,
    drop_first,
    layer_of_inputs,
    part,
)
from glow.passes.rewriting.node_builder import NodeBuilder, name_of
from glow.passes.rewriting.scalar_builder import ScalarBuilder


class _Scalars:
    """The gates of one unit as scalars of a region."""

    def __init__(
        self, block: Block, sums: Sequence[SSAValue], inputs: Sequence[SSAValue]
    ) -> None:
        self.builder = ScalarBuilder(block)
        self.sums = sums
        self.inputs = inputs

    def total(self, gate: int) -> SSAValue:
        """What the inputs and the hidden state give together."""
        return self.apply(glow.AddOp, self.sums[gate], self.inputs[gate])

    def entering(self, gate: int) -> SSAValue:
        """What the inputs give."""
        return self.inputs[gate]

    def recurrent(self, gate: int) -> SSAValue:
        """What the hidden state gives."""
        return self.sums[gate]

    def apply(self, node: type[NodeOp], *operands: SSAValue) -> SSAValue:
        """A node's scalar operations."""
        return self.builder.apply(node, *operands)


def _cell(op: glow.RecurrentOp, biases: int) -> Region:
    """The region of `cpu.recurrence`: the layer's cell on one unit."""
    cell, gates, states = cell_of(op), op.GATES, op.STATES
    assert cell is not None
    element: Attribute = f32
    block = Block(arg_types=[element] * (2 * gates + states + biases))
    scalars = _Scalars(block, block.args[:gates], block.args[gates : 2 * gates])
    rest = block.args[2 * gates :]
    scalars.builder.yield_(*cell(scalars, rest[:states], rest[states:]))
    return Region(block)


def _weights(
    layout: Layout, op: glow.RecurrentOp, direction: Direction, rows: int
) -> tuple[SSAValue, dict[str, Attribute]]:
    """The packed recurrence of a direction, and the attributes of a step configured for it."""
    array = constant_value(op.recurrence)
    assert array is not None
    matrix = array[direction.index].T
    key = ("recurrence", constant_key(op.recurrence), direction.index, rows)
    name = f"{name_of(op.recurrence)}.{direction.index}.packed"
    packer = layout.packer
    config = packer.recurrence_config(matrix, rows, op.GATES)
    packed = layout.constant(
        op, key, name, lambda: packer.recurrence(matrix, rows, op.GATES, config)
    )
    return packed, config_attributes(config, layout.lanes)


def _direction(
    layout: Layout, builder: NodeBuilder, op: glow.RecurrentOp, direction: Direction
) -> Sequence[SSAValue]:
    """The sequence [S, B, H] and the last states [B, H] of one direction."""
    steps, batch, _ = shape_of(op.input)
    bias, later = biases(builder, op, direction.index)
    product = layer_of_inputs(builder, op, direction.index, bias)
    columns = shape_of(product.result)[1]
    entering = builder.reshape(product.result, (steps, batch, columns))
    states = [drop_first(builder, value, direction.index) for value in op.initial]
    weights, configured = _weights(layout, op, direction, batch)
    sequence = builder.create(
        cpu.RecurrenceOp,
        [entering, weights, *states, *later],
        {"gates": op.GATES, "reverse": direction.reverse, **configured},
        regions=[_cell(op, len(later))],
    )
    fully_connected(layout, product)
    last = part(builder, sequence, 0, 0 if direction.reverse else steps - 1, 1)
    hidden = builder.reshape(last, shape_of(states[0]))
    recurrence = sequence.owner
    assert isinstance(recurrence, cpu.RecurrenceOp)
    return [sequence, hidden, *recurrence.last]


def recurrent(layout: Layout, op: Operation) -> None:
    """Replace a layer by its directions' recurrences, where a step is one product."""
    assert isinstance(op, glow.RecurrentOp)
    if is_fused_recurrence(op):
        by_direction(op, partial(_direction, layout))
