"""Convolutions of each channel over its past, which continue where an earlier call ended."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import NodeProto, helper

from glow.dialects.errors import GlowError
from glow.dialects.glow import ConcatOp
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Value, shape
from glow.frontends.onnx.operators.microsoft.attention import refuse_attributes
from glow.frontends.onnx.operators.microsoft.gates import activated
from glow.frontends.onnx.operators.spatial.convolution import conv
from glow.frontends.onnx.registry import contrib_op

OF_OTHER_BACKENDS = ("state_window", "state_update_capacity", "state_length")


@contrib_op("CausalConvWithState")
def causal_conv_with_state(node: OnnxNode) -> Sequence[Value]:
    """Channels [N, C, T], or [N, T, ...] with `channels_last`, and the last elements before them.

    Elements before the first one are a state, or zeros. The second result is the next state.
    """
    refuse_attributes(node, ndim=1, **dict.fromkeys(OF_OTHER_BACKENDS, 0))
    channels, taps = node.shape(1)[0], node.shape(1)[-1]
    kept = (taps - 1) * node.attr_int("dilation", 1)
    x = _channels_first(node, 0, channels)
    if node.has(3):
        past = _channels_first(node, 3, channels)
    else:
        past = x.constant(np.zeros((x.shape[0], channels, kept)))
    if past.shape != (x.shape[0], channels, kept):
        raise GlowError(f"a past of {list(past.shape)}, not of {kept} elements")
    whole = past.apply(ConcatOp, x, axis=2)
    state = whole.part(2, whole.shape[2] - kept, kept)
    return [_as_input(node, y) for y in (_convolved(node, whole), state)]


def _channels_first(node: OnnxNode, index: int, channels: int) -> Expression:
    """An input as [N, C, T]."""
    x = Expression(node, node.value(index))
    if not node.attr_int("channels_last", 0):
        fits = len(x.shape) == 3 and x.shape[1] == channels
    else:
        fits = prod(x.shape[2:]) == channels
        if fits:
            x = x.reshape((*x.shape[:2], channels)).transpose(0, 2, 1)
    if not fits:
        raise GlowError(f"an input of shape {list(x.shape)} has no {channels} channels")
    return x


def _as_input(node: OnnxNode, x: Expression) -> Value:
    """[N, C, T] as the first input is laid out."""
    if not node.attr_int("channels_last", 0):
        return x.value
    inner = shape(node.value(0))[2:]
    return x.transpose(0, 2, 1).reshape((x.shape[0], x.shape[2], *inner)).value


def _convolved(node: OnnxNode, x: Expression) -> Expression:
    """Each channel convolved with its weights, and what the activation makes of it."""
    attributes = {"group": x.shape[1], "dilations": [node.attr_int("dilation", 1)]}
    proto = NodeProto(name=node.proto.name, op_type="Conv", output=node.proto.output)
    proto.attribute.extend(helper.make_attribute(*pair) for pair in attributes.items())
    bias = node.value(2) if node.has(2) else None
    result = conv(node.replaced(proto, [x.value, node.value(1), bias]))
    assert not isinstance(result, np.ndarray)
    return activated(node, Expression(node, result), "none")
