"""`glow.fused`: its scalar function backwards, in one node that is fused too.

    %y = glow.fused %x {                      %x.grad = glow.fused %x, %y.grad {
    ^bb0(%a: f32):                            ^bb0(%a: f32, %g: f32):
      %e = math.exp %a : f32           ->       %e = math.exp %a : f32
      glow.yield %e                             %p = arith.mulf %g, %e : f32
    }                                           glow.yield %p
                                              }

Scalar operations have the derivatives of the nodes that they are the code of (`Facts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import NodeOp, node_name, shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.node_builder import element_type, like
from glow.passes.rewriting.scalar_builder import (
    OPERATIONS,
    ScalarBuilder,
    convert,
)

ScalarRule = Callable[[ScalarBuilder, Operation, SSAValue], Sequence["SSAValue | None"]]
"""`rule(builder, op, gradient)`: the gradients of the operands."""


def _of_node(node: type[NodeOp]) -> ScalarRule:
    """The derivative of an element-wise node."""
    derivative = glow.FACTS[node].derivative
    assert derivative is not None

    def rule(
        builder: ScalarBuilder, op: Operation, gradient: SSAValue
    ) -> Sequence[SSAValue | None]:
        attributes = Attributes(node.get_irdl_definition(), {})
        return derivative(builder, op.operands, op.results[0], gradient, attributes)

    return rule


def _select(
    builder: ScalarBuilder, op: Operation, gradient: SSAValue
) -> Sequence[SSAValue | None]:
    """The gradient of the value that was taken."""
    zero = builder.number(0.0, gradient)
    condition = op.operands[0]
    return [
        None,
        builder.select(condition, gradient, zero),
        builder.select(condition, zero, gradient),
    ]


def _fma(
    builder: ScalarBuilder, op: Operation, gradient: SSAValue
) -> Sequence[SSAValue | None]:
    """Of x * y + z."""
    x, y, _ = op.operands
    return [builder.mul(gradient, y), builder.mul(gradient, x), gradient]


def _convert(
    builder: ScalarBuilder, op: Operation, gradient: SSAValue
) -> Sequence[SSAValue | None]:
    """The gradient in the operand's type."""
    return [convert(builder, gradient, op.operands[0].type)]


def _exp_minus_one(
    builder: ScalarBuilder, op: Operation, gradient: SSAValue
) -> Sequence[SSAValue | None]:
    """Of exp(x) - 1, whose slope is one more."""
    one = builder.number(1.0, gradient)
    return [builder.mul(gradient, builder.add(op.results[0], one))]


def _log_one_plus(
    builder: ScalarBuilder, op: Operation, gradient: SSAValue
) -> Sequence[SSAValue | None]:
    """Of log(1 + x)."""
    one = builder.number(1.0, gradient)
    return [builder.div(gradient, builder.add(op.operands[0], one))]


RULES_OF_SCALARS: Mapping[type[Operation], ScalarRule] = {
    **{
        OPERATIONS[facts.scalar]: _of_node(node)
        for node, facts in glow.FACTS.items()
        if isinstance(facts.scalar, str) and facts.derivative is not None
    },
    arith.AddfOp: _of_node(glow.AddOp),
    arith.SubfOp: _of_node(glow.SubOp),
    arith.MulfOp: _of_node(glow.MulOp),
    arith.DivfOp: _of_node(glow.DivOp),
    arith.NegfOp: _of_node(glow.NegOp),
    arith.MaximumfOp: _of_node(glow.MaxOp),
    arith.MinimumfOp: _of_node(glow.MinOp),
    math.AbsFOp: _of_node(glow.AbsOp),
    math.PowFOp: _of_node(glow.PowOp),
    math.FmaOp: _fma,
    math.ExpM1Op: _exp_minus_one,
    math.Log1pOp: _log_one_plus,
    arith.SelectOp: _select,
    arith.ExtFOp: _convert,
    arith.TruncFOp: _convert,
}
"""Scalar operation to its derivative; others on floats have none."""


def fused(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """A node of the operands and of the results' gradients, with a result an operand."""
    assert isinstance(op, glow.FusedOp)
    wanted = [value in builder.needed for value in op.inputs]
    given = [gradient for gradient in gradients if gradient is not None]
    operands = [*op.inputs, *given]
    block = Block(arg_types=[element_type(value) for value in operands])
    scalars = ScalarBuilder(block)
    found = _backwards(scalars, op, gradients)
    scalars.yield_(
        *(g for g, is_wanted in zip(found, wanted, strict=True) if is_wanted)
    )
    shape = broadcast_shape([shape_of(value) for value in operands])
    types = [
        like(v, shape)
        for v, is_wanted in zip(op.inputs, wanted, strict=True)
        if is_wanted
    ]
    first = builder.create(
        glow.FusedOp, operands, {}, types=types, regions=[Region(block)]
    )
    results = iter(first.owner.results if isinstance(first.owner, Operation) else ())
    return [next(results) if is_wanted else None for is_wanted in wanted]


def _backwards(
    scalars: ScalarBuilder, op: glow.FusedOp, gradients: Gradients
) -> list[SSAValue]:
    """The gradients of the arguments of a function, behind a copy of it in a new block."""
    body, arguments = op.body.block, scalars.block.args
    count = len(op.inputs)
    copied: dict[SSAValue, SSAValue] = dict(
        zip(body.args, arguments[:count], strict=True)
    )
    last = body.last_op
    assert last is not None
    ops: list[Operation] = []
    for each in body.ops:
        if each is not last:
            clone = each.clone(copied)
            scalars.block.add_op(clone)
            ops.append(clone)
    sums: dict[SSAValue, SSAValue] = {}

    def add(value: SSAValue, gradient: SSAValue) -> None:
        known = sums.get(value)
        sums[value] = gradient if known is None else scalars.add(known, gradient)

    given = iter(arguments[count:])
    for value, gradient in zip(last.operands, gradients, strict=True):
        if gradient is not None:
            add(copied[value], next(given))
    for each in reversed(ops):
        gradient = sums.get(each.results[0])
        if gradient is None or not each.operands:
            continue
        for value, found in zip(
            each.operands, _scalar_rule(op, each)(scalars, each, gradient), strict=True
        ):
            if found is not None and isinstance(value.type, AnyFloat):
                add(value, found)
    return [
        sums[argument] if argument in sums else scalars.number(0.0, argument)
        for argument in arguments[:count]
    ]


def _scalar_rule(op: glow.FusedOp, scalar: Operation) -> ScalarRule:
    """The rule of a scalar operation; of integers none is needed."""
    if not any(isinstance(value.type, AnyFloat) for value in scalar.operands):
        return lambda builder, op, gradient: [None] * len(op.operands)
    rule = RULES_OF_SCALARS.get(type(scalar))
    if rule is None:
        raise GlowError(
            f"{scalar.name} in glow.fused has no derivative", node=node_name(op)
        )
    return rule


RULES: dict[type[Operation], Rule] = {glow.FusedOp: fused}
