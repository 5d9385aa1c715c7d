"""Matrix products: each gradient is a product of the result's with the other factor."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule


def product(
    builder: GradientBuilder,
    lhs: tuple[SSAValue, bool],
    rhs: tuple[SSAValue, bool],
) -> SSAValue:
    """`lhs x rhs`, each with whether it is read transposed."""
    return builder.node(
        glow.MatmulOp,
        lhs[0],
        rhs[0],
        transpose_lhs=lhs[1],
        transpose_rhs=rhs[1],
    )


def factors(
    builder: GradientBuilder,
    gradient: SSAValue,
    lhs: tuple[SSAValue, bool],
    rhs: tuple[SSAValue, bool],
) -> list[SSAValue]:
    """The gradients of both factors, as these are stored.

    Of `Y = A B`: `A.grad = Y.grad B'` and `B.grad = A' Y.grad`; of a factor that is stored
    transposed, the transpose of that.
    """
    (a, a_transposed), (b, b_transposed) = lhs, rhs
    grad_a, grad_b = (gradient, False), (gradient, False)
    if a_transposed:
        of_a = product(builder, (b, b_transposed), (gradient, True))
    else:
        of_a = product(builder, grad_a, (b, not b_transposed))
    if b_transposed:
        of_b = product(builder, (gradient, True), (a, a_transposed))
    else:
        of_b = product(builder, (a, not a_transposed), grad_b)
    return [of_a, of_b]


def matmul(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """Products of matrices; the walk sums over repeated ones."""
    assert isinstance(op, glow.MatmulOp)
    assert gradients[0] is not None
    gradient = gradients[0]
    lhs = op.lhs, op.transpose_lhs is not None
    rhs = op.rhs, op.transpose_rhs is not None
    return factors(builder, gradient, lhs, rhs)


RULES: dict[type[Operation], Rule] = {glow.MatmulOp: matmul}
