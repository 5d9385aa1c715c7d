"""Steps of optimizers as arithmetic, one fused node for each parameter: it is updated as soon
as its gradient is known, which then takes no memory any more.

What depends on rate and step alone is computed once, in f64, and rounded to the element type
of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects import glow
from glow.dialects.glow.training.terms import Term, terms
from glow.dialects.node import shape_of, tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.passes.rewriting.scalar_builder import ScalarBuilder
from glow.passes.rewriting.tensor_builder import Tensors


def converted(builder: NodeBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """A number in another element type."""
    if element_type(value) == element:
        return value
    types = [tensor_type((), element)]
    return builder.create(glow.ConvertOp, [value], {}, types=types)


def factors_of(builder: NodeBuilder, op: glow.OptimizerOp) -> list[SSAValue]:
    """The numbers of the step, in f64."""
    formula = Tensors(builder)
    rate, step = (
        Term(formula, converted(builder, value, f64)) for value in (op.rate, op.step)
    )
    factors = type(op).FACTORS(op.attributes_view(), rate, step)
    return [factor.value for factor in factors]


def updates(builder: NodeBuilder, op: glow.OptimizerOp) -> list[list[SSAValue]]:
    """What the formula gives for each parameter, as one node, and its rate last."""
    attributes, factors = op.attributes_view(), factors_of(builder, op)
    rows: list[list[SSAValue]] = []
    known: dict[Attribute, list[SSAValue]] = {}
    for column in op.columns():
        element = element_type(column[0])
        if element not in known:
            known[element] = [converted(builder, f, element) for f in factors]
        numbers = known[element]
        block = Block(arg_types=[element] * (len(numbers) + len(column)))
        formula = ScalarBuilder(block)
        scalars = terms(formula, block.args)
        new = type(op).UPDATE(
            attributes, scalars[: len(numbers)], scalars[len(numbers) :]
        )
        formula.yield_(*(term.value for term in new))
        first = builder.create(
            glow.FusedOp,
            [*numbers, *column],
            {},
            types=[tensor_type(shape_of(column[0]), element)] * len(new),
            regions=[Region(block)],
        )
        assert isinstance(first.owner, Operation)
        rows.append([*first.owner.results, *numbers[:1]])
    return rows


def replace(builder: NodeBuilder, rows: list[list[SSAValue]]) -> None:
    """Put the new parameters, then the new moments, in the place of a step."""
    builder.replace(*(value for kind in zip(*rows, strict=True) for value in kind))


def optimizer(op: Operation) -> None:
    """Each parameter's update, as its formula says."""
    assert isinstance(op, glow.OptimizerOp)
    builder = NodeBuilder(op)
    replace(builder, [new for *new, _ in updates(builder, op)])


def norm(builder: NodeBuilder, value: SSAValue) -> Term:
    """The root of the sum of squares."""
    squares = Term(Tensors(builder), builder.node(glow.MulOp, value, value))
    axes = list(range(len(shape_of(value))))
    total = builder.node(glow.ReduceSumOp, squares.value, axes=axes)
    return Term(squares.formula, total if axes else squares.value).sqrt()


def lamb(op: Operation) -> None:
    """The directions, each times the norm of its parameter by its own."""
    assert isinstance(op, glow.LambOp)
    builder = NodeBuilder(op)
    formula, rows = Tensors(builder), list[list[SSAValue]]()
    for column, (direction, *moments, rate) in zip(
        op.columns(), updates(builder, op), strict=True
    ):
        sizes = norm(builder, column[0]), norm(builder, direction)
        ratio, one = sizes[0] / sizes[1], sizes[0] * 0.0 + 1.0
        for size in sizes:
            ratio = (size <= 0.0).choose(one, ratio)
        step = Term(formula, direction) * (ratio * Term(formula, rate))
        rows.append([(Term(formula, column[0]) - step).value, *moments])
    replace(builder, rows)


LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    **dict.fromkeys(
        (glow.SgdOp, glow.AdamOp, glow.RmspropOp, glow.AdagradOp), optimizer
    ),
    glow.LambOp: lamb,
}
