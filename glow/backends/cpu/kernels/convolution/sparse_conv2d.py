"""Convolution on channel blocks that skips the input channels without weights.

The kernel of `conv2d.py` with another innermost order: a tile of output channels goes through
its own list of input channels, which it reads from a table. A channel costs a few scalar
instructions beside the multiply-adds of a whole tile.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.convolution.conv2d import Carried, Convolution
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import SparseConv2dSpec
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Tile
from glow.lowering.target.target import Target


def build_sparse_conv2d(name: str, spec: SparseConv2dSpec, target: Target) -> Kernel:
    """The kernel: output, input, weights, [bias], epilogue operands, table."""
    return _SparseConvolution(spec, target).kernel(name)


class _SparseConvolution(Convolution):
    """Builds one kernel."""

    def __init__(self, spec: SparseConv2dSpec, target: Target) -> None:
        self.sparse = spec
        super().__init__(spec, target)

    def table_types(self) -> Sequence[MemRefType]:
        """The channel table."""
        return (self.sparse.table_type,)

    def body(self, arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
        """Computes the work items [low, high)."""
        *others, self.table = arguments
        super().body(others, low, high)

    def weights_of(self, buffer: SSAValue, part: ChannelPart) -> SSAValue:
        """[entry, kernel row, kernel column, blocks, lanes] of a part."""
        spec = self.sparse
        number = spec.parts.index(part)
        before = self._entries_before(part)
        kernel = spec.window.kernel
        return self.builder.reinterpret(
            buffer,
            (spec.entries[number], *kernel, part.blocks, spec.lanes),
            offset=before * prod(kernel) * spec.parts[0].blocks * spec.lanes,
        )

    def _entries_before(self, part: ChannelPart) -> int:
        """The entries of the part before."""
        return sum(self.sparse.entries[: self.sparse.parts.index(part)])

    def accumulate(
        self,
        part: ChannelPart,
        position: tuple[Index, Index, Index],
        tile: Tile,
        accumulator: SSAValue,
    ) -> SSAValue:
        """The accumulator after the input channels and taps of a tile."""
        b, spec = self.builder, self.sparse
        _, image, channel_tile = position
        number = b.add(channel_tile, part.first // spec.tile_blocks)
        before = self._entries_before(part)

        def channel(entry: Index, values: Carried) -> Carried:
            index = self._entry(b.add(entry, spec.tiles + 1))
            block = b.floordiv(index, spec.lanes)
            lane = b.sub(index, b.mul(block, spec.lanes))

            def tap(row: Index, column: Index, values: Carried) -> Carried:
                pixels = self.pixels(image, block, row, column, tile)
                at = (b.sub(entry, before), row, column)
                return self._step(part, pixels, at, lane, values)

            return b.carry(
                *tile.row_taps,
                1,
                values,
                lambda row, values: b.carry(
                    *tile.column_taps,
                    1,
                    values,
                    lambda column, values: tap(row, column, values),
                ),
            )

        low, high = self._entry(number), self._entry(b.add(number, 1))
        (result,) = b.carry(low, high, 1, [accumulator], channel)
        return result

    def _entry(self, place: Index) -> Index:
        """A number of the table."""
        b = self.builder
        return b.value(arith.IndexCastOp, (b.load(self.table, place),), types.INDEX)

    def _step(
        self,
        part: ChannelPart,
        pixels: SSAValue,
        at: tuple[Index, ...],
        lane: Index,
        values: Carried,
    ) -> Carried:
        """One multiply-add of the whole tile."""
        b = self.builder
        shape = types.shape_of(values[0])
        weights = self.buffers.weights[part]
        weight = b.transfer_read(weights, (*at, 0, 0), shape[1:], (3, 4))
        x = b.transfer_read(pixels, (0, lane), shape, (0, None, None))
        return [b.fma(x, b.broadcast(weight, shape), values[0])]
