"""Attention without softmax: a state of keys times values, which each token decays and adds to.

    state = exp(decay) state
    state = state + key beta (value - key state)
    result = scale query state

One token takes these steps as they are; several take them in an `scf.for`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from glow.dialects.errors import GlowError
from glow.dialects.glow import ExpOp, MatmulOp, SigmoidOp, SoftplusOp
from glow.frontends.onnx.control_flow.bodies import Iteration, stacking_loop
from glow.frontends.onnx.control_flow.regions import INDEX, element
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op

RULES = ("linear", "gated", "delta", "gated_delta")
"""Those with `gated` decay the state; those with `delta` add what it lacks alone."""


@dataclass
class Tokens:
    """What tokens do to a state [N, heads, keys, values], each [T, N, heads, ...]."""

    queries: Expression
    """[..., queries of a head, keys], scaled."""
    keys: Expression
    """[..., keys, 1]."""
    values: Expression
    """[..., 1, values]."""
    decay: Expression | None
    """[..., keys or 1, 1]."""
    beta: Expression | None
    """[..., 1, 1]; without it, all of a value is added."""

    def of_one(self, parts: Sequence[Operand]) -> Tokens:
        """One token, given what there is of it."""
        node = self.queries.node
        queries, keys, values, *rest = (Expression(node, x) for x in parts)
        decay = rest.pop(0) if self.decay is not None else None
        beta = rest.pop(0) if self.beta is not None else None
        return Tokens(queries, keys, values, decay, beta)

    def parts(self) -> list[Expression]:
        """What there is of them."""
        given = (self.queries, self.keys, self.values, self.decay, self.beta)
        return [x for x in given if x is not None]


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


def gates(node: OnnxNode) -> tuple[Expression | None, Expression | None]:
    """The decay and the rate, inputs 4 and 5, as far as the rule reads them."""
    rule = node.attr_string("update_rule", "gated_delta")
    refuse_if(rule not in RULES, f"update_rule {rule}")
    decay = given(node, 4, "decay") if "gated" in rule else None
    return decay, given(node, 5, "beta") if "delta" in rule else None


def _step(state: Expression, token: Tokens) -> tuple[Expression, Expression]:
    """The state after a token, and what its queries read there."""
    if token.decay is not None:
        state = state * token.decay.apply(ExpOp)
    values = token.values
    if token.beta is not None:
        known = token.keys.transpose(0, 1, 3, 2).apply(MatmulOp, state)
        values = (values - known) * token.beta
    state = state + token.keys * values
    return state, token.queries.apply(MatmulOp, state)


def _each_token(state: Expression, tokens: Tokens) -> tuple[Expression, Expression]:
    """The last state, and what each token reads."""
    graph, parts, count = state.node.graph, tokens.parts(), tokens.queries.shape[0]
    if count == 1:
        only = tokens.of_one([x.reshape(x.shape[1:]).value for x in parts])
        state, read = _step(state, only)
        return state, read.reshape((1, *read.shape))
    stacks = [graph.value_of(x.value) for x in parts]
    block = Block(arg_types=[INDEX, graph.value_of(state.value).type])
    index, before = block.args
    with graph.inside(block):
        token = tokens.of_one([element(graph, stack, index) for stack in stacks])
        after, read = _step(Expression(state.node, before), token)
    iteration = Iteration(block, [state.value], [after.value], [read.value])
    last, reads = stacking_loop(graph, iteration, count, count)
    return Expression(state.node, last), Expression(state.node, reads)


def heads_apart(x: Expression, heads: int, what: str) -> Expression:
    """[N, T, heads * size] as [T, N, heads, size]."""
    batch, count, width = x.shape
    if heads <= 0 or width % heads:
        raise GlowError(f"{what} of {width} channels are no {heads} heads of one size")
    return x.reshape((batch, count, heads, width // heads)).transpose(1, 0, 2, 3)


def _shared(x: Expression, heads: int) -> Expression:
    """[T, N, fewer heads, size] with each head as often as makes so many."""
    count, batch, few, size = x.shape
    if few >= heads:
        return x
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
        names = ("queries", "keys", "values")
        sizes = ", ".join(
            f"{name} {list(x.shape[2:])}"
            for name, x in zip(names, operands, strict=True)
        )
        raise GlowError(f"heads and their sizes do not fit: {sizes}")
    if state is None:
        state = keys.constant(np.zeros((batch, heads, size, width)))
    if state.shape != (batch, heads, size, width):
        wanted = [batch, heads, size, width]
        raise GlowError(f"a state of shape {list(state.shape)}, not {wanted}")
    scaled = queries * (scale or 1 / sqrt(size))
    outer = (count, batch, heads)
    last, read = _each_token(
        state,
        Tokens(
            scaled.reshape((*outer, number // heads, size)),
            keys.reshape((*outer, size, 1)),
            operands[2].reshape((*outer, 1, width)),
            *(None if x is None else x.reshape((*x.shape, 1)) for x in gates),
        ),
    )
    return read.reshape((count, batch, number, width)), last


@contrib_op("LinearAttention")
def linear_attention(node: OnnxNode) -> Sequence[Value]:
    """Queries, keys and values [N, T, heads * size]; the state is [N, heads, keys, values].

    A decay is one number a head, or one for each of its keys; a rate one a head, or one for all.
    """
    refuse_if(node.attr_int("state_window", 0) != 0, "state_window")
    number, heads = node.attr_int("q_num_heads", 0), node.attr_int("kv_num_heads", 0)
    names = {"query": number, "key": heads, "value": heads}
    queries, keys, values = (
        heads_apart(given(node, index, name), heads, name)
        for index, (name, heads) in enumerate(names.items())
    )
    decay, beta = gates(node)
    if decay is not None:
        decay = heads_apart(decay, heads, "decay")
    if beta is not None:
        beta = heads_apart(beta, beta.shape[2], "beta")
    state, scale = optional(node, 3), node.attr_float("scale", 0.0)
    read, last = recurrence((queries, keys, values), (decay, beta), state, scale)
    count, batch, number, width = read.shape
    result = read.transpose(1, 0, 2, 3).reshape((batch, count, number * width))
    kinds = [element_type(node.value(index)) for index in (0, 3 * node.has(3))]
    return [
        x.convert(kind).value for x, kind in zip((result, last), kinds, strict=True)
    ]


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
