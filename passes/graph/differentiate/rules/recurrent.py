"""Recurrent layers: backwards through the sequence in one loop.

What a step needs of the forward pass is computed for all steps at once, before the loop: the
sequence of hidden states is a result of the layer, so all gates are two products. In the loop
remain the product of the gates' gradients with the recurrence, and element-wise work; behind it
the gradient of each matrix is one product over all steps.

    %gates = glow.matmul %x, %w ... : tensor<2048x512xf32>            // 64 steps, batch 32
    %dh, %dgates = scf.for %i = ... iter_args(%dh = %last.grad, %all = ...) {
      %d = ...  %dh and factors of the gates                          // tensor<32x512xf32>
      %dh2 = glow.matmul %d, %r : tensor<32x128xf32>
      scf.yield %dh2, %all2
    }
    %w.grad = glow.matmul %dgates, %x transpose_lhs : tensor<512x64xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.recurrent_cells import walk_of
from glow.passes.graph.differentiate.recurrent_layer import (
    Layer,
    Nodes,
    previous,
    steps_of,
)
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.node_builder import like

REVERSED = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


def biases(
    nodes: Nodes, op: glow.RecurrentOp, both: SSAValue
) -> tuple[SSAValue, SSAValue | None]:
    """What is added to the inputs' products, and later to the recurrence's last gate."""
    count = shape_of(both)[0] // 2
    halves = [nodes.part(both, 0, start, count) for start in (0, count)]
    total = nodes.add(*halves)
    if not op.attributes_view().has("linear_before_reset"):
        return total, None
    units = count // op.GATES
    last = (count - units, units)
    first = nodes.part(total, 0, 0, count - units)
    joined = nodes.joined(first, nodes.part(halves[0], 0, *last))
    return joined, nodes.part(halves[1], 0, *last)


def layer_of(
    builder: GradientBuilder, op: glow.RecurrentOp, number: int, is_reversed: bool
) -> Layer:
    """One direction of a layer."""
    nodes, (steps, batch, size) = Nodes(builder), shape_of(op.input)
    initial = [nodes.element(value, 0, number) for value in op.initial]
    after = nodes.element(op.sequence, 1, number)
    layer = Layer(
        nodes,
        is_reversed,
        builder.reshape(op.input, (steps * batch, size)),
        nodes.element(op.weights, 0, number),
        nodes.element(op.recurrence, 0, number),
        *biases(nodes, op, nodes.element(op.bias, 0, number)),
        initial,
        after,
        after,
    )
    return replace(layer, before=previous(layer, initial[0], after))


def direction(
    builder: GradientBuilder, op: glow.RecurrentOp, layer: Layer, gradients: Gradients
) -> list[SSAValue]:
    """The gradients of the operands of one direction, from [S, B, H] and of each state."""
    nodes, (steps, batch, units) = layer.nodes, layer.size
    walk, counts = walk_of(op, layer)
    of_sequence, *of_last = gradients
    initial = [
        builder.full(0.0, like(state, shape_of(state)))
        if gradient is None
        else gradient
        for state, gradient in zip(layer.initial, of_last, strict=True)
    ]
    more = [] if of_sequence is None else [of_sequence]

    def step(
        body: Nodes, states: Sequence[SSAValue], parts: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        hidden, *others = states
        if more:
            hidden = body.add(hidden, parts[-1])
        return walk.step(body, [hidden, *others], parts[: len(walk.factors)])

    shapes = [(batch, count * units) for count in counts]
    kept, states = steps_of(
        layer, step, not layer.is_reversed, (initial, [*walk.factors, *more], shapes)
    )
    of_gates, of_products, of_recurrence = walk.sums(kept)
    flat = builder.reshape(of_gates, (steps * batch, shape_of(of_gates)[-1]))
    of_inputs = nodes.product(flat, layer.weights)
    bias = [
        builder.node(glow.ReduceSumOp, value, axes=[0, 1])
        for value in (of_gates, of_products)
    ]
    return [
        builder.reshape(of_inputs, shape_of(op.input)),
        nodes.product(flat, layer.inputs, transpose_lhs=True),
        of_recurrence,
        nodes.joined(*bias),
        *states,
    ]


def recurrent(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Each direction by itself; the gradients of the inputs are summed."""
    assert isinstance(op, glow.RecurrentOp)
    senses = REVERSED[op.attributes_view().string("direction")]
    found: list[list[SSAValue]] = []
    for number, is_reversed in enumerate(senses):
        layer = layer_of(builder, op, number, is_reversed)
        axes = [1, *[0] * len(op.last)]
        own = [
            None if gradient is None else layer.nodes.element(gradient, axis, number)
            for gradient, axis in zip(gradients, axes, strict=True)
        ]
        found.append(direction(builder, op, layer, own))
    nodes = Nodes(builder)
    of_inputs, *others = zip(*found, strict=True)
    return [nodes.add(*of_inputs), *(_stacked(builder, pieces) for pieces in others)]


def _stacked(builder: GradientBuilder, pieces: Sequence[SSAValue]) -> SSAValue:
    """Those of all directions along a first axis."""
    pieces = [builder.reshape(piece, (1, *shape_of(piece))) for piece in pieces]
    if len(pieces) == 1:
        return pieces[0]
    return builder.node(glow.ConcatOp, *pieces, axis=0)


RULES: dict[type[Operation], Rule] = dict.fromkeys(
    (glow.LstmOp, glow.GruOp, glow.RnnOp), recurrent
)
