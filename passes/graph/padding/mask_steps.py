"""Recurrent layers over steps some of which are padding: gates keep the state over these.

A sequence that is read from its end begins with padding, and the last state of one that is read
from its beginning comes behind it. An input more tells a gate which steps are padding:

    x [12, B, I]  ->  [12, B, I + 1]     1 where a step is padding, else 0
    gru           update gate + 1e4:     z = 1, so h = (1 - z) * n + z * h stays
    lstm          input gate - 1e4,      i = 0 and f = 1, so c = f * c + i * g stays
                  forget gate + 1e4

The hidden state of an LSTM, o * tanh(c), stays 0 before the first word if it begins with 0, and
the last one is that of the last word in the sequence of states.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.recurrent import RecurrentOp
from glow.dialects.glow.storage import splat_number
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.passes.graph.padding.placing import refusal
from glow.passes.rewriting.node_builder import NodeBuilder

CERTAIN = 1e4
"""What is added to a gate so that it is open or closed, whatever else goes into it."""

GATES: dict[type[Operation], tuple[float, ...]] = {
    glow.GruOp: (CERTAIN, 0, 0),
    glow.LstmOp: (-CERTAIN, 0, CERTAIN, 0),
}
"""What is added to the gates of a layer at steps that are padding."""


def is_seen(op: RecurrentOp) -> bool:
    """Whether results of a layer depend on steps behind the last one."""
    is_forward = op.direction.data == "forward"
    return not is_forward or any(last.uses for last in op.last)


def keep_states(
    op: RecurrentOp, inside: SSAValue, length: SSAValue
) -> tuple[RecurrentOp, list[SSAValue]]:
    """A layer in the place of another whose states stay over steps that are not `inside`.

    Also what takes the place of its last states. Raises GlowError for layers without a gate for
    that.
    """
    _check_layer(op)
    builder, new = NodeBuilder(op), op.clone()
    new.operands[0] = _flagged(builder, op.input, inside)
    new.operands[1] = _with_flag_weights(builder, op)
    builder.insert(new)
    last: list[SSAValue] = list(new.last)
    if isinstance(op, glow.LstmOp) and op.last[0].uses:
        last[0] = _last_hidden(builder, new, length)
    return new, last


def _check_layer(op: RecurrentOp) -> None:
    """Refuse layers without a gate that keeps the state, or with one that it does not keep."""
    if type(op) not in GATES:
        raise refusal(op, 0, "goes on over")
    if isinstance(op, glow.LstmOp) and op.direction.data != "forward":
        if any(splat_number(state) != 0 for state in op.initial):
            raise refusal(op, 0, "begins with a state at the end of")


def _flagged(builder: NodeBuilder, value: SSAValue, inside: SSAValue) -> SSAValue:
    """The input with a feature more: whether a step is padding."""
    element = element_of(value)
    steps, batch, _ = shape_of(value)
    zero, one = (builder.splat(number, element) for number in (0.0, 1.0))
    flags = builder.node(glow.SelectOp, inside, zero, one)
    types = [tensor_type((steps, batch, 1), element)]
    flags = builder.create(glow.BroadcastOp, [flags], {}, types=types)
    return builder.node(glow.ConcatOp, value, flags, axis=2)


def _with_flag_weights(builder: NodeBuilder, op: RecurrentOp) -> SSAValue:
    """The weights of the input with those of the feature."""
    directions, rows, _ = shape_of(op.weights)
    added = np.repeat(GATES[type(op)], rows // op.GATES)
    column = np.broadcast_to(added[:, None], (directions, rows, 1))
    dtype = dtype_of(element_of(op.weights))
    constant = builder.constant(column.astype(dtype), "padding_gates")
    return builder.node(glow.ConcatOp, op.weights, constant, axis=2)


def _last_hidden(builder: NodeBuilder, op: RecurrentOp, length: SSAValue) -> SSAValue:
    """The hidden states behind the last word: of a reversed direction that of the first."""
    one = builder.splat(1, element_of(length))
    place = builder.node(glow.SubOp, length, one)
    last = builder.node(glow.GatherOp, op.sequence, place, axis=0)
    _, directions, batch, hidden = shape_of(last)
    states = builder.reshape(last, (directions, batch, hidden))
    if op.direction.data == "forward":
        return states
    first = _part(builder, op.sequence, (0, 0, 0, 0), (1, directions, batch, hidden))
    first = builder.reshape(first, (directions, batch, hidden))
    if op.direction.data == "reverse":
        return first
    sizes, pairs = (1, batch, hidden), ((states, 0), (first, 1))
    parts = [_part(builder, value, (place, 0, 0), sizes) for value, place in pairs]
    return builder.node(glow.ConcatOp, *parts, axis=0)


def _part(
    builder: NodeBuilder,
    value: SSAValue,
    starts: tuple[int, ...],
    sizes: tuple[int, ...],
) -> SSAValue:
    return builder.node(
        glow.SliceOp,
        value,
        starts=list(starts),
        sizes=list(sizes),
        steps=[1] * len(sizes),
    )
