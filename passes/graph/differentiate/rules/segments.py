"""Bags of rows: a bag's gradient goes to its rows."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of, tensor_type
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule


def first_rows(builder: GradientBuilder, lengths: SSAValue) -> SSAValue:
    """The number of the row that each bag begins with, `i64`."""
    return builder.node(
        glow.CumulativeOp,
        builder.convert(lengths, i64),
        kind="sum",
        axis=0,
        exclusive=True,
    )


def bags_of_rows(builder: GradientBuilder, op: glow.BagsOp) -> SSAValue:
    """The bag that each row belongs to, `i64`: how many bags have ended before it.

    A one where a bag ends, summed: empty bags end together.
    """
    rows = shape_of(op.rows)[0]
    (bags,) = shape_of(op.lengths)
    ends = builder.node(
        glow.CumulativeOp, builder.convert(op.lengths, i64), kind="sum", axis=0
    )
    marks = builder.node(
        glow.ScatterOp,
        builder.full(0, tensor_type((rows + 1,), i64)),
        builder.reshape(ends, (bags, 1)),
        builder.full(1, tensor_type((bags,), i64)),
        coordinates=[-1],
        reduction="add",
    )
    ended = builder.node(glow.CumulativeOp, marks, kind="sum", axis=0)
    return builder.node(glow.SliceOp, ended, starts=[0], sizes=[rows], steps=[1])


def lengths_sum(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Each row gets what its bag has."""
    assert isinstance(op, glow.LengthsSumOp)
    assert gradients[0] is not None
    bags = bags_of_rows(builder, op)
    return [builder.node(glow.GatherOp, gradients[0], bags, axis=0), None]


def lengths_max(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """The first of the rows that hold the largest element gets it all, as in PyTorch."""
    assert isinstance(op, glow.LengthsMaxOp)
    assert gradients[0] is not None
    bags = bags_of_rows(builder, op)

    def of_rows(value: SSAValue, numbers: SSAValue = bags) -> SSAValue:
        return builder.node(glow.GatherOp, value, numbers, axis=0)

    largest = builder.node(glow.EqualOp, op.rows, of_rows(op.result))
    before = builder.node(
        glow.CumulativeOp,
        builder.convert(largest, i64),
        kind="sum",
        axis=0,
        exclusive=True,
    )
    first = of_rows(first_rows(builder, op.lengths))
    earlier = builder.node(glow.SubOp, before, of_rows(before, first))
    is_first = builder.node(glow.EqualOp, earlier, builder.number(0, earlier))
    wins = builder.node(glow.AndOp, largest, is_first)
    found = of_rows(gradients[0])
    return [builder.node(glow.SelectOp, wins, found, builder.number(0, found)), None]


RULES: dict[type[Operation], Rule] = {
    glow.LengthsSumOp: lengths_sum,
    glow.LengthsMaxOp: lengths_max,
}
