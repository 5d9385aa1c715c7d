"""Attention of groups of heads that share keys and values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import OpResult

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import TRUE_IN_PADDING
from glow.dialects.glow import AddOp, LessOp, NegOp, SelectOp
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.operators.microsoft.attention import (
    Heads,
    attend,
    lowest,
    parts,
    refuse_attributes,
    refuse_inputs,
    split_heads,
    with_past,
)
from glow.frontends.onnx.operators.microsoft.rotary import angles, positions, turned
from glow.frontends.onnx.operators.microsoft.windowed_cache import WindowedCache
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op


@contrib_op("GroupQueryAttention")
def group_query_attention(node: OnnxNode) -> Sequence[Value]:
    """Causal attention of heads of which several share keys and values.

    With keys and values of earlier calls all sequences of the batch have one length. How long
    a single one is its data says, not its shape, which padding to a bucket makes longer.
    """
    names = ("k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens")
    refuse_inputs(node, **dict(zip(names, range(12, 17), strict=True)))
    refuse_attributes(node, causal=1, qk_output=0)
    node.refuse_outputs_from(3, "output_qk")
    heads = _queries_keys_values(node)
    for index in (3, 4):
        if node.has(index) and node.rank(index) != 4:
            past = list(node.shape(index))
            raise GlowError(f"a past of {past}, not [sequences, heads, rows, size]")
    if node.attr_int("sliding_window_cache", 0):
        return _with_windowed_cache(node, heads)
    return _with_whole_cache(node, heads)


def _with_whole_cache(node: OnnxNode, heads: Heads) -> Sequence[Value]:
    """Where the cache, if there is one, holds all positions."""
    past = shape(node.value(3))[2] if node.has(3) else 0
    if past:
        _check_lengths(node, past, shape(heads.keys)[2])
    _turn(node, heads, _places_behind(node, heads.queries) if past else None)
    if past:
        heads.keys = with_past(node, node.value(3), heads.keys)
        heads.values = with_past(node, node.value(4), heads.values)
    masks = [node.value(10)] if node.has(10) else []
    if past and not isinstance(node.value(5), Constant):
        masks.append(_padding_mask(node, heads.queries, shape(heads.keys)[2]))
    window, sinks = node.attr_int("local_window_size", -1), _sinks(node)
    result = attend(node, heads, masks, True, window, sinks)
    return [result, heads.keys, heads.values]


def _with_windowed_cache(node: OnnxNode, heads: Heads) -> Sequence[Value]:
    """Where the cache holds the last positions alone."""
    refuse_if(node.has(10), "attention_bias with sliding_window_cache")
    if not node.has(3):
        raise GlowError("sliding_window_cache needs past_key and past_value")
    cache = WindowedCache(node, shape(heads.queries)[2])
    _turn(node, heads, cache.positions().value)
    heads.keys = cache.joined(node.value(3), heads.keys)
    heads.values = cache.joined(node.value(4), heads.values)
    masks = [cache.mask(heads.queries)]
    result = attend(node, heads, masks, False, sinks=_sinks(node))
    return [result, cache.kept(heads.keys), cache.kept(heads.values)]


def _turn(node: OnnxNode, heads: Heads, usual: Operand | None) -> None:
    """Turn queries and keys by their positions, given or the usual ones, if they have some."""
    if not node.attr_int("do_rotary", 0):
        return
    interleaved = bool(node.attr_int("rotary_interleaved", 0))
    given = node.value(9) if node.has(9) else usual
    places = positions(node, given, heads.queries)
    pair = angles(node, (node.value(7), node.value(8)), places)
    heads.queries = turned(node, heads.queries, pair, interleaved)
    heads.keys = turned(node, heads.keys, pair, interleaved)


def _sinks(node: OnnxNode) -> Operand | None:
    """A score for each head of what is no key: of nothing, if softmax is only smooth."""
    heads = node.attr_int("num_heads", 0)
    if node.has(11):
        return node.reshape(node.value(11), (heads,))
    if node.attr_int("smooth_softmax", 0) > 0:
        zeros = np.zeros(heads, dtype_of(element_type(node.value(0))))
        return Constant(zeros, "sinks")
    return None


def _queries_keys_values(node: OnnxNode) -> Heads:
    """The three operands, which may be side by side in the first."""
    number, groups = node.attr_int("num_heads", 0), node.attr_int("kv_num_heads", 0)
    counts = (number, groups, groups)
    if node.has(1):
        operands = [node.value(index) for index in range(3)]
    else:
        width, total = node.shape(0)[-1], sum(counts)
        if total <= 0 or width % total:
            raise GlowError(f"{width} channels are no {total} heads of one size")
        size = width // total
        operands = parts(node, node.value(0), [size * n for n in counts])
    return Heads(
        *(split_heads(node, x, n) for x, n in zip(operands, counts, strict=True))
    )


def _check_lengths(node: OnnxNode, past: int, new: int) -> None:
    """Refuse a batch of sequences that have not the length of keys and past together."""
    batch, total = node.shape(0)[0], past + new
    lengths = {total - 1} if batch == 1 else set(node.integers(5, "seqlens_k"))
    refuse_if(lengths != {total - 1}, "a past with sequences of several lengths")
    given = node.integers(6, "total_sequence_length")
    what = f"a past of {past} and {new} more, where total_sequence_length is {given[0]}"
    refuse_if(given != [total], what)


def _last_place(node: OnnxNode) -> Operand:
    """The place of the last key of each sequence, [N, 1, 1, 1]."""
    last = node.convert(node.value(5), i64)
    return node.reshape(last, (node.shape(0)[0], 1, 1, 1))


def _places_behind(node: OnnxNode, queries: Operand) -> Operand:
    """The positions [N, L] of queries, of which the last is that of the last key."""
    batch, _, length, _ = shape(queries)
    before = np.arange(1 - length, 1).reshape(1, length)
    last = node.reshape(_last_place(node), (batch, 1))
    return node.emit(AddOp, last, Constant(before, "positions"))


def _padding_mask(node: OnnxNode, queries: Operand, count: int) -> Operand:
    """What is added to scores [N, heads, L, T]: nothing where there are keys.

    Keys are the last elements: what padding has added is before them.
    """
    backwards = Constant(np.arange(1 - count, 1).reshape(1, 1, 1, count), "places")
    first = node.emit(NegOp, _last_place(node))
    hidden = node.emit(LessOp, backwards, first)
    if isinstance(hidden, OpResult):
        hidden.op.attributes[TRUE_IN_PADDING] = UnitAttr()
    nothing = node.number(0.0, queries)
    return node.emit(SelectOp, hidden, node.number(lowest(queries), queries), nothing)
