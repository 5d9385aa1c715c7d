"""What one step of a recurrent layer computes from its gates, said once for all forms.

A loop over the sequence computes it with nodes, a fused step with scalar operations: both
bring a `Gates` to the same cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp


class Gates(Protocol):
    """The sums of a step's gates, and how nodes apply to them."""

    def total(self, gate: int) -> SSAValue:
        """What the inputs and the hidden state give together."""
        ...

    def entering(self, gate: int) -> SSAValue:
        """What the inputs give."""
        ...

    def recurrent(self, gate: int) -> SSAValue:
        """What the hidden state gives."""
        ...

    def apply(self, node: type[NodeOp], *operands: SSAValue) -> SSAValue:
        """An element-wise node."""
        ...


Cell = Callable[[Gates, Sequence[SSAValue], Sequence[SSAValue]], list[SSAValue]]
"""`cell(gates, states, biases)`: the next states, the hidden one first."""


def lstm_cell(
    gates: Gates, states: Sequence[SSAValue], biases: Sequence[SSAValue]
) -> list[SSAValue]:
    """Gates i o f c: `c' = s(f) c + s(i) tanh(g)`, `h' = s(o) tanh(c')`."""
    apply, (_, cell) = gates.apply, states
    entering, leaving, forgetting = (
        apply(glow.SigmoidOp, gates.total(gate)) for gate in range(3)
    )
    candidate = apply(glow.TanhOp, gates.total(3))
    kept = apply(glow.MulOp, forgetting, cell)
    added = apply(glow.MulOp, entering, candidate)
    cell = apply(glow.AddOp, kept, added)
    squashed = apply(glow.TanhOp, cell)
    return [apply(glow.MulOp, leaving, squashed), cell]


def gru_cell(
    gates: Gates, states: Sequence[SSAValue], biases: Sequence[SSAValue]
) -> list[SSAValue]:
    """Gates z r h: `n = tanh(x + s(r) (R h + b))`, `h' = n + s(z) (h - n)`."""
    apply, (hidden,), (bias,) = gates.apply, states, biases
    update, reset = (apply(glow.SigmoidOp, gates.total(gate)) for gate in range(2))
    product = apply(glow.AddOp, gates.recurrent(2), bias)
    kept = apply(glow.MulOp, reset, product)
    return [blend(gates, update, apply(glow.AddOp, kept, gates.entering(2)), hidden)]


def blend(
    gates: Gates, update: SSAValue, candidate: SSAValue, hidden: SSAValue
) -> SSAValue:
    """`n + z (h - n)`, n the candidate's hyperbolic tangent."""
    apply = gates.apply
    candidate = apply(glow.TanhOp, candidate)
    difference = apply(glow.SubOp, hidden, candidate)
    return apply(glow.AddOp, candidate, apply(glow.MulOp, update, difference))


def rnn_cell(
    activation: type[NodeOp],
    gates: Gates,
    states: Sequence[SSAValue],
    biases: Sequence[SSAValue],
) -> list[SSAValue]:
    """`h' = f(x + R h)`."""
    return [gates.apply(activation, gates.total(0))]


ACTIVATIONS: dict[str, type[NodeOp]] = {
    "tanh": glow.TanhOp,
    "relu": glow.ReluOp,
    "sigmoid": glow.SigmoidOp,
}


def cell_of(op: glow.RecurrentOp) -> Cell | None:
    """The layer's cell; None of units whose step takes a second product.

    A reset gate in front of the product with the hidden state makes that product wait for
    all gates of the first one.
    """
    attributes = op.attributes_view()
    if isinstance(op, glow.LstmOp):
        return lstm_cell
    if isinstance(op, glow.GruOp):
        return gru_cell if attributes.has("linear_before_reset") else None
    return partial(rnn_cell, ACTIVATIONS[attributes.string("activation")])
