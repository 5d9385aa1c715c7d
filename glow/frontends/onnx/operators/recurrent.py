"""The handlers of recurrent layers; optional inputs become zeros, batch-first layouts
transposes. What the nodes cannot express is a loop (`recurrent_loop`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glow.dialects.attributes import AttributeValue
from glow.dialects.glow import GruOp, LstmOp, RecurrentOp, RnnOp
from glow.dialects.glow.recurrent import ACTIVATIONS
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.node import (
    Constant,
    OnnxNode,
    Operand,
    Value,
    element_type,
    shape,
)
from glow.frontends.onnx.operators.recurrent_loop import (
    Cell,
    Layer,
    activations,
    gru_step,
    layer_of_steps,
    lengths_of,
    lstm_step,
    rnn_step,
)
from glow.frontends.onnx.registry import onnx_op

BIAS, SEQUENCE_LENGTHS, INITIAL, PEEPHOLES = 3, 4, 5, 7


@onnx_op("LSTM")
def lstm(node: OnnxNode) -> Sequence[Value]:
    """Long short-term memory."""
    return _layer(node, Kind(LstmOp, lstm_step, ("sigmoid", "tanh", "tanh")))


@onnx_op("GRU")
def gru(node: OnnxNode) -> Sequence[Value]:
    """Gated recurrent units."""
    linear = bool(node.attr_int("linear_before_reset", 0))
    kind = Kind(GruOp, gru_step, ("sigmoid", "tanh"))
    return _layer(node, kind, linear_before_reset=linear)


@onnx_op("RNN")
def rnn(node: OnnxNode) -> Sequence[Value]:
    """One layer fed back to itself."""
    names = _activations(node)
    name = names[0] if names and set(names) == {names[0]} else "tanh"
    name = name if name in ACTIVATIONS else "tanh"
    return _layer(node, Kind(RnnOp, rnn_step, (name,)), activation=name)


@dataclass(frozen=True)
class Kind:
    """An operator: its node, and what a step of it computes with which functions."""

    node: type[RecurrentOp]
    step: Cell
    functions: Sequence[str]


def _layer(node: OnnxNode, kind: Kind, **attributes: AttributeValue) -> Sequence[Value]:
    """One node, or a loop where the node has not what the layer asks for."""
    batch_first = bool(node.attr_int("layout", 0))
    sequence = node.value(0)
    fail_unless(node.rank(0) == 3, f"the input has rank {node.rank(0)}, not 3")
    if batch_first:
        sequence = node.transpose(sequence, [1, 0, 2])
    directions, hidden = node.shape(2)[0], node.shape(2)[2]
    steps, batch, _ = shape(sequence)
    gates = kind.node.GATES
    layer = Layer(
        node,
        gates,
        sequence,
        _or_zeros(node, BIAS, (directions, 2 * gates * hidden)),
        [
            _state(node, INITIAL + number, (directions, batch, hidden), batch_first)
            for number in range(kind.node.STATES)
        ],
        _peepholes(node),
        lengths_of(node, SEQUENCE_LENGTHS, steps),
    )
    results = (
        _node(layer, kind, attributes)
        if _is_plain(layer, kind.functions)
        else _loop(layer, kind, directions)
    )
    if not batch_first:
        return results
    permutations = ([2, 0, 1, 3], *[[1, 0, 2]] * kind.node.STATES)
    return [
        node.transpose(result, permutation) if node.uses(index) else result
        for index, (result, permutation) in enumerate(
            zip(results, permutations, strict=True)
        )
    ]


def _node(
    layer: Layer, kind: Kind, attributes: dict[str, AttributeValue]
) -> list[Operand]:
    node = layer.node
    op = node.graph.add(
        kind.node,
        [layer.sequence, node.value(1), node.value(2), layer.bias, *layer.states],
        None,
        direction=_direction(node),
        **attributes,
    )
    return list(op.results)


def _loop(layer: Layer, kind: Kind, directions: int) -> list[Operand]:
    functions = activations(layer.node, kind.functions, directions)
    return layer_of_steps(layer, kind.step, functions, _direction(layer.node))


def _direction(node: OnnxNode) -> str:
    return node.attr_string("direction", "forward")


def _is_plain(layer: Layer, functions: Sequence[str]) -> bool:
    """Whether the dialect's node computes the layer."""
    node, names = layer.node, _activations(layer.node)
    return (
        all(
            name == functions[index % len(functions)]
            for index, name in enumerate(names)
        )
        and layer.peepholes is None
        and layer.lengths is None
        and not node.has_attribute("clip")
        and not node.attr_int("input_forget", 0)
    )


def _peepholes(node: OnnxNode) -> Operand | None:
    """An LSTM's weights of the cell [D, 3 * H]; none where they are zeros."""
    if node.proto.op_type != "LSTM" or not node.has(PEEPHOLES):
        return None
    value = node.value(PEEPHOLES)
    if isinstance(value, Constant) and not value.array.any():
        return None
    return value


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
