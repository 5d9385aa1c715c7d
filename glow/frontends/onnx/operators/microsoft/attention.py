"""Attention with its projections, masks, rotations and caches, as `glow.attention`.

Heads are the second axis of what `attend` takes: [N, heads, L, size].
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
    LessOp,
    MatmulIntegerOp,
    MatmulOp,
    MulOp,
    SelectOp,
    SliceOp,
    SoftmaxOp,
    TanhOp,
)
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.refusal import UnsupportedError, refuse_if
from glow.frontends.onnx.registry import contrib_op


def lowest(scores: Operand) -> float:
    """What is added to scores of such elements that do not count."""
    is_half = dtype_of(element_type(scores)).itemsize == 2
    return float(np.finfo(np.float16 if is_half else np.float32).min)


@dataclass
class Heads:
    """Queries, keys and values, [N, heads, L, size] each; heads may share keys and values."""

    queries: Operand
    keys: Operand
    values: Operand


def cut(node: OnnxNode, value: Operand, axis: int, start: int, size: int) -> Operand:
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


def parts(node: OnnxNode, value: Operand, sizes: Sequence[int]) -> list[Operand]:
    """The last axis in pieces."""
    axis, starts = len(shape(value)) - 1, np.cumsum([0, *sizes]).tolist()
    return [
        cut(node, value, axis, start, size)
        for start, size in zip(starts, sizes, strict=False)
    ]


def split_heads(node: OnnxNode, value: Operand, heads: int) -> Operand:
    """[N, L, heads * size] as [N, heads, L, size]; what has four axes stays."""
    if len(shape(value)) == 4:
        return value
    if len(shape(value)) != 3:
        raise GlowError(f"{list(shape(value))} is not [sequences, words, channels]")
    batch, length, width = shape(value)
    if heads <= 0 or width % heads:
        raise GlowError(f"{width} channels are no {heads} heads of one size")
    apart = node.reshape(value, (batch, length, heads, width // heads))
    return node.transpose(apart, [0, 2, 1, 3])


def attend(
    node: OnnxNode,
    heads: Heads,
    masks: Sequence[Operand],
    causal: bool,
    window: int = -1,
    sinks: Operand | None = None,
) -> Value:
    """Softmax-weighted values, [N, L, heads * size]; masks are added to the scores.

    `window`: of causal attention, how many keys up to its own one a query looks at. Its mask is
    there for fewer keys as well: networks for all lengths are the same nodes.
    `sinks`: a score [heads] of one more key, whose value is zero.
    """
    length, size = shape(heads.queries)[2:]
    masks = list(masks)
    if causal and (length > 1 or window > 0):
        masks.append(_causal_mask(heads, window))
    total = masks[:1]
    for mask in masks[1:]:
        total = [node.emit(AddOp, total[0], mask)]
    scale = node.attr_float("scale", 0.0) or 1 / sqrt(size)
    cap = node.attr_float("softcap", 0.0)
    if sinks is not None:
        refuse_if(cap != 0, "head_sink or smooth_softmax with softcap")
        heads, total = _with_sinks(node, heads, total, (sinks, scale))
    heads = _each_head(node, heads)
    operands = (heads.queries, heads.keys, heads.values, *total)
    result: Operand = (
        _capped(node, operands, scale, cap)
        if cap
        else node.emit(AttentionOp, *operands, types=None, scale=scale)
    )
    batch, number, _, width = shape(result)
    return node.reshape(
        node.transpose(result, [0, 2, 1, 3]), (batch, length, number * width)
    )


def _each_head(node: OnnxNode, heads: Heads) -> Heads:
    """Keys and values as often as heads share them."""
    number = shape(heads.queries)[1]

    def repeated(value: Operand) -> Operand:
        batch, groups, length, size = shape(value)
        if groups == number:
            return value
        if groups == 0 or number % groups:
            raise GlowError(f"{number} heads cannot share {groups}")
        apart = node.reshape(value, (batch, groups, 1, length, size))
        wide = node.broadcast(apart, (batch, groups, number // groups, length, size))
        return node.reshape(wide, (batch, number, length, size))

    return Heads(heads.queries, repeated(heads.keys), repeated(heads.values))


def _with_sinks(
    node: OnnxNode,
    heads: Heads,
    masks: Sequence[Operand],
    sinks: tuple[Operand, float],
) -> tuple[Heads, list[Operand]]:
    """One more key, of which a head's score is its sink, given scores' scale.

    Queries and keys get another element: of a query it is the sink, and only the new key has one.
    So heads that share keys still do, and a mask is none of heads.
    """
    queries, keys, values = (Expression(node, x) for x in vars(heads).values())
    batch, number, length, size = queries.shape
    scores = (Expression(node, sinks[0]) / sinks[1]).reshape((1, number, 1, 1))
    spread = scores.broadcast((batch, number, length, 1))
    new_key = keys.constant(np.eye(1, size + 1, size))
    more = Heads(
        queries.apply(ConcatOp, spread, axis=3).value,
        _with_row(_with_column(keys), new_key).value,
        _with_row(values, values.constant(np.zeros(1))).value,
    )
    return more, [_with_column(Expression(node, mask)).value for mask in masks]


def _with_row(x: Expression, row: Expression) -> Expression:
    """[N, heads, rows, columns] with another row, the same for all heads."""
    batch, heads, _, columns = x.shape
    spread = row.reshape((1, 1, 1, *row.shape[-1:])).broadcast(
        (batch, heads, 1, columns)
    )
    return x.apply(ConcatOp, spread, axis=2)


def _with_column(x: Expression) -> Expression:
    """The matrices with another column of zeros."""
    zeros = x.constant(np.zeros((*x.shape[:-1], 1)))
    return x.apply(ConcatOp, zeros, axis=len(x.shape) - 1)


def _causal_mask(heads: Heads, window: int) -> Constant:
    """The least number where a key comes after the query, or before its window."""
    length, count = shape(heads.queries)[2], shape(heads.keys)[2]
    element, least = dtype_of(element_type(heads.queries)), lowest(heads.queries)
    distance = np.arange(count - length, count)[:, None] - np.arange(count)
    hidden = (distance < 0) | ((distance >= window) & (window > 0))
    return Constant(np.where(hidden, least, 0.0).astype(element), "causal")


def _capped(
    node: OnnxNode, operands: Sequence[Operand], scale: float, cap: float
) -> Operand:
    """Attention whose scores are `cap * tanh(score / cap)` before they are masked."""
    queries, keys, values, *masks = operands
    turned = node.transpose(keys, [0, 1, 3, 2])
    scores: Operand = node.emit(MatmulOp, queries, turned)
    scores = node.emit(MulOp, scores, node.number(scale / cap, scores))
    scores = node.emit(TanhOp, scores)
    scores = node.emit(MulOp, scores, node.number(cap, scores))
    for mask in masks:
        scores = node.emit(AddOp, scores, mask)
    return node.emit(MatmulOp, node.emit(SoftmaxOp, scores, axis=3), values)


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


def with_past(node: OnnxNode, past: Operand, new: Operand) -> Operand:
    """Keys or values of earlier calls before those of this one."""
    return new if shape(past)[2] == 0 else node.emit(ConcatOp, past, new, axis=2)


def refuse_inputs(node: OnnxNode, **inputs: int) -> None:
    for name, index in inputs.items():
        refuse_if(node.has(index), f"input {name}")


def refuse_attributes(node: OnnxNode, **defaults: float) -> None:
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
    refuse_inputs(node, past_sequence_length=6)
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
    refuse_attributes(node, do_rotary=0, past_present_share_buffer=0)
    number, width = node.attr_int("num_heads", 0), shape(product)[-1]
    sizes = node.attr_ints("qkv_hidden_sizes") or [width // 3] * 3
    queries, keys, values = (
        split_heads(node, part, number) for part in parts(node, product, sizes)
    )
    if node.has(past):
        before = node.value(past)
        halves = [
            node.reshape(cut(node, before, 0, k, 1), shape(before)[1:]) for k in (0, 1)
        ]
        keys, values = (
            with_past(node, *pair) for pair in zip(halves, (keys, values), strict=True)
        )
    masks: list[Operand] = []
    if node.has(mask):
        masks.append(_padding_mask(node, node.value(mask), queries, shape(keys)[2]))
    if node.has(bias):
        masks.append(node.value(bias))
    heads = Heads(queries, keys, values)
    result = attend(node, heads, masks, bool(node.attr_int("unidirectional", 0)))
    if not node.uses(1):
        return [result]
    stacked = [node.reshape(x, (1, *shape(x))) for x in (keys, values)]
    return [result, node.emit(ConcatOp, *stacked, axis=0)]


@contrib_op("MultiHeadAttention")
def multi_head_attention(node: OnnxNode) -> Sequence[Value]:
    """Attention of queries [N, L, E] over keys and values [N, T, E] or [N, heads, T, size]."""
    refuse_inputs(node, past_sequence_length=8, cache_indirection=9)
    node.refuse_outputs_from(3, "the scores as a result")
    refuse_if(node.rank(0) != 3 or not node.has(2), "packed queries, keys and values")
    number = node.attr_int("num_heads", 0)
    operands = [node.value(index) for index in range(3)]
    if node.has(3):
        widths = [shape(operands[k])[-1] for k in (0, 0, 2)]
        refuse_if(node.rank(1) != 3, "a bias of keys of four axes")
        biases = parts(node, node.value(3), widths)
        operands = [
            node.emit(AddOp, operand, bias)
            for operand, bias in zip(operands, biases, strict=True)
        ]
    queries, keys, values = (split_heads(node, x, number) for x in operands)
    if node.has(6) and node.has(7):
        keys = with_past(node, node.value(6), keys)
        values = with_past(node, node.value(7), values)
    masks: list[Operand] = []
    if node.has(4):
        masks.append(_padding_mask(node, node.value(4), queries, shape(keys)[2]))
    if node.has(5):
        masks.append(node.value(5))
    causal = bool(node.attr_int("unidirectional", 0))
    heads = Heads(queries, keys, values)
    return [attend(node, heads, masks, causal), keys, values]
