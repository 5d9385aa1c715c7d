"""The handler of the LSTM layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glow.dialects.glow import LstmOp
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, Value, element_type
from glow.frontends.onnx.registry import onnx_op, refuse_if

ACTIVATIONS = ("sigmoid", "tanh", "tanh")

BIAS, SEQUENCE_LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES = 3, 4, 5, 6, 7


@onnx_op("LSTM")
def lstm(node: OnnxNode) -> Sequence[Value]:
    """One node; optional inputs become zeros, batch-first layouts transposes."""
    batch_first = bool(node.attr_int("layout", 0))
    sequence = node.value(0)
    fail_unless(node.rank(0) == 3, f"the input has rank {node.rank(0)}, not 3")
    if batch_first:
        sequence = node.transpose(sequence, [1, 0, 2])
    _check_supported(node)
    directions, hidden = node.shape(2)[0], node.shape(2)[2]
    batch = node.shape(0)[0 if batch_first else 1]
    bias = _or_zeros(node, BIAS, (directions, 8 * hidden))
    states = [
        _state(node, index, (directions, batch, hidden), batch_first)
        for index in (INITIAL_H, INITIAL_C)
    ]
    op = node.graph.add(
        LstmOp,
        [sequence, node.value(1), node.value(2), bias, *states],
        direction=node.attr_string("direction", "forward"),
    )
    if not batch_first:
        return list(op.results)
    permutations = ([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])
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


def _check_supported(node: OnnxNode) -> None:
    """Refuse what the node of the `glow` dialect cannot express."""
    refuse_if(node.attribute("clip") is not None, "clip")
    refuse_if(bool(node.attr_int("input_forget", 0)), "input_forget")
    given = node.attribute("activations")
    if given is not None:
        names = [name.decode("utf-8", "replace") for name in given.strings]
        default = all(
            name.lower() == ACTIVATIONS[index % 3] for index, name in enumerate(names)
        )
        refuse_if(not default, f"activations {', '.join(names)}")
    if node.has(PEEPHOLES):
        refuse_if(bool(node.array(PEEPHOLES, "peepholes").any()), "peepholes")
    if node.has(SEQUENCE_LENGTHS):
        steps = node.shape(0)[node.attr_int("layout", 0)]
        lengths = node.integers(SEQUENCE_LENGTHS, "sequence_lens")
        refuse_if(any(length != steps for length in lengths), "sequence_lens")
