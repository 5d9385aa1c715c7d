"""What conversions of StableHLO operations are written with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.dialects.stablehlo import StableHloOp
from glow.frontends.graph_builder import BUDGET as BUDGET
from glow.frontends.graph_builder import GraphBuilder
from glow.frontends.graph_builder import is_boolean as is_boolean
from glow.frontends.graph_builder import static_type as static_type
from glow.passes.rewriting.node_builder import NodeBuilder

INDEX = IndexType()


@dataclass(frozen=True)
class LoopIndex:
    """What counts a loop: an index from `start` to below `limit`."""

    index: SSAValue
    start: int
    limit: int

    def is_inside(self, extent: int) -> bool:
        """Whether it is always a position along an axis."""
        return self.start >= 0 and self.limit <= extent

    def moved(self, builder: NodeBuilder, distance: int) -> LoopIndex:
        """The index plus a number."""
        step = builder.insert(arith.ConstantOp(IntegerAttr(distance, INDEX)))
        total = builder.insert(arith.AddiOp(self.index, step.results[0])).results[0]
        return LoopIndex(total, self.start + distance, self.limit + distance)

    def turned(self, builder: NodeBuilder, end: int) -> LoopIndex:
        """A number minus the index."""
        first = builder.insert(arith.ConstantOp(IntegerAttr(end, INDEX)))
        rest = builder.insert(arith.SubiOp(first.results[0], self.index)).results[0]
        return LoopIndex(rest, end - self.limit + 1, end - self.start + 1)


LoopIndices: TypeAlias = dict[SSAValue, LoopIndex]
"""By the tensor that holds the same number in the program."""


class HloBuilder(GraphBuilder):
    """Makes the nodes that take the place of one operation."""

    def __init__(self, op: StableHloOp, loop_indices: LoopIndices) -> None:
        """`loop_indices` are those of the loops around."""
        super().__init__(op)
        self.op = op
        self.loop_indices = loop_indices


Handler: TypeAlias = Callable[[HloBuilder], SSAValue | Sequence[SSAValue]]
"""Makes what takes the place of the builder's operation; GlowError for what it cannot."""

Handlers: TypeAlias = Mapping[str, Handler]
"""By the operation's name."""
