"""The node: its text, its instruction and the check of its types follow from this."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect, Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, Types
from glow.interpreter.arrays import Array, exact


@irdl_op_definition
class DenseReluOp(NodeOp):
    """max(x weights + bias, 0): x [M, K], weights [K, N], bias [N] -> [M, N]."""

    name = "npu.dense_relu"
    x = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [M, N], by the rule of the layer that it stands for."""
        return glow.FullyConnectedOp.infer(operands, attributes)


def run_dense_relu(op: Operation, x: Array, weights: Array, bias: Array) -> Array:
    """What the node computes, exactly: the interpreter rounds the result."""
    return np.maximum(exact(x) @ exact(weights) + exact(bias), 0)


Npu = Dialect("npu", [DenseReluOp], [])
