"""`GatedDeltaNet`: linear attention whose operands are laid out by tokens.

The state is [N, heads, values, keys], the other way round than that of `LinearAttention`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32

from glow.dialects.errors import GlowError
from glow.dialects.glow import ExpOp, ReduceSumOp, RsqrtOp, SigmoidOp, SoftplusOp
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.operators.microsoft.attention import (
    refuse_attributes,
    refuse_inputs,
)
from glow.frontends.onnx.operators.microsoft.linear_attention import (
    check_axes,
    gate_inputs,
    given,
    optional,
    recurrence,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op

LEAST_SQUARE = 1e-12
"""What ONNX Runtime adds to the squared length of a query or key that it normalizes."""


@dataclass(frozen=True)
class Layout:
    """How many sequences there are, and tokens of each."""

    batch: int
    count: int

    def by_tokens(self, x: Expression, *heads: int) -> Expression:
        """[N T, *heads] or [N, T, *heads] as [T, N, *heads]."""
        if x.shape not in (
            (self.batch * self.count, *heads),
            (self.batch, self.count, *heads),
        ):
            sizes = f"{self.batch} sequences of {self.count} tokens"
            raise GlowError(f"{list(x.shape)} are not {list(heads)} for {sizes}")
        order = (1, 0, *range(2, 2 + len(heads)))
        return x.reshape((self.batch, self.count, *heads)).transpose(*order)

    def gate(self, x: Expression, heads: int, keys: int) -> Expression:
        """The same of one number a head, or one for each key of it: [T, N, heads, keys or 1]."""
        tokens = self.batch * self.count
        if prod(x.shape) == tokens * heads * keys and x.shape[-1] == keys:
            return self.by_tokens(x, heads, keys)
        return self.by_tokens(x.reshape((*x.shape, 1)), heads, 1)


def _layout(query: Expression, rank: int, state: Expression | None) -> Layout:
    """Of queries of that rank; those of one axis less leave it to the state."""
    if len(query.shape) == rank:
        return Layout(*query.shape[:2])
    if state is None:
        raise GlowError("initial_state is needed: how many sequences there are")
    batch, tokens = state.shape[0], query.shape[0]
    if not batch or tokens % batch:
        raise GlowError(f"{tokens} tokens are no {batch} sequences of one length")
    return Layout(batch, tokens // batch)


def _packed(
    query: Expression, state: Expression | None
) -> tuple[Layout, tuple[Expression, Expression, Expression]]:
    """Queries, keys and values that are side by side; the state says where they end."""
    if state is None:
        raise GlowError(
            "initial_state is needed: what of the query are keys and values"
        )
    layout, (_, heads, width, size) = _layout(query, 3, state), state.shape
    channels = query.shape[-1]
    number = max(channels - heads * width, 0) // (2 * size)
    if 2 * number * size + heads * width != channels:
        raise GlowError(f"{channels} channels hold no {heads} heads of {width} values")
    ends = (0, number * size, 2 * number * size)
    query, key, value = (
        layout.by_tokens(_heads(query, start, *head), *head)
        for start, head in zip(
            ends, ((number, size), (number, size), (heads, width)), strict=True
        )
    )
    return layout, (query, key, value)


def _heads(x: Expression, start: int, heads: int, size: int) -> Expression:
    """Some channels from one on, [..., heads, size]."""
    own = x.part(len(x.shape) - 1, start, heads * size)
    return own.reshape((*x.shape[:-1], heads, size))


def _operands(
    node: OnnxNode, state: Expression | None
) -> tuple[Layout, tuple[Expression, Expression, Expression]]:
    """Queries, keys and values, [T, N, heads, size] each."""
    query = given(node, 0, "query")
    if not node.has(1) and not node.has(2):
        return _packed(query, state)
    layout = _layout(query, 4, state)
    named = (query, given(node, 1, "key"), given(node, 2, "value"))
    query, key, value = (layout.by_tokens(x, *x.shape[-2:]) for x in named)
    return layout, (query, key, value)


def _normalized(x: Expression) -> Expression:
    """Each head over its length."""
    square = (x * x).apply(ReduceSumOp, axes=(3,), keepdims=True)
    return x * (square + LEAST_SQUARE).apply(RsqrtOp)


def _bias(node: OnnxNode, decay: Expression) -> Expression:
    """The bias of a gate [T, N, heads, keys or 1], one a head or one a key."""
    bias, (heads, keys) = given(node, 8, "dt_bias"), decay.shape[2:]
    if prod(bias.shape) not in (heads, heads * keys):
        raise GlowError(
            f"dt_bias of shape {list(bias.shape)} does not fit {heads} heads"
        )
    return bias.reshape((heads, prod(bias.shape) // heads))


def _rate(node: OnnxNode, decay: Expression) -> Expression:
    """The exponential of `a_log`, of each head."""
    return given(node, 7, "a_log").reshape((decay.shape[2], 1)).apply(ExpOp)


def _softplus(node: OnnxNode, decay: Expression) -> Expression:
    opened = (decay + _bias(node, decay)).apply(SoftplusOp)
    return -(opened * _rate(node, decay))


def _sigmoid(node: OnnxNode, decay: Expression) -> Expression:
    lowest = node.attr_float("gate_lower_bound", -5.0)
    opened = (decay + _bias(node, decay)) * _rate(node, decay)
    return opened.apply(SigmoidOp) * lowest


GATE_ACTIVATIONS: Mapping[str, Callable[[OnnxNode, Expression], Expression]] = {
    "none": lambda _, decay: decay,
    "softplus": _softplus,
    "qwen": _softplus,
    "sigmoid": _sigmoid,
    "kda": _sigmoid,
}


def _gates(
    node: OnnxNode, layout: Layout, heads: int, keys: int
) -> tuple[Expression | None, Expression | None]:
    """The decay and the rate, [T, N, heads, keys or 1]."""
    decay, beta = gate_inputs(node)
    kind = node.attr_string("gate_activation", "none")
    refuse_if(kind not in GATE_ACTIVATIONS, f"gate_activation {kind}")
    if decay is not None:
        decay = GATE_ACTIVATIONS[kind](node, layout.gate(decay, heads, keys))
    kind = node.attr_string("beta_activation", "none")
    refuse_if(kind not in ("none", "sigmoid"), f"beta_activation {kind}")
    if beta is not None:
        beta = layout.gate(beta, heads, 1)
        beta = beta.apply(SigmoidOp) if kind == "sigmoid" else beta
    return decay, beta


@contrib_op("GatedDeltaNet")
def gated_delta_net(node: OnnxNode) -> Sequence[Value]:
    """Queries, keys and values [N T, heads, size] or [N, T, heads, size], or side by side.

    Gates may be projections that an activation makes a decay and a rate of.
    """
    refuse_inputs(node, cu_seqlens=3)
    refuse_attributes(node, state_update_capacity=0)
    state, query = optional(node, 6), node.value(0)
    if state is not None:
        check_axes(state, "initial_state", ("sequences", "heads", "values", "keys"))
    layout, (queries, keys, values) = _operands(node, state)
    if node.attr_int("qk_l2_norm", 0):
        queries, keys = _normalized(queries), _normalized(keys)
    found = _gates(node, layout, values.shape[2], keys.shape[3])
    turned = None if state is None else state.transpose(0, 1, 3, 2)
    scale = node.attr_float("scale", 0.0)
    read, last = recurrence((queries, keys, values), found, turned, scale)
    outer = node.shape(0)[: -2 if node.has(1) else -1]
    result = read.transpose(1, 0, 2, 3).reshape((*outer, *read.shape[2:]))
    final = last.transpose(0, 1, 3, 2).convert(f32)
    return [result.convert(element_type(query)).value, final.value]
