"""Recurrent layers whose weights are integers.

ONNX Runtime rounds the input and the hidden state to bytes in each step, with a scale of their
own; here weights are floats again, and nothing that a call computes is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glow.dialects.node import fail_unless
from glow.dialects.weight_table import Array
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Value
from glow.frontends.onnx.operators.recurrent import lstm
from glow.frontends.onnx.registry import contrib_op

INPUTS = 8
"""Of an LSTM; scale and zero point of both weights come behind them."""


@contrib_op("DynamicQuantizeLSTM")
def dynamic_quantize_lstm(node: OnnxNode) -> Sequence[Value]:
    """An LSTM with weights [directions, inputs, 4 hidden] of bytes."""
    inputs = [*node.inputs[:INPUTS]]
    for index in (1, 2):
        weights = _weights(node, index, INPUTS + 2 * (index - 1))
        inputs[index] = Constant(weights, f"weights {index}")
    return lstm(node.replaced(node.proto, inputs))


def _weights(node: OnnxNode, index: int, parameters: int) -> Array:
    """An input as floats [directions, 4 hidden, inputs]: by direction, or by row."""
    stored = node.constant(index, "weights")
    scales = node.constant(parameters, "scale")
    points = node.constant(parameters + 1, "zero point")
    count, _, rows = stored.shape
    for given in (scales, points):
        fail_unless(
            given.shape in ((count,), (count, rows)),
            f"scales or zero points of shape {list(given.shape)} for weights of "
            f"{list(stored.shape)}",
        )
    scale, point = (
        one.reshape(count, 1, -1).astype(np.float32) for one in (scales, points)
    )
    floats = (stored.astype(np.float32) - point) * scale
    return np.ascontiguousarray(floats.transpose(0, 2, 1))
