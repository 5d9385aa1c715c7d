"""Steps of optimizers as arithmetic, one parameter after the other.

What depends on rate and step alone is computed once, in f64, and rounded to the element type
of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.training.terms import Term, terms
from glow.dialects.node import tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
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


def optimizer(op: Operation) -> None:
    """Each parameter's update, as its formula says."""
    assert isinstance(op, glow.OptimizerOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    formula, factors = Tensors(builder), factors_of(builder, op)
    rows: list[list[SSAValue]] = []
    for column in op.columns():
        element = element_type(column[0])
        numbers = [converted(builder, factor, element) for factor in factors]
        new = type(op).UPDATE(
            attributes, terms(formula, numbers), terms(formula, column)
        )
        rows.append([term.value for term in new])
    builder.replace(*(value for kind in zip(*rows, strict=True) for value in kind))


LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    glow.SgdOp: optimizer,
    glow.AdamOp: optimizer,
}
