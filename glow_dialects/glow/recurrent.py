"""Recurrent layers; node lowering turns them into loops over the sequence.

With S steps, batch B, input size I, hidden size H, D directions and G gates:
input [S, B, I], weights [D, G * H, I], recurrence [D, G * H, H], bias [D, 2 * G * H] (that of
the input, then that of the recurrence), initial states [D, B, H]. Results: all hidden states
[S, D, B, H], then the last of each state, [D, B, H].
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from glow.dialects.attributes import Attributes
from glow.dialects.glow.elementwise import same_element_type
from glow.dialects.glow.normalization import check_float
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type

DIRECTIONS = ("forward", "reverse", "bidirectional")
ACTIVATIONS = ("tanh", "relu", "sigmoid")


class RecurrentOp(NodeOp):
    """What recurrent layers share; see the module's docstring."""

    GATES: ClassVar[int]
    STATES: ClassVar[int] = 1

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    recurrence = operand_def(TensorType)
    bias = operand_def(TensorType)
    initial = var_operand_def(TensorType)
    sequence = result_def(TensorType)
    last = var_result_def(TensorType)
    direction = prop_def(StringAttr, default_value=StringAttr("forward"))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The sequence of hidden states and the last of each state."""
        name = cls.name.removeprefix("glow.")
        direction = attributes.string("direction")
        fail_unless(
            direction in DIRECTIONS,
            f"unknown direction '{direction}', expected {', '.join(DIRECTIONS)}",
        )
        count = 2 if direction == "bidirectional" else 1
        ranks = [3, 3, 3, 2, *[3] * cls.STATES]
        fail_unless(
            [operand.get_num_dims() for operand in operands] == ranks,
            f"{name} operands have ranks {', '.join(map(str, ranks))}",
        )
        check_float(cls, operands[0])
        element_type = same_element_type(operands)
        steps, batch, size = operands[0].get_shape()
        hidden = operands[2].get_shape()[2]
        expected = [
            (count, cls.GATES * hidden, size),
            (count, cls.GATES * hidden, hidden),
            (count, 2 * cls.GATES * hidden),
            *[(count, batch, hidden)] * cls.STATES,
        ]
        for shape, operand in zip(expected, operands[1:], strict=True):
            fail_unless(
                operand.get_shape() == shape,
                (
                    f"an operand of {name} must have shape {'x'.join(map(str, shape))}, "
                    f"not {operand}"
                ),
            )
        state = tensor_type((count, batch, hidden), element_type)
        sequence = tensor_type((steps, count, batch, hidden), element_type)
        return [sequence, *[state] * cls.STATES]


@irdl_op_definition
class LstmOp(RecurrentOp):
    """Long short-term memory over a sequence (ONNX LSTM-22, default activations).

    Gates in the order input, output, forget, cell; states: hidden and cell.
    """

    name = "glow.lstm"
    GATES: ClassVar[int] = 4
    STATES: ClassVar[int] = 2


@irdl_op_definition
class GruOp(RecurrentOp):
    """Gated recurrent units over a sequence (ONNX GRU-22, default activations).

    Gates in the order update, reset, hidden. The reset gate multiplies the hidden state
    before the product with the recurrence, or what comes out of it (`linear_before_reset`).
    """

    name = "glow.gru"
    GATES: ClassVar[int] = 3
    linear_before_reset = opt_prop_def(UnitAttr)


@irdl_op_definition
class RnnOp(RecurrentOp):
    """One layer fed back to itself over a sequence (ONNX RNN-22): f(W x + R h + b)."""

    name = "glow.rnn"
    GATES: ClassVar[int] = 1
    activation = prop_def(StringAttr, default_value=StringAttr("tanh"))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The sequence and the last hidden state."""
        activation = attributes.string("activation")
        fail_unless(
            activation in ACTIVATIONS,
            f"unknown activation '{activation}', expected {', '.join(ACTIVATIONS)}",
        )
        return super().infer(operands, attributes)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
