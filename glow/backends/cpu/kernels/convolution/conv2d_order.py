"""In which order a direct convolution visits channels and lines, and what threads share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

from glow.backends.cpu.kernels.convolution.conv2d_spec import (
    PIXELS,
    Conv2dSpec,
    ConvTiling,
)
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.work_items import WorkItems

Position: TypeAlias = tuple[Index, Index, Index]
"""A group, an image and a channel tile."""


ConvBody: TypeAlias = Callable[[Position, Index], None]
"""Takes a position and a line of the plane."""


ORDERS = {
    "rows": "rows",
    "channels": "channel tiles, then rows",
    "shared_rows": "rows, all channel tiles of each",
    PIXELS: "rows, pixel by pixel",
}
"""The orders of a configuration, in words."""


@dataclass(frozen=True)
class ConvOrder:
    """The order of one convolution, which is configured."""

    spec: Conv2dSpec
    tiling: ConvTiling

    @cached_property
    def channel_tiles(self) -> int:
        """The channel tiles of a group."""
        return sum(part.tiles for part in self.tiling.parts)

    @property
    def channels_outermost(self) -> bool:
        """Whether all lines pass by the weights of a channel tile before the next one's."""
        return self.tiling.config.order not in ("rows", PIXELS)

    @property
    def tiles_ahead(self) -> int:
        """How many channel tiles ahead big weights are fetched; 0 where they are not."""
        return self.tiling.config.prefetch if self.channels_outermost else 0

    @property
    def _shares_lines(self) -> bool:
        """Whether threads share the lines that pass by big weights."""
        return self.tiling.config.order == "shared_rows"

    @property
    def _lines(self) -> WorkItems:
        return WorkItems((self.tiling.images,), self.tiling.lines, 1)

    @property
    def _shares(self) -> int:
        """The parts of a line's channels: of an odd number of lines, two threads halve one."""
        return 1 + self._lines.size % 2

    @property
    def _work_items(self) -> WorkItems:
        groups, tiles, lines = self.spec.groups, self.channel_tiles, self.tiling.lines
        images = self.tiling.images
        if self.channels_outermost:
            return WorkItems((groups, tiles, images), lines, 3)
        return WorkItems((groups, images, tiles), lines, 2)

    @property
    def work_items(self) -> int:
        """The number of work items that threads share."""
        if self._shares_lines:
            return self._lines.size * self._shares
        return self._work_items.size

    @property
    def description(self) -> str:
        """The order in words."""
        return ORDERS[self.tiling.config.order]

    def visit(self, b: LoopBuilder, low: Index, high: Index, body: ConvBody) -> None:
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
