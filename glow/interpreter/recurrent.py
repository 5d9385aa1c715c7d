"""Recurrent layers; the states stay in float64 from step to step.

Every cell takes `entering`, what the inputs and their bias give for one step [B, G * H],
the recurrence [G * H, H], its bias and the states [B, H], and gives the next states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from glow.dialects.glow import GruOp, LstmOp, RnnOp
from glow.dialects.glow.functions import sigmoid
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, widen
from glow.interpreter.scalar_functions import Function

Cell = Callable[[GlowOp, Array, Array, Array, Sequence[Array]], Sequence[Array]]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": sigmoid,
}
BACKWARD = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


def lstm_cell(
    op: GlowOp, entering: Array, recurrence: Array, bias: Array, states: Sequence[Array]
) -> Sequence[Array]:
    """Gates lie in the order input, output, forget, cell."""
    h, c = states
    i, o, f, g = np.split(entering + h @ recurrence.T + bias, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_cell(
    op: GlowOp, entering: Array, recurrence: Array, bias: Array, states: Sequence[Array]
) -> Sequence[Array]:
    """Gates lie in the order update, reset, hidden."""
    (h,) = states
    update, reset, candidate = np.split(entering, 3, axis=-1)
    by_gate = zip(np.split(recurrence, 3), np.split(bias, 3), strict=True)
    (rz, bz), (rr, br), (rh, bh) = by_gate
    z = sigmoid(update + h @ rz.T + bz)
    r = sigmoid(reset + h @ rr.T + br)
    linear = op.attributes_view().has("linear_before_reset")
    product = r * (h @ rh.T + bh) if linear else (r * h) @ rh.T + bh
    return (((1 - z) * np.tanh(candidate + product)) + z * h,)


def rnn_cell(
    op: GlowOp, entering: Array, recurrence: Array, bias: Array, states: Sequence[Array]
) -> Sequence[Array]:
    """One layer."""
    activation = ACTIVATIONS[op.attributes_view().string("activation")]
    return (activation(entering + states[0] @ recurrence.T + bias),)


def run_direction(
    op: GlowOp, cell: Cell, x: Array, parameters: Sequence[Array]
) -> tuple[Array, ...]:
    """One direction: all hidden states [S, B, H] and the last of each state."""
    weights, recurrence, bias, *states = parameters
    of_input, of_recurrence = bias.reshape(2, -1)
    sequence = np.empty((x.shape[0], *states[0].shape))
    for step, entering in enumerate(x @ weights.T + of_input):
        states = list(cell(op, entering, recurrence, of_recurrence, states))
        sequence[step] = states[0]
    return (sequence, *states)


def recurrent(cell: Cell) -> Function:
    """The handler of a layer with that cell."""

    def run(op: GlowOp, x: Array, *parameters: Array) -> tuple[Array, ...]:
        direction = op.attributes_view().string("direction")
        parts: list[tuple[Array, ...]] = []
        for number, reverse in enumerate(BACKWARD[direction]):
            arguments = [widen(parameter[number]) for parameter in parameters]
            order = slice(None, None, -1 if reverse else 1)
            sequence, *last = run_direction(op, cell, widen(x)[order], arguments)
            parts.append((sequence[order], *last))
        sequences, *lasts = zip(*parts, strict=True)
        return (np.stack(sequences, axis=1), *map(np.stack, lasts))

    return run


NODES: dict[type[Operation], Function] = {
    LstmOp: recurrent(lstm_cell),
    GruOp: recurrent(gru_cell),
    RnnOp: recurrent(rnn_cell),
}
"""The handlers of recurrent layers."""
