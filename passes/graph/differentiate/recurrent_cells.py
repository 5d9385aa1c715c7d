"""How the cells of recurrent layers go back: what is known before the loop, and one step of it.

`lowering/lower_nodes/cells.py` says what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.recurrent_layer import (
    Layer,
    Nodes,
    over_steps,
    previous,
    steps_of,
)
from glow.passes.rewriting.node_builder import element_type


class PlainWalk:
    """`h' = f(x + R h)`: the gradient of the sum is kept."""

    factors: Sequence[SSAValue]
    """Tensors [S, B, ...], of which each step gets its part."""

    def __init__(self, layer: Layer, activation: str) -> None:
        self.layer, nodes, y = layer, layer.nodes, layer.after
        self.factors = [SLOPES[activation](nodes, y)]

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """What is kept of a step, and the gradients of the states before it."""
        total = nodes.mul(gradients[0], factors[0])
        return [total], [nodes.product(total, self.layer.recurrence)]

    def sums(self, kept: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, SSAValue]:
        """The gradients of what the inputs gave, of what the recurrence gave, and of it."""
        return kept[0], kept[0], over_steps(self.layer, kept[0], self.layer.before)


def _relu_slope(nodes: Nodes, y: SSAValue) -> SSAValue:
    zero, one = (nodes.builder.splat(number, element_type(y)) for number in (0, 1))
    positive = nodes.builder.node(glow.LessOp, zero, y)
    return nodes.builder.node(glow.SelectOp, positive, one, zero)


SLOPES: dict[str, Callable[[Nodes, SSAValue], SSAValue]] = {
    "tanh": Nodes.tanh_slope,
    "sigmoid": Nodes.sigmoid_slope,
    "relu": _relu_slope,
}
"""Activation of a plain layer to its derivative, by its result."""


class LstmWalk(PlainWalk):
    """Gates i o f c: `c' = s(f) c + s(i) tanh(g)`, `h' = s(o) tanh(c')`.

    With the gradients h and c of the states, `c += h s(o) tanh'(c')`; the gradients of all
    gates are products of h or c with factors that are known before.
    """

    def __init__(self, layer: Layer) -> None:
        self.layer, nodes, (_, _, units) = layer, layer.nodes, layer.size
        totals = nodes.add(layer.entering(), layer.recurrent(layer.before))
        squashed = nodes.sigmoid(nodes.gate(totals, 0, units, 3))
        entering, leaving, forgetting = (
            nodes.gate(squashed, number, units) for number in range(3)
        )
        candidate = nodes.tanh(nodes.gate(totals, 3, units))
        added = nodes.mul(entering, candidate)
        cells = _cells(layer, forgetting, added)
        before = previous(layer, layer.initial[1], cells)
        top = nodes.tanh(cells)
        of_cell = nodes.joined(
            nodes.mul(candidate, nodes.sigmoid_slope(entering)),
            nodes.mul(before, nodes.sigmoid_slope(forgetting)),
            nodes.mul(entering, nodes.tanh_slope(candidate)),
        )
        self.factors = [
            of_cell,
            nodes.mul(top, nodes.sigmoid_slope(leaving)),
            nodes.mul(leaving, nodes.tanh_slope(top)),
            forgetting,
        ]

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """See `PlainWalk`."""
        (hidden, cell), units = gradients, self.layer.size[2]
        of_cell, of_output, slope, forgetting = factors
        cell = nodes.add(cell, nodes.mul(hidden, slope))
        entering, forgotten, candidate = (
            nodes.mul(cell, nodes.gate(of_cell, number, units)) for number in range(3)
        )
        left = nodes.mul(hidden, of_output)
        total = nodes.joined(entering, left, forgotten, candidate)
        back = nodes.product(total, self.layer.recurrence)
        return [total], [back, nodes.mul(cell, forgetting)]


def _cells(layer: Layer, forgetting: SSAValue, added: SSAValue) -> SSAValue:
    """The cells behind all steps, [S, B, H]: the loop of the layer without its products."""

    def step(
        nodes: Nodes, states: Sequence[SSAValue], parts: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        cell = nodes.add(nodes.mul(parts[0], states[0]), parts[1])
        return [cell], [cell]

    shapes = [shape_of(layer.initial[1])]
    kept, _ = steps_of(
        layer, step, layer.is_reversed, (layer.initial[1:], [forgetting, added], shapes)
    )
    return kept[0]


class GruWalk(PlainWalk):
    """Gates z r h: `n = tanh(x + R (s(r) h) + b)`, `h' = n + s(z) (h - n)`."""

    def __init__(self, layer: Layer) -> None:
        self.layer, nodes, (_, _, units) = layer, layer.nodes, layer.size
        inputs, before = layer.entering(), layer.before
        totals = nodes.add(
            nodes.gate(inputs, 0, units, 2), layer.recurrent(before, 0, 2)
        )
        squashed = nodes.sigmoid(totals)
        self.update = nodes.gate(squashed, 0, units)
        self.reset = nodes.gate(squashed, 1, units)
        self.kept = nodes.mul(self.reset, before)
        product = layer.recurrent(self.kept, 2, 1)
        candidate = nodes.tanh(nodes.add(product, nodes.gate(inputs, 2, units)))
        self.of_update, self.of_candidate = _of_blend(layer, self.update, candidate)
        of_reset = nodes.mul(before, nodes.sigmoid_slope(self.reset))
        self.factors = [
            self.of_update,
            of_reset,
            self.of_candidate,
            self.update,
            self.reset,
        ]
        matrix = layer.recurrence
        self.first = nodes.part(matrix, 0, 0, 2 * units)
        self.last = nodes.part(matrix, 0, 2 * units, units)

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """See `PlainWalk`."""
        (hidden,) = gradients
        of_update, of_reset, of_candidate, update, reset = factors
        candidate = nodes.mul(hidden, of_candidate)
        kept = nodes.product(candidate, self.last)
        gates = nodes.joined(nodes.mul(hidden, of_update), nodes.mul(kept, of_reset))
        back = nodes.add(
            nodes.product(gates, self.first),
            nodes.mul(hidden, update),
            nodes.mul(kept, reset),
        )
        return [gates, candidate], [back]

    def sums(self, kept: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, SSAValue]:
        """See `PlainWalk`."""
        gates, candidate = kept
        total, builder = (
            self.layer.nodes.joined(gates, candidate),
            self.layer.nodes.builder,
        )
        first = over_steps(self.layer, gates, self.layer.before)
        last = over_steps(self.layer, candidate, self.kept)
        return total, total, builder.node(glow.ConcatOp, first, last, axis=0)


class LinearGruWalk(PlainWalk):
    """Gates z r h: `n = tanh(x + s(r) (R h + b))`, `h' = n + s(z) (h - n)`."""

    def __init__(self, layer: Layer) -> None:
        self.layer, nodes, (_, _, units) = layer, layer.nodes, layer.size
        inputs, products = layer.entering(), layer.recurrent(layer.before)
        first = nodes.add(
            nodes.gate(inputs, 0, units, 2), nodes.gate(products, 0, units, 2)
        )
        squashed = nodes.sigmoid(first)
        update, reset = (nodes.gate(squashed, number, units) for number in range(2))
        assert layer.later is not None
        product = nodes.add(nodes.gate(products, 2, units), layer.later)
        inner = nodes.add(nodes.mul(reset, product), nodes.gate(inputs, 2, units))
        of_update, of_candidate = _of_blend(layer, update, nodes.tanh(inner))
        of_reset = nodes.mul(of_candidate, product, nodes.sigmoid_slope(reset))
        of_product = nodes.mul(of_candidate, reset)
        gates = nodes.joined(of_update, of_reset, of_product)
        self.of_candidate = of_candidate
        self.reset = reset
        self.factors = [gates, update, of_candidate]

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """See `PlainWalk`."""
        (hidden,) = gradients
        gates, update, of_candidate = factors
        total = nodes.mul(nodes.joined(hidden, hidden, hidden), gates)
        back = nodes.product(total, self.layer.recurrence)
        back = nodes.add(back, nodes.mul(hidden, update))
        return [total, nodes.mul(hidden, of_candidate)], [back]

    def sums(self, kept: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, SSAValue]:
        """See `PlainWalk`."""
        gates, candidate = kept
        nodes, units = self.layer.nodes, self.layer.size[2]
        of_inputs = nodes.joined(nodes.gate(gates, 0, units, 2), candidate)
        return of_inputs, gates, over_steps(self.layer, gates, self.layer.before)


def _of_blend(
    layer: Layer, update: SSAValue, candidate: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """What the gradient of `n + s(z) (h - n)` is multiplied by for z, and for n's sum."""
    nodes = layer.nodes
    difference = nodes.sub(layer.before, candidate)
    return (
        nodes.mul(difference, nodes.sigmoid_slope(update)),
        nodes.mul(nodes.one_minus(update), nodes.tanh_slope(candidate)),
    )


def walk_of(op: glow.RecurrentOp, layer: Layer) -> tuple[PlainWalk, list[int]]:
    """How the layer's cell goes back, and how many gates it keeps in each tensor."""
    attributes = op.attributes_view()
    if isinstance(op, glow.LstmOp):
        return LstmWalk(layer), [4]
    if isinstance(op, glow.RnnOp):
        return PlainWalk(layer, attributes.string("activation")), [1]
    if attributes.has("linear_before_reset"):
        return LinearGruWalk(layer), [3, 1]
    return GruWalk(layer), [2, 1]
