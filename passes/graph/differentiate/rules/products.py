"""Matrix products: each gradient is a product of the result's with the other factor.

Of `Y = A B` they are `A.grad = Y.grad B'` and `B.grad = A' Y.grad`; of a factor that is stored
transposed, the transpose of that, which is a product as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.activations import before_activation
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule, rule_of


@dataclass(frozen=True)
class Factor:
    """A matrix of a product, as it is read: transposed or not."""

    value: SSAValue
    transposed: bool = False

    @property
    def other_way(self) -> Factor:
        """The transposed matrix."""
        return Factor(self.value, not self.transposed)


def product(builder: GradientBuilder, lhs: Factor, rhs: Factor) -> SSAValue:
    """`lhs x rhs`."""
    transposed = {"transpose_lhs": lhs.transposed, "transpose_rhs": rhs.transposed}
    return builder.node(glow.MatmulOp, lhs.value, rhs.value, **transposed)


def gradient_of_lhs(
    builder: GradientBuilder, gradient: SSAValue, lhs: Factor, rhs: Factor
) -> SSAValue:
    """The gradient of the left matrix as it is stored."""
    if lhs.transposed:
        return product(builder, rhs, Factor(gradient, transposed=True))
    return product(builder, Factor(gradient), rhs.other_way)


def gradient_of_rhs(
    builder: GradientBuilder, gradient: SSAValue, lhs: Factor, rhs: Factor
) -> SSAValue:
    """The gradient of the right matrix as it is stored."""
    if rhs.transposed:
        return product(builder, Factor(gradient, transposed=True), lhs)
    return product(builder, lhs.other_way, Factor(gradient))


def matmul(
    builder: GradientBuilder, op: glow.MatmulOp, gradient: SSAValue
) -> Gradients:
    """Products of matrices; one matrix for all of a batch gets the sum by one product."""
    lhs = Factor(op.lhs, op.transpose_lhs is not None)
    rhs = Factor(op.rhs, op.transpose_rhs is not None)
    of_lhs = gradient_of_lhs(builder, gradient, lhs, rhs)
    shape = shape_of(op.lhs)
    if prod(shape_of(op.rhs)[:-2]) == 1 and len(shape) > 2 and not lhs.transposed:
        rows = prod(shape[:-1])
        lhs = Factor(builder.reshape(op.lhs, (rows, shape[-1])))
        gradient = builder.reshape(gradient, (rows, shape_of(gradient)[-1]))
    return [of_lhs, gradient_of_rhs(builder, gradient, lhs, rhs)]


def fully_connected(
    builder: GradientBuilder, op: glow.FullyConnectedOp, gradient: SSAValue
) -> Gradients:
    """Input, weights and bias."""
    gradient = before_activation(builder, op, gradient)
    lhs, rhs = Factor(op.input), Factor(op.weights)
    gradients = [
        gradient_of_lhs(builder, gradient, lhs, rhs),
        gradient_of_rhs(builder, gradient, lhs, rhs),
    ]
    return [*gradients, builder.sum(gradient, [0])][: len(op.inputs)]


def gemm(builder: GradientBuilder, op: glow.GemmOp, gradient: SSAValue) -> Gradients:
    """Both matrices and the addend, which may be repeated."""
    attributes = op.attributes_view()
    lhs = Factor(op.lhs, op.transpose_lhs is not None)
    rhs = Factor(op.rhs, op.transpose_rhs is not None)
    scaled = builder.scale(gradient, attributes.float("alpha"))
    scaled = builder.broadcast(scaled, shape_of(op.result))
    gradients = [
        gradient_of_lhs(builder, scaled, lhs, rhs),
        gradient_of_rhs(builder, scaled, lhs, rhs),
    ]
    addend = builder.scale(gradient, attributes.float("beta"))
    return [*gradients, addend][: len(op.inputs)]


RULES: dict[type[Operation], Rule] = {
    **rule_of(matmul, glow.MatmulOp),
    **rule_of(fully_connected, glow.FullyConnectedOp),
    **rule_of(gemm, glow.GemmOp),
}
