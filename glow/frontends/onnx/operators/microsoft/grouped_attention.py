"""Attention of groups of heads that share keys and values, and rotary positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import OpResult

from glow.dialects.function_attributes import TRUE_IN_PADDING
from glow.dialects.glow import (
    AddOp,
    ConcatOp,
    GatherOp,
    LessOp,
    MulOp,
    NegOp,
    SelectOp,
    SubOp,
)
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.operators.microsoft.attention import (
    LOWEST,
    Heads,
    attend,
    cut,
    parts,
    refuse_attributes,
    refuse_inputs,
    split_heads,
    with_past,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op


@contrib_op("GroupQueryAttention")
def group_query_attention(node: OnnxNode) -> Sequence[Value]:
    """Causal attention of heads of which several share keys and values.

    With keys and values of earlier calls all sequences of the batch have one length. How long
    a single one is its data says, not its shape, which padding to a bucket makes longer.
    """
    names = ("head_sink", "k_scale", "v_scale", "q_norm_weight", "k_norm_weight",
             "query_seqlens")  # fmt: skip
    refuse_inputs(node, **dict(zip(names, range(11, 17), strict=True)))
    refuse_attributes(node, smooth_softmax=0, causal=1, qk_output=0)
    node.refuse_outputs_from(3, "output_qk")
    number, groups = node.attr_int("num_heads", 0), node.attr_int("kv_num_heads", 0)
    operands = _queries_keys_values(node, number, groups)
    queries, keys, values = (
        split_heads(node, x, heads)
        for x, heads in zip(operands, (number, groups, groups), strict=True)
    )
    past = shape(node.value(3))[2] if node.has(3) else 0
    if past:
        _check_lengths(node, past, shape(keys)[2])
    if node.attr_int("do_rotary", 0):
        interleaved = bool(node.attr_int("rotary_interleaved", 0))
        caches = (node.value(7), node.value(8))
        given = node.value(9) if node.has(9) else None
        if past and given is None:
            given = _places_behind(node, queries)
        places = _places(node, given, queries)
        queries, keys = (
            _rotated(node, x, places, caches, interleaved) for x in (queries, keys)
        )
    if past:
        keys = with_past(node, node.value(3), keys)
        values = with_past(node, node.value(4), values)
    shared = [_repeated(node, x, number // groups) for x in (keys, values)]
    masks = [node.value(10)] if node.has(10) else []
    if past and not isinstance(node.value(5), Constant):
        masks.append(_padding_mask(node, queries, shape(keys)[2]))
    window = node.attr_int("local_window_size", -1)
    result = attend(node, Heads(queries, *shared), masks, True, window)
    return [result, keys, values]


def _queries_keys_values(node: OnnxNode, number: int, groups: int) -> list[Operand]:
    """The three operands, which may be side by side in the first."""
    if node.has(1):
        return [node.value(index) for index in range(3)]
    size = node.shape(0)[-1] // (number + 2 * groups)
    return parts(node, node.value(0), [size * n for n in (number, groups, groups)])


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
    return node.emit(SelectOp, hidden, node.number(LOWEST, queries), nothing)


def _repeated(node: OnnxNode, value: Operand, count: int) -> Operand:
    """Each head so many times."""
    batch, heads, length, size = shape(value)
    apart = node.reshape(value, (batch, heads, 1, length, size))
    wide = node.broadcast(apart, (batch, heads, count, length, size))
    return node.reshape(wide, (batch, heads * count, length, size))


# -- rotary positions


@contrib_op("RotaryEmbedding")
def rotary_embedding(node: OnnxNode) -> Value:
    """Pairs of channels turned by angles of their positions, [N, L, E] or [N, heads, L, size]."""
    refuse_attributes(node, is_packed_batching=0, scale=1.0)
    value, number = node.value(0), node.attr_int("num_heads", 0)
    size = 2 * node.shape(2)[1]
    if node.rank(0) == 3:
        number = number or node.shape(0)[-1] // size
    heads = split_heads(node, value, number)
    places = _places(node, node.value(1), heads)
    caches = (node.value(2), node.value(3))
    interleaved = bool(node.attr_int("interleaved", 0))
    turned = _rotated(node, heads, places, caches, interleaved)
    if node.rank(0) == 4:
        return turned
    return node.reshape(node.transpose(turned, [0, 2, 1, 3]), node.shape(0))


def _places(node: OnnxNode, given: Operand | None, heads: Operand) -> Operand:
    """The positions [N or 1, L]: given, or counted from a first one."""
    length = shape(heads)[2]
    counted = np.arange(length, dtype=np.int64).reshape(1, length)
    if given is None:
        return Constant(counted, "positions")
    if int(np.prod(shape(given))) == 1 and shape(given) != (shape(heads)[0], length):
        offsets = Constant(counted.astype(dtype_of(element_type(given))), "positions")
        return node.emit(AddOp, node.reshape(given, (1, 1)), offsets)
    return given


def _rotated(
    node: OnnxNode,
    value: Operand,
    places: Operand,
    caches: tuple[Operand, Operand],
    interleaved: bool,
) -> Operand:
    """[N, heads, L, size] with the first channels turned; caches are [positions, half]."""
    batch, heads, length, size = shape(value)
    half = shape(caches[0])[1]
    angles = [node.emit(GatherOp, cache, places, axis=0) for cache in caches]
    cosine, sine = (
        node.reshape(angle, (shape(places)[0], 1, length, half)) for angle in angles
    )
    turned, rest = parts(node, value, [2 * half, size - 2 * half])
    pair = (half, 2) if interleaved else (2, half)
    axis = 4 if interleaved else 3
    apart = node.reshape(turned, (batch, heads, length, *pair))
    left, right = (
        node.reshape(cut(node, apart, axis, k, 1), (batch, heads, length, half))
        for k in (0, 1)
    )
    results = (
        node.emit(SubOp, node.emit(MulOp, left, cosine), node.emit(MulOp, right, sine)),
        node.emit(AddOp, node.emit(MulOp, left, sine), node.emit(MulOp, right, cosine)),
    )
    one = (half, 1) if interleaved else (1, half)
    stacked = [node.reshape(x, (batch, heads, length, *one)) for x in results]
    joined = node.emit(ConcatOp, *stacked, axis=axis)
    whole = node.reshape(joined, (batch, heads, length, 2 * half))
    return whole if size == 2 * half else node.emit(ConcatOp, whole, rest, axis=3)
