"""The handlers of recurrent layers; optional inputs become zeros, batch-first layouts
transposes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glow.dialects.attributes import AttributeValue
from glow.dialects.glow import GruOp, LstmOp, RecurrentOp, RnnOp
from glow.dialects.glow.recurrent import ACTIVATIONS
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, Value, element_type
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op

BIAS, SEQUENCE_LENGTHS, INITIAL, PEEPHOLES = 3, 4, 5, 7


@onnx_op("LSTM")
def lstm(node: OnnxNode) -> Sequence[Value]:
    """Long short-term memory."""
    refuse_if(bool(node.attr_int("input_forget", 0)), "input_forget")
    if node.has(PEEPHOLES):
        refuse_if(bool(node.array(PEEPHOLES, "peepholes").any()), "peepholes")
    _check_activations(node, ("sigmoid", "tanh", "tanh"))
    return _layer(node, LstmOp)


@onnx_op("GRU")
def gru(node: OnnxNode) -> Sequence[Value]:
    """Gated recurrent units."""
    _check_activations(node, ("sigmoid", "tanh"))
    linear = bool(node.attr_int("linear_before_reset", 0))
    return _layer(node, GruOp, linear_before_reset=linear)


@onnx_op("RNN")
def rnn(node: OnnxNode) -> Sequence[Value]:
    """One layer fed back to itself."""
    names = _activations(node) or ["tanh"]
    is_known = len(set(names)) == 1 and names[0] in ACTIVATIONS
    refuse_if(not is_known, f"activations {', '.join(names)}")
    return _layer(node, RnnOp, activation=names[0])


def _layer(
    node: OnnxNode, op_class: type[RecurrentOp], **attributes: AttributeValue
) -> Sequence[Value]:
    """One node."""
    batch_first = bool(node.attr_int("layout", 0))
    sequence = node.value(0)
    fail_unless(node.rank(0) == 3, f"the input has rank {node.rank(0)}, not 3")
    if batch_first:
        sequence = node.transpose(sequence, [1, 0, 2])
    _check_supported(node)
    directions, hidden = node.shape(2)[0], node.shape(2)[2]
    batch = node.shape(0)[0 if batch_first else 1]
    bias = _or_zeros(node, BIAS, (directions, 2 * op_class.GATES * hidden))
    states = [
        _state(node, INITIAL + number, (directions, batch, hidden), batch_first)
        for number in range(op_class.STATES)
    ]
    op = node.graph.add(
        op_class,
        [sequence, node.value(1), node.value(2), bias, *states],
        None,
        direction=node.attr_string("direction", "forward"),
        **attributes,
    )
    if not batch_first:
        return list(op.results)
    permutations = ([2, 0, 1, 3], *[[1, 0, 2]] * op_class.STATES)
    return [
        node.transpose(result, permutation) if node.uses(index) else result
        for index, (result, permutation) in enumerate(
            zip(op.results, permutations, strict=True)
        )
    ]


def _or_zeros(node: OnnxNode, index: int, shape: tuple[int, ...]) -> Operand:
    if node.has(index):
        return node.value(index)
    zero = np.zeros((), dtype_of(element_type(node.value(0))))
    return Constant(np.broadcast_to(zero, shape), "zeros")


def _state(
    node: OnnxNode, index: int, shape: tuple[int, ...], batch_first: bool
) -> Operand:
    """An initial state [directions, batch, hidden]."""
    if batch_first and node.has(index):
        return node.transpose(node.value(index), [1, 0, 2])
    return _or_zeros(node, index, shape)


def _activations(node: OnnxNode) -> list[str]:
    """The activations' names in lower case; none where they are the default."""
    return [name.lower() for name in node.attr_strings("activations") or ()]


def _check_activations(node: OnnxNode, default: Sequence[str]) -> None:
    """Refuse other activations than the default ones of each direction."""
    names = _activations(node)
    is_default = all(
        name == default[index % len(default)] for index, name in enumerate(names)
    )
    refuse_if(not is_default, f"activations {', '.join(names)}")


def _check_supported(node: OnnxNode) -> None:
    """Refuse what the nodes of the `glow` dialect cannot express."""
    refuse_if(node.has_attribute("clip"), "clip")
    if node.has(SEQUENCE_LENGTHS):
        steps = node.shape(0)[node.attr_int("layout", 0)]
        lengths = node.integers(SEQUENCE_LENGTHS, "sequence_lens")
        refuse_if(any(length != steps for length in lengths), "sequence_lens")
