"""Attention without softmax: a state of keys times values that tokens decay and add to."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from xdsl.dialects.builtin import f32

from glow.dialects.errors import GlowError
from glow.dialects.glow import SigmoidOp, SoftplusOp
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.operators.microsoft.chunked_recurrence import Tokens, run
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op

RULES = ("linear", "gated", "delta", "gated_delta")
"""Those with `gated` decay the state; those with `delta` add what it lacks alone."""


def optional(node: OnnxNode, index: int) -> Expression | None:
    """An input in f32, if it is there."""
    if not node.has(index):
        return None
    return Expression(node, node.convert(node.value(index), f32))


def given(node: OnnxNode, index: int, name: str) -> Expression:
    """An input in f32; GlowError if it is not there."""
    value = optional(node, index)
    if value is None:
        raise GlowError(f"the input {name} is needed")
    return value


def check_axes(x: Expression, what: str, axes: Sequence[str]) -> None:
    """GlowError for a value that has other axes."""
    if len(x.shape) != len(axes):
        wanted = ", ".join(axes)
        raise GlowError(f"{what} has shape {list(x.shape)}, not [{wanted}]")


def gate_inputs(node: OnnxNode) -> tuple[Expression | None, Expression | None]:
    """The decay and the rate, inputs 4 and 5, as far as the rule reads them."""
    rule = node.attr_string("update_rule", "gated_delta")
    refuse_if(rule not in RULES, f"update_rule {rule}")
    decay = given(node, 4, "decay") if "gated" in rule else None
    return decay, given(node, 5, "beta") if "delta" in rule else None


def heads_apart(x: Expression, heads: int, what: str) -> Expression:
    """[N, T, heads * size] as [T, N, heads, size]."""
    check_axes(x, what, ("sequences", "tokens", "channels"))
    batch, count, width = x.shape
    if heads <= 0 or width % heads:
        raise GlowError(f"{what} of {width} channels are no {heads} heads of one size")
    return x.reshape((batch, count, heads, width // heads)).transpose(1, 0, 2, 3)


def _shared(x: Expression, heads: int) -> Expression:
    """[T, N, fewer heads, size] with each head as often as makes so many."""
    count, batch, few, size = x.shape
    if few >= heads:
        return x
    if not few or heads % few:
        raise GlowError(f"{few} heads cannot be shared by {heads}")
    apart = x.reshape((count, batch, few, 1, size))
    wide = apart.broadcast((count, batch, few, heads // few, size))
    return wide.reshape((count, batch, heads, size))


def recurrence(
    operands: tuple[Expression, Expression, Expression],
    gates: tuple[Expression | None, Expression | None],
    state: Expression | None,
    scale: float = 0.0,
) -> tuple[Expression, Expression]:
    """What tokens read [T, N, heads of queries, values], and the state after them.

    Queries and keys are [T, N, heads, keys], values [T, N, heads of the state, values], gates
    [T, N, heads, keys or 1]. Heads of the state share queries and keys where there are fewer of
    those; where there are more, each has several queries. GlowError for sizes that do not fit.
    """
    _, batch, heads, width = operands[2].shape
    queries, keys = (_shared(x, heads) for x in operands[:2])
    count, _, number, size = queries.shape
    if number % heads or keys.shape != (count, batch, heads, size):
        found = [list(x.shape[2:]) for x in operands]
        raise GlowError(f"queries, keys and values of heads and sizes {found}")
    wanted = (batch, heads, size, width)
    state = keys.constant(np.zeros(wanted)) if state is None else state
    if state.shape != wanted:
        raise GlowError(f"a state of shape {list(state.shape)}, not {list(wanted)}")
    scaled = queries * (scale or 1 / sqrt(size))
    return run(Tokens(scaled, keys, operands[2], *gates), state)


@contrib_op("LinearAttention")
def linear_attention(node: OnnxNode) -> Sequence[Value]:
    """Queries, keys and values [N, T, heads * size]; the state is [N, heads, keys, values].

    A decay is one number a head, or one for each of its keys; a rate one a head, or one for all.
    """
    refuse_if(node.attr_int("state_window", 0) != 0, "state_window")
    scale = node.attr_float("scale", 0.0)
    read, last = recurrence(
        _packed_operands(node), _packed_gates(node), optional(node, 3), scale
    )
    count, batch, number, width = read.shape
    result = read.transpose(1, 0, 2, 3).reshape((batch, count, number * width))
    held = element_type(node.value(3 if node.has(3) else 0))
    return [result.convert(element_type(node.value(0))).value, last.convert(held).value]


def _packed_operands(node: OnnxNode) -> tuple[Expression, Expression, Expression]:
    heads = node.attr_int("kv_num_heads", 0)
    return (
        heads_apart(given(node, 0, "query"), node.attr_int("q_num_heads", 0), "query"),
        heads_apart(given(node, 1, "key"), heads, "key"),
        heads_apart(given(node, 2, "value"), heads, "value"),
    )


def _packed_gates(node: OnnxNode) -> tuple[Expression | None, Expression | None]:
    decay, rate = gate_inputs(node)
    if decay is not None:
        decay = heads_apart(decay, node.attr_int("kv_num_heads", 0), "decay")
    if rate is not None:
        rate = heads_apart(rate, rate.shape[-1], "beta")
    return decay, rate


@contrib_op("LinearAttentionGate")
def linear_attention_gate(node: OnnxNode) -> Sequence[Value]:
    """The decay of heads from a projection, and the rate from another."""
    kind = element_type(node.value(0))
    projected, bias, scale = (
        given(node, index, name)
        for index, name in enumerate(("a", "dt_bias", "decay_scale"))
    )
    decay = ((projected + bias).apply(SoftplusOp) * scale).convert(kind).value
    rate = optional(node, 3)
    if rate is None:
        return [decay]
    return [decay, rate.apply(SigmoidOp).convert(kind).value]
