"""The recurrence of linear attention, by chunks of tokens.

    state = exp(decay) state                            of each token: decay, rate, key, value,
    state = state + key rate (value - key state)        and what a query then reads of the state
    read = query state

A chunk of C tokens takes these steps at once. With g the sums of its decays up to each token,
D[i, j] = exp(g[i] - g[j]) below the diagonal and on it, and T the inverse of
1 + (rates keys) keys' D below the diagonal:

    added = T (rates values) - T (rates exp(g) keys) state
    read = exp(g) queries state + (queries keys' D) added
    state = exp(g[last]) state + (exp(g[last] - g) keys)' added

Long sequences are products of matrices that way, and the state is read twice for C tokens. Few
tokens, and decays of each key, whose D would be of three axes, are chunks of one. An infinity or
NaN of a token reaches all tokens of its chunk. Gated Delta Networks (arXiv 2412.06464), section
3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from xdsl.ir import Block

from glow.dialects.glow import ConcatOp, ExpOp, MatmulOp
from glow.dialects.weight_table import Array
from glow.frontends.onnx.control_flow.bodies import Iteration, stacking_loop
from glow.frontends.onnx.control_flow.regions import INDEX, element
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import Constant

CHUNK, CHUNK_OF_RATES = 32, 16
"""The tokens of a chunk. The products within chunks grow with them, of which there are more if
tokens have rates; those with the state do not."""

LEAST_DECAY = -100.0
"""Of which the exponential is as good as zero. Sums of less would lose what later tokens add."""


@dataclass(frozen=True)
class Tokens:
    """What T tokens of N sequences bring."""

    queries: Expression
    """[T, N, heads of queries, keys], scaled; heads of the state have several or one."""
    keys: Expression
    """[T, N, heads, keys]."""
    values: Expression
    """[T, N, heads, values]."""
    decay: Expression | None
    """[T, N, heads, keys or 1]."""
    rate: Expression | None
    """[T, N, heads or 1, 1]; without it, values are added whatever the state has."""


@dataclass(frozen=True)
class Chunks:
    """What chunks do to a state [N, heads, keys, values], each [chunks, N, heads, ...]."""

    added: Expression
    """[..., C, values]: what is added to an empty state."""
    readers: Expression
    """[..., rows, keys]: what is not added, if tokens have rates, and below what queries read."""
    within: Expression
    """[..., C queries, C]: what queries read of what the chunk adds."""
    keys: Expression
    """[..., keys, C]."""
    remaining: Expression | None = None
    """[..., keys or 1, 1]."""

    def parts(self) -> list[Expression]:
        """What there is of them."""
        own = [self.added, self.readers, self.within, self.keys]
        return own if self.remaining is None else [*own, self.remaining]

    def step(self, state: Expression) -> tuple[Expression, Expression]:
        """Of one chunk: the state after it, and what its queries read."""
        found = self.readers.apply(MatmulOp, state)
        read, added = found, self.added
        count, reading = added.shape[2], self.within.shape[2]
        if found.shape[2] > reading:
            added = added - found.part(2, 0, count)
            read = found.part(2, count, reading)
        if self.remaining is not None:
            state = state * self.remaining
        return state + _product(self.keys, added), read + _product(self.within, added)


def _product(left: Expression, right: Expression) -> Expression:
    """A product of matrices; one of columns and rows can be a part of what reads it."""
    return left * right if left.shape[-1] == 1 else left.apply(MatmulOp, right)


@dataclass(frozen=True)
class _Split:
    """Tokens in chunks of `size`, of heads of a state."""

    size: int
    heads: int

    def by_chunks(self, x: Expression) -> Expression:
        """[T, N, heads or more or 1, width] as [chunks, N, heads or 1, rows, width].

        Rows are the tokens of each of the heads that share one of the state. Zeros are added.
        """
        length, batch, heads, width = x.shape
        count = -(-length // self.size)
        missing = count * self.size - length
        if missing:
            zeros = x.constant(np.zeros((missing, batch, heads, width)))
            x = x.apply(ConcatOp, zeros, axis=0)
        outer = min(heads, self.heads)
        inner = heads // outer
        apart = x.reshape((count, self.size, batch, outer, inner, width))
        rows = apart.transpose(0, 2, 3, 4, 1, 5)
        return rows.reshape((count, batch, outer, inner * self.size, width))

    def each(self, rows: Expression, factors: Expression | None) -> Expression:
        """Rows [..., those of several heads, any] times what each token has, [..., C, any]."""
        if factors is None:
            return rows
        *outer, number, width = rows.shape
        apart = rows.reshape((*outer, number // self.size, self.size, width))
        *outer, count, last = factors.shape
        return (apart * factors.reshape((*outer, 1, count, last))).reshape(rows.shape)

    def summed(self, decay: Expression) -> Expression:
        """The sums [..., C, any] of decays up to each token."""
        if self.size == 1:
            return decay
        lower = decay.constant(np.tri(self.size))
        return lower.apply(MatmulOp, decay.maximum(LEAST_DECAY))

    def between(self, sums: Expression) -> Expression:
        """What is left at each token [..., C] of what another added [..., C], a later one none."""
        pairs = sums - _turned(sums)
        seen = Expression(sums.node, Constant(np.tri(self.size, dtype=bool), "seen"))
        return seen.choose(pairs, -inf).apply(ExpOp)


def _turned(x: Expression) -> Expression:
    """The matrices of [..., rows, columns] transposed."""
    axes = range(len(x.shape))
    return x.transpose(*axes[:-2], axes[-1], axes[-2])


@dataclass(frozen=True)
class _Decays:
    """What is left of things, [chunks, N, heads, ...]; all of it where there is nothing."""

    of_state: Expression | None
    """Of the state at each token, [..., C, keys or 1]."""
    within: Expression | None
    """At each token of what another added, [..., C, C], of a later one nothing."""
    at_end: Expression | None
    """At the end of what each token added, [..., C, 1]."""
    remaining: Expression | None
    """At the end of the state, [..., keys or 1, 1]."""


def _decays(split: _Split, decay: Expression | None, like: Expression) -> _Decays:
    """Those of chunks."""
    many = split.size > 1
    if decay is None:
        seen = np.tri(split.size).reshape(1, 1, 1, split.size, split.size)
        return _Decays(None, like.constant(seen) if many else None, None, None)
    sums = split.summed(split.by_chunks(decay))
    last = sums.part(3, split.size - 1)
    return _Decays(
        sums.apply(ExpOp),
        split.between(sums) if many else None,
        (last - sums).apply(ExpOp) if many else None,
        _turned(last.apply(ExpOp)),
    )


def _times(x: Expression, factors: Expression | None) -> Expression:
    return x if factors is None else x * factors


def _chunks(split: _Split, tokens: Tokens) -> Chunks:
    """What chunks of tokens do."""
    queries, keys, values = (
        split.by_chunks(x) for x in (tokens.queries, tokens.keys, tokens.values)
    )
    decays = _decays(split, tokens.decay, keys)
    within = split.each(queries.apply(MatmulOp, _turned(keys)), decays.within)
    readers = split.each(queries, decays.of_state)
    if tokens.rate is not None:
        rates = split.by_chunks(tokens.rate)
        values, own = _lacking(split, decays, (keys, values), rates)
        readers = own.apply(ConcatOp, readers, axis=3)
    written = _turned(_times(keys, decays.at_end))
    return Chunks(values, readers, within, written, decays.remaining)


def _lacking(
    split: _Split,
    decays: _Decays,
    pairs: tuple[Expression, Expression],
    rates: Expression,
) -> tuple[Expression, Expression]:
    """What tokens of keys and values add, and what reads how much of it the state has."""
    keys, values = pairs
    values, readers = values * rates, _times(keys, decays.of_state) * rates
    if decays.within is None:
        return values, readers
    mixed = (keys * rates).apply(MatmulOp, _turned(keys)) * decays.within
    inverse = _inverse(mixed, split.size)
    return inverse.apply(MatmulOp, values), inverse.apply(MatmulOp, readers)


def _inverse(mixed: Expression, size: int) -> Expression:
    """The inverse of 1 + what is below the diagonal, [..., size, size], a power of two.

    Blocks on the diagonal are inverted, of one element at first. Two of them and what is below
    the first become one: [[a, 0], [b, c]] has the inverse [[a', 0], [-c' b a', c']].
    """
    inverse = mixed.constant(np.eye(size)) - mixed * mixed.constant(_beside(size, 1))
    for level in range(1, size.bit_length() - 1):
        part = mixed * mixed.constant(_beside(size, 1 << level))
        inverse = inverse - inverse.apply(MatmulOp, part).apply(MatmulOp, inverse)
    return inverse


def _beside(size: int, block: int) -> Array:
    """1 in blocks below the first of each two on the diagonal."""
    rows, columns = np.indices((size, size)) // block
    return (rows // 2 == columns // 2) & (rows > columns)


def _chunk(tokens: Tokens) -> int:
    """The tokens of a chunk."""
    size = CHUNK if tokens.rate is None else CHUNK_OF_RATES
    is_long = 2 * tokens.keys.shape[0] > size
    per_key = tokens.decay is not None and tokens.decay.shape[-1] > 1
    return size if is_long and not per_key else 1


def run(tokens: Tokens, state: Expression) -> tuple[Expression, Expression]:
    """What queries read, [T, N, heads of queries, values], and the last state."""
    length, _, heads, _ = tokens.keys.shape
    size = _chunk(tokens)
    read, last = _each_chunk(_chunks(_Split(size, heads), tokens), state)
    count, batch, _, rows, width = read.shape
    apart = read.reshape((count, batch, heads, rows // size, size, width))
    sizes = (count * size, batch, heads * (rows // size), width)
    whole = apart.transpose(0, 4, 1, 2, 3, 5).reshape(sizes)
    return whole if count * size == length else whole.part(0, 0, length), last


def _each_chunk(chunks: Chunks, state: Expression) -> tuple[Expression, Expression]:
    """What queries read of each chunk, and the last state."""
    graph, parts, node = state.node.graph, chunks.parts(), state.node
    count = chunks.added.shape[0]
    if count == 1:
        state, read = Chunks(*(x.reshape(x.shape[1:]) for x in parts)).step(state)
        return read.reshape((1, *read.shape)), state
    stacks = [graph.value_of(x.value) for x in parts]
    block = Block(arg_types=[INDEX, graph.value_of(state.value).type])
    index, before = block.args
    with graph.inside(block):
        own = [Expression(node, element(graph, stack, index)) for stack in stacks]
        after, read = Chunks(*own).step(Expression(node, before))
    iteration = Iteration(block, [state.value], [after.value], [read.value])
    last, reads = stacking_loop(graph, iteration, count, count)
    return Expression(node, reads), Expression(node, last)
