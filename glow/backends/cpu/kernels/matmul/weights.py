"""The packed right matrix of a product: how a kernel reads it, and fetches it ahead.

Elements of 16 bits lie in pairs of rows, `[K / 2][blocks][lanes][2]`, so that a register holds
what one dot-product instruction takes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from glow.backends.cpu.tiling.matmul_tile import ColumnGroup, ColumnSplit
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

_STEPS_AHEAD = 8
_WORD_BYTES = 4

_StepBody = Callable[[Index], None]


def fill_columns(target: np.ndarray, columns: np.ndarray) -> None:
    """Copy [K, N] into [K / group, N or more, group], the rest of which becomes zero."""
    group, count = target.shape[-1], columns.shape[1]
    for k in range(group):
        target[:, :count, k] = columns[k::group]
    target[:, count:] = 0


class PackedWeights:
    """Reads the rows of the packed matrix.

    With `streams`, a group of columns is so many parts, `[streams][K][blocks / streams][lanes]`.
    """

    def __init__(
        self,
        builder: LoopBuilder,
        buffer: SSAValue,
        steps: int,
        split: ColumnSplit,
        group: int = 1,
        streams: int = 1,
    ) -> None:
        self.builder = builder
        self.split = split
        self.inner = () if group == 1 else (group,)
        whole = (split.groups, steps, split.blocks, split.lanes, *self.inner)
        self.parts = streams
        if streams > 1:
            whole = (split.groups, streams, steps, split.blocks // streams, split.lanes)
        rest = split.rest
        self.whole = builder.reinterpret(buffer, whole) if split.groups else buffer
        if rest is not None:
            offset = split.groups * steps * split.blocks * split.lanes * group
            shape = (steps, rest.blocks, split.lanes, *self.inner)
            self.rest = builder.reinterpret(buffer, shape, offset=offset)

    def read(self, unit: Index, group: ColumnGroup, k: Index) -> SSAValue:
        """The rows of step k of a group of columns, [blocks, lanes] or [blocks, lanes, 2]."""
        if self.streams(group) > 1:
            return self._side_by_side(unit, k)
        shape = (group.blocks, self.split.lanes, *self.inner)
        inside = (0,) * len(shape)
        memory, outer = self.place(unit, group)
        axes = tuple(range(len(outer) + 1, len(outer) + 1 + len(shape)))
        return self.builder.transfer_read(memory, (*outer, k, *inside), shape, axes)

    def streams(self, group: ColumnGroup) -> int:
        """The parts of a group of columns; a last, narrower one is not divided."""
        return 1 if group == self.split.rest else self.parts

    def _side_by_side(self, unit: Index, k: Index) -> SSAValue:
        """[blocks, lanes] of all parts."""
        b, blocks, lanes = self.builder, self.split.blocks, self.split.lanes
        element = types.element_of(self.whole)
        rows = b.constant(0, types.vector_type((blocks, lanes), element))
        for block in range(blocks):
            part, inside = divmod(block, blocks // self.parts)
            row = b.vector_load(lanes, self.whole, unit, part, k, inside, 0)
            rows = b.insert(row, rows, block)
        return rows

    def rows(
        self, unit: Index, group: ColumnGroup
    ) -> tuple[SSAValue, tuple[Index, ...]]:
        """As `place`, with all of a step in one dimension."""
        memory, outer = self.place(unit, group)
        *before, steps = types.shape_of(memory)[: len(outer) + 1]
        width = group.blocks * self.split.lanes * prod(self.inner)
        offset = types.memref_layout(types.memref_of(memory))[1]
        view = self.builder.reinterpret(
            memory, (*before, steps, width), offset=offset or 0
        )
        return view, outer

    def place(
        self, unit: Index, group: ColumnGroup
    ) -> tuple[SSAValue, tuple[Index, ...]]:
        """The memory of a group of columns, and the first indices of its steps there."""
        is_rest = group == self.split.rest
        return (self.rest, ()) if is_rest else (self.whole, (unit,))


class PanelPrefetch:
    """Fetches what comes next of the packed matrix while a tile is multiplied.

    Each step of the depth asks for one element: half of the tiles of a panel together cover the
    next panel, and the others do so again, since they may be another thread's. That costs nothing
    where B does not come from memory. A product that reads B once, with a single tile of rows,
    fetches a few steps ahead where B exceeds the second cache. `distance`: that many times as
    many panels or steps ahead.
    """

    def __init__(
        self,
        builder: LoopBuilder,
        buffer: SSAValue,
        depth: int,
        tiles: int,
        tile_rows: int,
        distance: int = 1,
    ) -> None:
        self.builder = builder
        self.buffer = buffer
        self.word = _WORD_BYTES // types.byte_width(types.element_of(buffer))
        self.depth = depth
        self.tiles = tiles
        self.tile_rows = tile_rows
        self.distance = distance

    def at(
        self, next_panel: Index, group: ColumnGroup, row: Index, streams: int = 1
    ) -> _StepBody:
        """What each step of the tile in that row does; the panel is a 32-bit word's index.

        `streams`: the parts of the panel, in each of which a step reads some of its blocks.
        """
        builder, lanes = self.builder, self.builder.target.lanes(32)
        if not self.distance:
            return lambda k: None
        if self.tiles == 1:
            return self._ahead(next_panel, group, streams)
        if self.tiles < group.blocks:
            return lambda k: None
        panel = self.depth * group.blocks * lanes
        next_panel = builder.add(next_panel, (self.distance - 1) * panel)
        tiles = max(-(-self.tiles // 2), group.blocks)
        stride = -(-group.blocks * lanes // tiles)
        row = builder.remainder(row, tiles * self.tile_rows)
        share = builder.mul(row, -(-stride * self.depth // self.tile_rows))
        start = builder.add(next_panel, share)
        return lambda k: self._fetch(builder.add(start, builder.mul(k, stride)))

    def _fetch(self, word: Index) -> None:
        element = self.builder.mul(word, self.word)
        self.builder.prefetch(self.buffer, element, locality=3)

    def _ahead(self, next_panel: Index, group: ColumnGroup, streams: int) -> _StepBody:
        """Asks for the whole row of the panel that is read some steps later."""
        builder, lanes = self.builder, self.builder.target.lanes(32)
        (elements,) = types.shape_of(self.buffer)
        if _WORD_BYTES * elements <= builder.target.l2_bytes * self.word:
            return lambda k: None
        blocks, steps = group.blocks // streams, self.distance * _STEPS_AHEAD
        width = blocks * lanes
        panel = builder.sub(next_panel, self.depth * group.blocks * lanes)

        def fetch(k: Index) -> None:
            row = builder.add(panel, builder.mul(builder.add(k, steps), width))
            for part, block in product(range(streams), range(blocks)):
                inside = (part * self.depth * blocks + block) * lanes
                self._fetch(builder.add(row, inside))

        return fetch
