"""Recurrent layers; the state stays in float64 from step to step."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects.glow import LstmOp
from glow.dialects.node import GlowOp
from glow.interpreter.array_functions import sigmoid
from glow.interpreter.arrays import Array, widen
from glow.interpreter.scalar_functions import Function


def lstm_direction(
    x: Array, weights: Array, recurrence: Array, bias: Array, h: Array, c: Array
) -> tuple[Array, Array, Array]:
    """One direction: all hidden states [S, B, H], the last one and the last cell state.

    Gates lie in the order input, output, forget, cell; the bias is that of the input
    followed by that of the recurrence.
    """
    from_input = x @ weights.T + bias.reshape(2, -1).sum(axis=0)
    states = np.empty((x.shape[0], *h.shape))
    for step, gates in enumerate(from_input):
        i, o, f, g = np.split(gates + h @ recurrence.T, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states[step] = h
    return states, h, c


def run_lstm(op: GlowOp, x: Array, *parameters: Array) -> tuple[Array, Array, Array]:
    """`glow.lstm`."""
    direction = op.attributes_view().string("direction")
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    parts: list[tuple[Array, Array, Array]] = []
    for number, reverse in enumerate(backward[direction]):
        arguments = [widen(parameter[number]) for parameter in parameters]
        order = slice(None, None, -1 if reverse else 1)
        states, h, c = lstm_direction(widen(x)[order], *arguments)
        parts.append((states[order], h, c))
    states, h, c = zip(*parts, strict=True)
    return np.stack(states, axis=1), np.stack(h), np.stack(c)


NODES: dict[type[Operation], Function] = {LstmOp: run_lstm}
