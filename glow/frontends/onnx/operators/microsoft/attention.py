"""Attention with its projections, masks, rotations and caches, as `glow.attention`.

Heads are the second axis of what `_attend` takes: [N, heads, L, size].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from xdsl.dialects.builtin import f32

from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    AddOp,
    AttentionOp,
    ConcatOp,
    GatherOp,
    LessOp,
    MatmulIntegerOp,
    MatmulOp,
    MulOp,
    SelectOp,
    SliceOp,
    SubOp,
)
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.refusal import UnsupportedError, refuse_if
from glow.frontends.onnx.registry import contrib_op

LOWEST = float(np.finfo(np.float32).min)


@dataclass
class Heads:
    """Queries, keys and values, [N, heads, L, size] each."""

    queries: Operand
    keys: Operand
    values: Operand


def _cut(node: OnnxNode, value: Operand, axis: int, start: int, size: int) -> Operand:
    """`size` elements of an axis."""
    sizes = [*shape(value)]
    if (start, size) == (0, sizes[axis]):
        return value
    if isinstance(value, Constant):
        return Constant(value.array.take(range(start, start + size), axis), value.name)
    starts = [0] * len(sizes)
    starts[axis], sizes[axis] = start, size
    steps = [1] * len(sizes)
    return node.emit(SliceOp, value, starts=starts, sizes=sizes, steps=steps)


def _parts(node: OnnxNode, value: Operand, sizes: Sequence[int]) -> list[Operand]:
    """The last axis in pieces."""
    axis, starts = len(shape(value)) - 1, np.cumsum([0, *sizes]).tolist()
    return [
        _cut(node, value, axis, start, size)
        for start, size in zip(starts, sizes, strict=False)
    ]


def _split_heads(node: OnnxNode, value: Operand, heads: int) -> Operand:
    """[N, L, heads * size] as [N, heads, L, size]; what has four axes stays."""
    if len(shape(value)) == 4:
        return value
    batch, length, width = shape(value)
    if heads <= 0 or width % heads:
        raise GlowError(f"{width} channels are no {heads} heads of one size")
    apart = node.reshape(value, (batch, length, heads, width // heads))
    return node.transpose(apart, [0, 2, 1, 3])


def _attend(
    node: OnnxNode, heads: Heads, masks: Sequence[Operand], causal: bool
) -> Value:
    """Softmax-weighted values, [N, L, heads * size]; masks are added to the scores."""
    length, size = shape(heads.queries)[2:]
    count = shape(heads.keys)[2]
    element = dtype_of(element_type(heads.queries))
    masks = list(masks)
    if causal and length > 1:
        least = float(np.finfo(np.float16).min) if element.itemsize == 2 else LOWEST
        later = np.triu(np.full((length, count), least, element), 1 + count - length)
        masks.append(Constant(later, "causal"))
    total = masks[:1]
    for mask in masks[1:]:
        total = [node.emit(AddOp, total[0], mask)]
    scale = node.attr_float("scale", 0.0) or 1 / sqrt(size)
    operands = (heads.queries, heads.keys, heads.values, *total)
    result = node.emit(AttentionOp, *operands, types=None, scale=scale)
    batch, number, _, width = shape(result)
    return node.reshape(
        node.transpose(result, [0, 2, 1, 3]), (batch, length, number * width)
    )


def _padding_mask(node: OnnxNode, mask: Operand, like: Operand, keys: int) -> Operand:
    """What is added to scores [N, heads, L, T] where words do not count.

    The mask is 1 where they do, [N, T] or [N, L, T], or says how many do, [N].
    """
    sizes = shape(mask)
    batch = shape(like)[0]
    filtered = node.number(node.attr_float("mask_filter_value", -10000.0), like)
    if sizes == (batch,):
        places = Constant(
            np.arange(keys, dtype=np.int32).reshape(1, 1, 1, keys), "places"
        )
        counts = node.reshape(mask, (batch, 1, 1, 1))
        counts = node.convert(counts, element_type(places))
        inside = node.emit(LessOp, places, counts)
    elif sizes in ((batch, keys), (batch, shape(like)[2], keys)):
        middle = (1, 1) if len(sizes) == 2 else (1, sizes[1])
        spread = node.reshape(mask, (batch, *middle, keys))
        inside = node.emit(LessOp, node.number(0, spread), spread)
    else:
        raise UnsupportedError(f"a mask of shape {list(sizes)}")
    return node.emit(SelectOp, inside, node.number(0.0, like), filtered)


def _with_past(node: OnnxNode, past: Operand, new: Operand) -> Operand:
    """Keys or values of earlier calls before those of this one."""
    return new if shape(past)[2] == 0 else node.emit(ConcatOp, past, new, axis=2)


def _refuse_inputs(node: OnnxNode, **inputs: int) -> None:
    for name, index in inputs.items():
        refuse_if(node.has(index), f"input {name}")


def _refuse_attributes(node: OnnxNode, **defaults: float) -> None:
    for name, default in defaults.items():
        found = (
            node.attr_float(name, default)
            if isinstance(default, float)
            else node.attr_int(name, int(default))
        )
        refuse_if(found != default, f"{name} = {found}")


# -- attention of one input


@contrib_op("Attention")
def attention(node: OnnxNode) -> Sequence[Value]:
    """Projections of one input, then attention between them."""
    _refuse_inputs(node, past_sequence_length=6)
    product = node.emit(MatmulOp, node.value(0), node.value(1))
    if node.has(2):
        product = node.emit(AddOp, product, node.value(2))
    return _self_attention(node, product, mask=3, past=4, bias=5)


@contrib_op("QAttention")
def quantized_attention(node: OnnxNode) -> Sequence[Value]:
    """Attention whose projection is one of 8-bit integers."""
    points = [
        node.value(index)
        if node.has(index)
        else Constant(
            np.array(0, dtype_of(element_type(node.value(index - 6)))), "zero"
        )
        for index in (6, 7)
    ]
    sums = node.emit(MatmulIntegerOp, node.value(0), node.value(1), *points)
    units = node.emit(MulOp, node.value(3), node.value(4))
    product = node.emit(MulOp, node.convert(sums, f32), units)
    product = node.emit(AddOp, product, node.value(2))
    return _self_attention(node, product, mask=5, past=8, bias=9)


def _self_attention(
    node: OnnxNode, product: Operand, *, mask: int, past: int, bias: int
) -> Sequence[Value]:
    """Attention of projected queries, keys and values, side by side in the last axis."""
    _refuse_attributes(node, do_rotary=0, past_present_share_buffer=0)
    number, width = node.attr_int("num_heads", 0), shape(product)[-1]
    sizes = node.attr_ints("qkv_hidden_sizes") or [width // 3] * 3
    queries, keys, values = (
        _split_heads(node, part, number) for part in _parts(node, product, sizes)
    )
    if node.has(past):
        before = node.value(past)
        halves = [
            node.reshape(_cut(node, before, 0, k, 1), shape(before)[1:]) for k in (0, 1)
        ]
        keys, values = (
            _with_past(node, *pair) for pair in zip(halves, (keys, values), strict=True)
        )
    masks: list[Operand] = []
    if node.has(mask):
        masks.append(_padding_mask(node, node.value(mask), queries, shape(keys)[2]))
    if node.has(bias):
        masks.append(node.value(bias))
    heads = Heads(queries, keys, values)
    result = _attend(node, heads, masks, bool(node.attr_int("unidirectional", 0)))
    if not node.uses(1):
        return [result]
    stacked = [node.reshape(x, (1, *shape(x))) for x in (keys, values)]
    return [result, node.emit(ConcatOp, *stacked, axis=0)]


@contrib_op("MultiHeadAttention")
def multi_head_attention(node: OnnxNode) -> Sequence[Value]:
    """Attention of queries [N, L, E] over keys and values [N, T, E] or [N, heads, T, size]."""
    _refuse_inputs(node, past_sequence_length=8, cache_indirection=9)
    node.refuse_outputs_from(3, "the scores as a result")
    refuse_if(node.rank(0) != 3 or not node.has(2), "packed queries, keys and values")
    number = node.attr_int("num_heads", 0)
    operands = [node.value(index) for index in range(3)]
    if node.has(3):
        widths = [shape(operands[k])[-1] for k in (0, 0, 2)]
        refuse_if(node.rank(1) != 3, "a bias of keys of four axes")
        biases = _parts(node, node.value(3), widths)
        operands = [
            node.emit(AddOp, operand, bias)
            for operand, bias in zip(operands, biases, strict=True)
        ]
    queries, keys, values = (_split_heads(node, x, number) for x in operands)
    if node.has(6) and node.has(7):
        keys = _with_past(node, node.value(6), keys)
        values = _with_past(node, node.value(7), values)
    masks: list[Operand] = []
    if node.has(4):
        masks.append(_padding_mask(node, node.value(4), queries, shape(keys)[2]))
    if node.has(5):
        masks.append(node.value(5))
    causal = bool(node.attr_int("unidirectional", 0))
    heads = Heads(queries, keys, values)
    return [_attend(node, heads, masks, causal), keys, values]


# -- groups of queries that share keys


@contrib_op("GroupQueryAttention")
def group_query_attention(node: OnnxNode) -> Sequence[Value]:
    """Causal attention of heads of which several share keys and values.

    With keys and values of earlier calls all sequences of the batch have one length.
    """
    names = ("output_qk", "attention_bias", "head_sink", "k_scale", "v_scale",
             "q_norm_weight", "k_norm_weight", "query_seqlens")  # fmt: skip
    _refuse_inputs(node, **dict(zip(names[1:], range(10, 17), strict=True)))
    _refuse_attributes(
        node, softcap=0.0, smooth_softmax=0, local_window_size=-1, causal=1, qk_output=0
    )
    node.refuse_outputs_from(3, names[0])
    number, groups = node.attr_int("num_heads", 0), node.attr_int("kv_num_heads", 0)
    operands = _queries_keys_values(node, number, groups)
    queries, keys, values = (
        _split_heads(node, x, heads)
        for x, heads in zip(operands, (number, groups, groups), strict=True)
    )
    past = shape(node.value(3))[2] if node.has(3) else 0
    if past:
        _check_lengths(node, past + shape(keys)[2])
    if node.attr_int("do_rotary", 0):
        interleaved = bool(node.attr_int("rotary_interleaved", 0))
        caches = (node.value(7), node.value(8))
        places = _places(node, node.value(9) if node.has(9) else None, queries, past)
        queries, keys = (
            _rotated(node, x, places, caches, interleaved) for x in (queries, keys)
        )
    if past:
        keys = _with_past(node, node.value(3), keys)
        values = _with_past(node, node.value(4), values)
    shared = [_repeated(node, x, number // groups) for x in (keys, values)]
    return [_attend(node, Heads(queries, *shared), (), True), keys, values]


def _queries_keys_values(node: OnnxNode, number: int, groups: int) -> list[Operand]:
    """The three operands, which may be side by side in the first."""
    if node.has(1):
        return [node.value(index) for index in range(3)]
    size = node.shape(0)[-1] // (number + 2 * groups)
    return _parts(node, node.value(0), [size * n for n in (number, groups, groups)])


def _check_lengths(node: OnnxNode, total: int) -> None:
    """Refuse a batch of sequences that have not the length of keys and past together."""
    batch = node.shape(0)[0]
    lengths = {total - 1} if batch == 1 else set(node.integers(5, "seqlens_k"))
    refuse_if(lengths != {total - 1}, "a past with sequences of several lengths")
    given = node.integers(6, "total_sequence_length")
    refuse_if(given != [total], "a past that is longer than the sequence")


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
    _refuse_attributes(node, is_packed_batching=0, scale=1.0)
    value, number = node.value(0), node.attr_int("num_heads", 0)
    size = 2 * node.shape(2)[1]
    if node.rank(0) == 3:
        number = number or node.shape(0)[-1] // size
    heads = _split_heads(node, value, number)
    places = _places(node, node.value(1), heads, 0)
    caches = (node.value(2), node.value(3))
    interleaved = bool(node.attr_int("interleaved", 0))
    turned = _rotated(node, heads, places, caches, interleaved)
    if node.rank(0) == 4:
        return turned
    return node.reshape(node.transpose(turned, [0, 2, 1, 3]), node.shape(0))


def _places(
    node: OnnxNode, given: Operand | None, heads: Operand, past: int
) -> Operand:
    """The positions [N or 1, L]: given, or counted from a first one."""
    length = shape(heads)[2]
    counted = np.arange(past, past + length, dtype=np.int64).reshape(1, length)
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
    turned, rest = _parts(node, value, [2 * half, size - 2 * half])
    pair = (half, 2) if interleaved else (2, half)
    axis = 4 if interleaved else 3
    apart = node.reshape(turned, (batch, heads, length, *pair))
    left, right = (
        node.reshape(_cut(node, apart, axis, k, 1), (batch, heads, length, half))
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
