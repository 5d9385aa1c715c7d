"""Rotary positions: pairs of channels that are turned by angles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glow.dialects.errors import GlowError
from glow.dialects.glow import AddOp, ConcatOp, GatherOp, MulOp, SelectOp, SubOp
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.node import (
    Constant,
    OnnxNode,
    Operand,
    Value,
    element_type,
    shape,
)
from glow.frontends.onnx.operators.microsoft.attention import (
    cut,
    parts,
    refuse_attributes,
    split_heads,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op

Pair = tuple[Operand, Operand]
"""Cosines and sines: of positions [positions, half], or of queries or keys [N or 1, 1, L, half]."""


def angles(node: OnnxNode, caches: Pair, places: Operand) -> Pair:
    """Those at positions [N or 1, L]."""
    outer, sizes = shape(places), [shape(cache) for cache in caches]
    if len(outer) != 2:
        raise GlowError(f"positions of shape {list(outer)}, not [sequences, words]")
    if any(len(one) != 2 or one[1] != sizes[0][1] for one in sizes):
        found = " and ".join(str(list(one)) for one in sizes)
        raise GlowError(f"caches of shapes {found}, not [positions, half] both")
    cosine, sine = (node.emit(GatherOp, cache, places, axis=0) for cache in caches)
    spread = (outer[0], 1, outer[1], sizes[0][1])
    return node.reshape(cosine, spread), node.reshape(sine, spread)


def positions(node: OnnxNode, given: Operand | None, heads: Operand) -> Operand:
    """The positions [N or 1, L]: given, or counted from a first one."""
    length = shape(heads)[2]
    counted = np.arange(length, dtype=np.int64).reshape(1, length)
    if given is None:
        return Constant(counted, "positions")
    if int(np.prod(shape(given))) == 1 and shape(given) != (shape(heads)[0], length):
        offsets = Constant(counted.astype(dtype_of(element_type(given))), "positions")
        return node.emit(AddOp, node.reshape(given, (1, 1)), offsets)
    return given


def turned(node: OnnxNode, value: Operand, angles: Pair, interleaved: bool) -> Operand:
    """[N, heads, L, size] with the first channels turned."""
    batch, heads, length, size = shape(value)
    cosine, sine = angles
    half = shape(cosine)[3]
    first, rest = parts(node, value, [2 * half, size - 2 * half])
    pair = (half, 2) if interleaved else (2, half)
    axis = 4 if interleaved else 3
    apart = node.reshape(first, (batch, heads, length, *pair))
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


def _input_as_heads(node: OnnxNode) -> Operand:
    """The first input, [N, L, heads * size] or [N, heads, L, size], as the latter."""
    refuse_attributes(node, is_packed_batching=0, scale=1.0)
    number, size = node.attr_int("num_heads", 0), 2 * node.shape(2)[-1]
    if node.rank(0) == 3:
        number = number or node.shape(0)[-1] // size
    return split_heads(node, node.value(0), number)


def _turned_input(node: OnnxNode, heads: Operand, angles: Pair) -> Operand:
    """The first input with its pairs turned."""
    result = turned(node, heads, angles, bool(node.attr_int("interleaved", 0)))
    if node.rank(0) == 4:
        return result
    return node.reshape(node.transpose(result, [0, 2, 1, 3]), node.shape(0))


@contrib_op("RotaryEmbedding")
def rotary_embedding(node: OnnxNode) -> Value:
    """Pairs of channels turned by angles of their positions, [N, L, E] or [N, heads, L, size]."""
    heads, caches = _input_as_heads(node), (node.value(2), node.value(3))
    places = positions(node, node.value(1), heads)
    return _turned_input(node, heads, angles(node, caches, places))


@contrib_op("MRotaryEmbedding")
def multimodal_rotary_embedding(node: OnnxNode) -> Value:
    """The same where words have places in time, height and width, [3, N, L].

    Which of the three turns a pair says its section.
    """
    heads, places = _input_as_heads(node), node.value(1)
    wanted = (3, shape(heads)[0], shape(heads)[2])
    if shape(places) != wanted:
        found = list(shape(places))
        raise GlowError(f"position_ids of shape {found}, not {list(wanted)}")
    caches = (node.value(2), node.value(3))
    streams = [
        angles(node, caches, node.reshape(cut(node, places, 0, k, 1), wanted[1:]))
        for k in range(3)
    ]
    owner = _owners(node, shape(caches[0])[1])
    cosine, sine = (_mixed(node, owner, each) for each in zip(*streams, strict=True))
    return _turned_input(node, heads, (cosine, sine))


def _owners(node: OnnxNode, half: int) -> Array:
    """Which of the three places turns each pair."""
    sections = node.attr_ints("mrope_section") or []
    layout = node.attr_int("mrope_layout", 0)
    refuse_if(layout not in (0, 1), f"mrope_layout {layout}")
    if len(sections) != 3 or min(sections) < 0 or sum(sections) != half:
        raise GlowError(f"mrope_section is {sections}, of {half} pairs in three parts")
    if layout == 0:
        return np.repeat(np.arange(3), sections)
    pairs = np.arange(half)
    of_place = [(pairs % 3 == k) & (pairs < 3 * sections[k]) for k in (1, 2)]
    return np.select(of_place, [1, 2], 0)


def _mixed(node: OnnxNode, owner: Array, streams: Sequence[Operand]) -> Operand:
    """For each pair, the cosine or sine of the place that turns it."""
    result = streams[0]
    for place in (1, 2):
        is_own = Constant((owner == place).reshape(1, 1, 1, -1), "section")
        result = node.emit(SelectOp, is_own, streams[place], result)
    return result
