"""In which order a direct convolution visits channels and lines, and what threads share.

Big weights stay in a near cache if all lines pass by them before the next channels; small ones
stay there anyway, and then the input line is what should. Threads share lines where they can: each
then reads of the input only what it wrote itself. For big weights that means that each reads all
of them, so these are shared by channels instead where they are larger than what threads would
read of each other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec, ConvTiling
from glow.backends.cpu.tiling.row_tiles import RowTraversal
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import PlaneTraversal
from glow.lowering.loop_builder.work_items import WorkItems, prefers_rows
from glow.lowering.target.target import Target

Position: TypeAlias = tuple[Index, Index, Index]
"""A group, an image and a channel tile."""


ConvBody: TypeAlias = Callable[[Position, Index], None]
"""Takes a position and a line of the plane."""


@dataclass(frozen=True)
class ConvOrder:
    """The order of one convolution."""

    spec: Conv2dSpec
    tiling: ConvTiling
    target: Target
    own_weights: bool
    """Whether few tiles of pixels fetch all weights of the next channels; else each line of a
    plane fetches its share, and threads that have some of the lines would miss the others'."""

    @cached_property
    def channel_tiles(self) -> int:
        """The channel tiles of a group."""
        return sum(part.tiles for part in self.tiling.parts)

    @cached_property
    def _weight_bytes(self) -> int:
        return self.spec.packed_weights * types.byte_width(self.spec.element)

    @cached_property
    def channels_outermost(self) -> bool:
        """Whether all lines pass by the weights of a channel tile before the next one's."""
        return self._weight_bytes > self.target.l2_bytes // 2

    @cached_property
    def _shares_lines(self) -> bool:
        """Whether threads share the lines that pass by big weights."""
        spec = self.spec
        both = prod(spec.input_type.get_shape()) + prod(spec.output_type.get_shape())
        activations = both * types.byte_width(spec.element)
        size = self._lines.size * self._shares
        is_better = prefers_rows(
            size, self._weight_bytes, activations, self.target.core
        )
        return self.channels_outermost and self.own_weights and is_better

    @property
    def _line_tiling(self) -> ConvTiling:
        """With as many segments of rows as threads need if only lines are shared."""
        return replace(self.tiling, planes=self.spec.batch)

    @property
    def _lines(self) -> WorkItems:
        return WorkItems((self.spec.batch,), self._count(self._line_tiling), 1)

    @property
    def _shares(self) -> int:
        """The parts of a line's channels: of an odd number of lines, two threads halve one."""
        return 1 + self._lines.size % 2

    def _count(self, tiling: ConvTiling) -> int:
        return tiling.traversal(tiling.parts[0]).lines

    def traversal(self, part: ChannelPart) -> PlaneTraversal | RowTraversal:
        """The walk over the plane with the tiles of a part."""
        tiling = self._line_tiling if self._shares_lines else self.tiling
        return tiling.traversal(part)

    @property
    def _work_items(self) -> WorkItems:
        spec, tiles = self.spec, self.channel_tiles
        lines = self._count(self.tiling)
        if self.channels_outermost:
            return WorkItems((spec.groups, tiles, spec.batch), lines, 3)
        return WorkItems((spec.groups, spec.batch, tiles), lines, 2)

    @property
    def work_items(self) -> int:
        """The number of work items that threads share."""
        if self._shares_lines:
            return self._lines.size * self._shares
        return self._work_items.size

    @property
    def description(self) -> str:
        """The order in words."""
        if self._shares_lines:
            return "lines, all channel tiles of each"
        return "channel tiles, then lines" if self.channels_outermost else "lines"

    def visit(
        self,
        b: LoopBuilder,
        low: Index,
        high: Index,
        body: ConvBody,
    ) -> None:
        """Runs the body on the positions and lines of the work items [low, high)."""
        if self._shares_lines:
            self._visit_lines(b, low, high, body)
        elif self.channels_outermost:
            self._work_items.visit(
                b, low, high, lambda at, line: body((at[0], at[2], at[1]), line)
            )
        else:
            self._work_items.visit(
                b, low, high, lambda at, line: body((at[0], at[1], at[2]), line)
            )

    def _visit_lines(
        self, b: LoopBuilder, low: Index, high: Index, body: ConvBody
    ) -> None:
        """All lines of the work items for each channel tile; these are parts of the lines."""
        count = self._shares

        def line_after(end: Index, share: Index) -> Index:
            return b.floordiv(b.add(end, b.sub(count - 1, share)), count)

        def channels(group: Index, share: Index) -> None:
            first, last = line_after(low, share), line_after(high, share)

            def lines(tile: Index) -> None:
                self._lines.visit(
                    b, first, last, lambda at, line: body((group, at[0], tile), line)
                )

            b.loop(*b.share(self.channel_tiles, share, count), 1, lines)

        extents = (self.spec.groups, count)
        b.space(0, prod(extents), extents, lambda at: channels(*at))
