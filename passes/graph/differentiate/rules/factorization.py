"""The LU factors of matrices.

Of `P A = L U` with the gradients of L (below its diagonal) and of U (Murray, Differentiation of
the Cholesky decomposition, 2016; de Hoog et al., 2011):

    A.grad = P' L'^-1 (lower(L' L.grad) + upper(U.grad U')) U'^-1        P' = A U^-1 L^-1

The inverse of a triangular matrix T = D (1 - N) is (1 + N) (1 + N^2) (1 + N^4) ... D^-1, a
product of few factors since a power of N is 0.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import dtype_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.node_builder import element_type


class _Matrices:
    """Products and triangles of matrices [..., n, n]."""

    def __init__(self, builder: GradientBuilder, like: SSAValue) -> None:
        self.builder = builder
        self.size = shape_of(like)[-1]
        self.dtype = dtype_of(element_type(like))
        self.identity = self._mask(np.eye(self.size))
        self.below = self._mask(np.tri(self.size, k=-1))
        self.above = self._mask(np.tri(self.size, k=-1).T)

    def _mask(
        self, ones: np.ndarray[tuple[int, int], np.dtype[np.float64]]
    ) -> SSAValue:
        return self.builder.constant(ones.astype(self.dtype), "triangle")

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """Element by element."""
        return self.builder.node(glow.MulOp, x, y)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y."""
        return self.builder.node(glow.AddOp, x, y)

    def product(self, x: SSAValue, y: SSAValue, **how: bool) -> SSAValue:
        """A matrix product."""
        return self.builder.node(glow.MatmulOp, x, y, **how)

    def inverse(self, strict: SSAValue) -> SSAValue:
        """Of 1 + a matrix that is 0 on its diagonal and on one side of it."""
        power = self.builder.node(glow.NegOp, strict)
        found, reach = self.add(self.identity, power), 2
        while reach < self.size:
            power = self.product(power, power)
            found = self.product(found, self.add(self.identity, power))
            reach *= 2
        return found


def lu(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """See the module; the sign has no gradient."""
    assert isinstance(op, glow.LuOp)
    gradient = gradients[0]
    if gradient is None:
        return [None]
    m = _Matrices(builder, op.input)
    diagonal = builder.node(
        glow.ReduceSumOp,
        m.mul(op.factors, m.identity),
        axes=[len(shape_of(op.input)) - 1],
        keepdims=True,
    )
    lower = m.add(m.mul(op.factors, m.below), m.identity)
    upper = m.mul(op.factors, m.add(m.identity, m.above))
    inverse_lower = m.inverse(m.mul(op.factors, m.below))
    scaled = builder.node(glow.DivOp, m.mul(op.factors, m.above), diagonal)
    rank = len(shape_of(op.input))
    turned = builder.transpose(diagonal, [*range(rank - 2), rank - 1, rank - 2])
    inverse_upper = builder.node(glow.DivOp, m.inverse(scaled), turned)
    of_lower = m.product(lower, m.mul(gradient, m.below), transpose_lhs=True)
    of_upper = m.product(
        m.mul(gradient, m.add(m.identity, m.above)), upper, transpose_rhs=True
    )
    middle = m.add(
        m.mul(of_lower, m.below), m.mul(of_upper, m.add(m.identity, m.above))
    )
    permuted = m.product(op.input, m.product(inverse_upper, inverse_lower))
    left = m.product(permuted, m.product(inverse_lower, middle, transpose_lhs=True))
    return [m.product(left, inverse_upper, transpose_rhs=True)]


RULES: dict[type[Operation], Rule] = {glow.LuOp: lu}
