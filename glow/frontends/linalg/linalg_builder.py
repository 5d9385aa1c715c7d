"""What conversions of linalg and tensor operations are written with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from glow.dialects import arith, glow
from glow.dialects.errors import GlowError
from glow.dialects.linalg import LinalgOp
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.frontends.graph_builder import GraphBuilder


class LinalgBuilder(GraphBuilder):
    """Makes the nodes that take the place of one operation."""

    def __init__(self, op: Operation) -> None:
        super().__init__(op)
        count = op.count if isinstance(op, LinalgOp) else len(op.operands)
        self.ins = list(op.operands[:count])
        self.outs = list(op.operands[count:])

    @property
    def op(self) -> LinalgOp:
        """The operation, where it is one of linalg."""
        assert isinstance(self.anchor, LinalgOp)
        return self.anchor

    def start(self, number: int = 0) -> SSAValue | None:
        """What a result begins with; None where that has no values."""
        value = self.outs[number]
        return None if isinstance(value.owner, EmptyOp) else value

    def scalar(self, value: SSAValue) -> float:
        """The number of a constant; GlowError for anything else."""
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            attribute = owner.value
            if isinstance(attribute, FloatAttr | IntegerAttr):
                return attribute.value.data
        raise GlowError("a number that is no constant")

    def spread(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value repeated to a shape."""
        if shape_of(value) == tuple(shape):
            return value
        wanted = tensor_type(shape, element_of(value))
        return self.create(glow.BroadcastOp, [value], {}, types=[wanted])

    def align(
        self, value: SSAValue, access: AffineMap, places: Mapping[int, int], rank: int
    ) -> SSAValue:
        """The value with the dimensions that its map says at their places of `rank` axes.

        Axes in front that it does not have are left out: nodes broadcast by themselves.
        """
        value = self._first(value, access)
        axes: dict[int, int] = {}
        for axis, expression in enumerate(access.results):
            if isinstance(expression, AffineConstantExpr):
                continue
            if not isinstance(expression, AffineDimExpr):
                raise GlowError(f"an operand at {expression}")
            place = places[expression.position]
            if place in axes:
                raise GlowError(f"an operand with {expression} twice")
            axes[place] = axis
        rest = [at for at in range(len(access.results)) if at not in axes.values()]
        shape, order = shape_of(value), [axes[place] for place in sorted(axes)]
        if order != sorted(
            order
        ):  # Those left out have one element: they need no place.
            value = self.transpose(value, [*order, *rest])
        first = min(axes, default=rank)
        sizes = [
            shape[axes[place]] if place in axes else 1 for place in range(first, rank)
        ]
        return self.reshape(value, sizes)

    def _first(self, value: SSAValue, access: AffineMap) -> SSAValue:
        """The value at the constants of its map, which are one position each."""
        shape = list(shape_of(value))
        starts, sizes = [0] * len(shape), list(shape)
        for axis, expression in enumerate(access.results):
            if isinstance(expression, AffineConstantExpr):
                starts[axis], sizes[axis] = expression.value, 1
        return self.slice(value, starts, sizes, [1] * len(shape))


Handler: TypeAlias = Callable[[LinalgBuilder], SSAValue | Sequence[SSAValue]]
"""Makes what takes the place of the builder's operation; GlowError for what it cannot."""

Handlers: TypeAlias = Mapping[str, Handler]
"""By the operation's name."""
