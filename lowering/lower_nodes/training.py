"""Layers of networks in training, as reductions, arithmetic and scalar functions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import glow
from glow.dialects.glow.training.layers import counter_grid
from glow.dialects.glow.training.terms import Term
from glow.dialects.node import shape_of, tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.passes.rewriting.scalar_builder import ScalarBuilder, convert
from glow.passes.rewriting.tensor_builder import Tensors


def batch_norm_training(op: Operation) -> None:
    """(x - mean) * (scale / deviation) + bias, and the moving averages."""
    from glow.passes.rewriting.batch_statistics import batch_statistics

    assert isinstance(op, glow.BatchNormTrainingOp)
    builder = NodeBuilder(op)
    formula, batch = Tensors(builder), batch_statistics(builder, op)

    def term(value: SSAValue) -> Term:
        return Term(formula, builder.reshape(value, shape_of(batch.mean)))

    momentum = op.attributes_view().float("momentum")
    factor = term(batch.scale) / term(batch.deviation)
    result = Term(formula, batch.centred) * factor + term(op.bias)
    unbiased = batch.count / max(batch.count - 1, 1)
    mean = term(op.mean) * (1 - momentum) + term(batch.mean) * momentum
    variance = term(batch.variance) * (momentum * unbiased)
    variance = term(op.variance) * (1 - momentum) + variance
    averages = (
        builder.reshape(average.value, shape_of(op.mean))
        for average in (mean, variance)
    )
    builder.replace(result.value, *averages)


def _uniform_body(stream: int) -> Block:
    """Four random numbers of a counter (row plus column), a key and a call's number."""
    from glow.passes.rewriting.philox import Words, philox

    block = Block(arg_types=[i64] * 4)
    builder = ScalarBuilder(block)
    words, (row, column, key, call) = Words(builder), block.args
    counter = [builder.add(row, column), builder.number(stream, row)]
    counter += [words.low(call), words.high(call)]
    drawn = philox(builder, counter, [words.low(key), words.high(key)])
    numbers: list[SSAValue] = []
    for word in drawn:
        bits = builder.binary("arith.shrui", word, builder.number(8, word))
        real = convert(builder, convert(builder, bits, i32), f32)
        numbers.append(builder.mul(real, builder.number(2.0**-24, real)))
    builder.yield_(*numbers)
    return block


def random_uniform(op: Operation) -> None:
    """Scalar code on the counters, whose four results stand behind each other."""
    assert isinstance(op, glow.RandomUniformOp)
    builder, size = NodeBuilder(op), prod(shape_of(op.result))
    rows, columns = counter_grid(size)
    firsts = np.arange(rows, dtype=np.int64).reshape(-1, 1) * columns
    operands = [
        builder.constant(firsts, "counter_rows"),
        builder.constant(np.arange(columns, dtype=np.int64), "counter_columns"),
    ]
    for place in range(2):
        part = {"starts": [place], "sizes": [1], "steps": [1]}
        operands.append(builder.node(glow.SliceOp, op.seed, **part))
    drawn = glow.FusedOp.build_node(
        operands,
        [tensor_type((rows, columns), f32)] * 4,
        regions=[Region(_uniform_body(op.attributes_view().int("stream")))],
    )
    builder.insert(drawn)
    numbers = builder.node(glow.ConcatOp, *drawn.results, axis=0)
    numbers = builder.reshape(numbers, [4 * rows * columns])
    first = {"starts": [0], "sizes": [size], "steps": [1]}
    numbers = builder.node(glow.SliceOp, numbers, **first)
    builder.replace(builder.reshape(numbers, shape_of(op.result)))


def dropout(op: Operation) -> None:
    """0 where the random number is less than the ratio."""
    assert isinstance(op, glow.DropoutOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    ratio, formula = attributes.float("ratio"), Tensors(builder)
    drawn = builder.create(
        glow.RandomUniformOp,
        [op.seed],
        {"stream": attributes.int("stream")},
        types=[tensor_type(shape_of(op.input), f32)],
    )
    dropped = builder.node(glow.LessOp, drawn, builder.splat(ratio, f32))
    factor = 1 / (1 - ratio) if ratio < 1 else 0.0
    kept = Term(formula, op.input) * factor
    zero = builder.splat(0.0, element_type(op.input))
    builder.replace(builder.node(glow.SelectOp, dropped, zero, kept.value))


LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    glow.BatchNormTrainingOp: batch_norm_training,
    glow.RandomUniformOp: random_uniform,
    glow.DropoutOp: dropout,
}
