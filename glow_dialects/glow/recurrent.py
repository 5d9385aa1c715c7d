"""Recurrent layers; node lowering turns them into a loop over the sequence."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, Types, fail_unless, tensor_type

DIRECTIONS = ("forward", "reverse", "bidirectional")


@irdl_op_definition
class LstmOp(NodeOp):
    """Long short-term memory over a sequence (ONNX LSTM-22, default activations).

    With S steps, batch B, input size I, hidden size H, D directions:
    input [S, B, I], weights [D, 4H, I], recurrence [D, 4H, H], bias [D, 8H],
    initial_h and initial_c [D, B, H]; gates in the order input, output, forget, cell.
    Results: all hidden states [S, D, B, H], the last [D, B, H] and the last cell state.
    """

    name = "glow.lstm"
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    recurrence = operand_def(TensorType)
    bias = operand_def(TensorType)
    initial_h = operand_def(TensorType)
    initial_c = operand_def(TensorType)
    sequence = result_def(TensorType)
    last_h = result_def(TensorType)
    last_c = result_def(TensorType)
    direction = prop_def(StringAttr, default_value=StringAttr("forward"))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The three results' types."""
        direction = attributes.string("direction")
        fail_unless(
            direction in DIRECTIONS,
            f"unknown direction '{direction}', expected {', '.join(DIRECTIONS)}",
        )
        count = 2 if direction == "bidirectional" else 1
        fail_unless(
            [operand.get_num_dims() for operand in operands] == [3, 3, 3, 2, 3, 3],
            "lstm operands have ranks 3, 3, 3, 2, 3, 3",
        )
        steps, batch, size = operands[0].get_shape()
        hidden = operands[2].get_shape()[2]
        expected = [
            (count, 4 * hidden, size),
            (count, 4 * hidden, hidden),
            (count, 8 * hidden),
            (count, batch, hidden),
            (count, batch, hidden),
        ]
        for shape, operand in zip(expected, operands[1:], strict=True):
            fail_unless(
                operand.get_shape() == shape,
                f"an lstm operand must have shape {'x'.join(map(str, shape))}, "
                f"not {operand}",
            )
        element_type = operands[0].element_type
        state = tensor_type((count, batch, hidden), element_type)
        sequence = tensor_type((steps, count, batch, hidden), element_type)
        return [sequence, state, state]


OPS: tuple[type[NodeOp], ...] = (LstmOp,)
