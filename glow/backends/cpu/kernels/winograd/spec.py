"""What a Winograd convolution is, and the points by which it is transformed.

F(m x m, r x r) computes an m x m output tile from a patch of n x n inputs, n = m + r - 1: patches
and kernels are transformed, multiplied position by position (a matrix product over the channels
for each of the n^2 positions), and the products are transformed back. That takes
n^2 / (r m)^2 of the multiplications of a direct convolution: for r = 3 0.44 with m = 2, 0.25 with
m = 4, 0.2 with m = 6; for r = 4 0.25 with m = 3; for r = 5 0.36 with m = 2, 0.16 with m = 4.

Kernels of one row or column have transforms along one axis: F(m, r) takes n / (r m) of the
multiplications, for r = 3 0.5 with m = 4 and 0.44 with m = 6; for r = 5 0.4 with m = 4. Sums that
are transformed once lose the root of the digits, so that patches of 8 are as exact as squares
of 6. A tile is m outputs then, and a patch n inputs.

The points of n = 6 are 0, +-0.625, +-1.5 and infinity rather than the usual 0, +-1, +-2: as
many operations, a third of the error. Those of n = 8 have the least error of some hundred
triples that were tried. Expected errors are in `docs/numerics.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import WinogradConfig
from glow.backends.cpu.tiling.tiles import TileModel
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.target.target import Target

Pair = tuple[int, int]

POINTS = {4: (1.0,), 6: (0.625, 1.5), 8: (0.5, 1.0, 2.0)}
"""The positive interpolation points by patch size; besides 0, their negatives and infinity."""

ACCURATE_PATCHES = {1: 8, 2: 6}
"""The largest patch whose errors are of the size of a direct convolution's, by how many axes are
transformed."""

SMALLEST_SIZE = (127 - 60) << 23
"""The bits of 2^-60: patches of smaller sizes (`winograd_bounds.py`) lose digits of subnormal
products."""

KERNELS = {1: (2, 3, 4, 5, 6, 7), 2: (3, 4, 5)}
"""The kernel sizes for which patches yield enough outputs, by how many axes are transformed."""

BOTH = (0, 1)
"""The axes of a square kernel."""


@dataclass(frozen=True)
class WinogradSpec:
    """A convolution of stride one with a `kernel` x `kernel` filter.

    With one of the `axes` (0 down, 1 across) kernel, tile and patch have their size along it, and
    one row or column of the plane along the other.
    Pads are ONNX's (top, left, bottom, right): `most_pads` are allowed. The largest sum of each
    `pool` x `pool` square goes through the epilogue and is stored. `has_zero_taps`: the last row
    and column of taps are zeros for some channels, which stand for no taps: an infinity there
    reaches nothing.

    The convolution may be one in `groups`. In blocks that they fill, groups of channels are images
    of their own: `batch` counts these, the channels are those of one, and the weights of image i
    are those of group i % `groups`, as are its bias and what else a channel has.
    """

    batch: int
    in_channels: int
    out_channels: int
    plane: tuple[int, int]
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    tile: int = 4
    kernel: int = 3
    pool: int = 1
    lanes: int = 16
    has_bias: bool = False
    epilogue: Epilogue | None = None
    element: Attribute = f32
    has_zero_taps: bool = False
    axes: tuple[int, ...] = BOTH
    groups: int = 1
    config: WinogradConfig | None = None
    """Chosen before; else the best one for the target."""

    @property
    def images(self) -> Pair:
        """The images, and the groups of each."""
        return self.batch // self.groups, self.groups

    @property
    def bare(self) -> WinogradSpec:
        """Only the sums."""
        return replace(self, has_bias=False, epilogue=None, pool=1, has_zero_taps=False)

    @property
    def output_plane(self) -> Pair:
        """The (height, width) of the sums."""
        (height, width), (top, left, bottom, right) = self.plane, self.pads
        down, across = self.kernel_plane
        return height + top + bottom - down + 1, width + left + right - across + 1

    @property
    def patch(self) -> int:
        """The size of an input patch along the axes that are transformed."""
        return self.tile + self.kernel - 1

    @property
    def tile_plane(self) -> Pair:
        """The (height, width) of an output tile."""
        return self._along_axes(self.tile)

    @property
    def kernel_plane(self) -> Pair:
        """The (height, width) of the filter."""
        return self._along_axes(self.kernel)

    @property
    def patch_plane(self) -> Pair:
        """The (height, width) of an input patch."""
        return self._along_axes(self.patch)

    def _along_axes(self, size: int) -> Pair:
        down, across = (size if axis in self.axes else 1 for axis in BOTH)
        return down, across

    @property
    def most_pads(self) -> Pair:
        """The most rows and columns of padding at each border.

        Of a line as many as still leave each window an input, as convolutions over time have that
        read no later step; squares have at most half of the kernel.
        """
        if self.is_line:
            down, across = self.kernel_plane
            return down - 1, across - 1
        return self.kernel // 2, self.kernel // 2

    @property
    def is_line(self) -> bool:
        """Whether tiles are one row or column."""
        return len(self.axes) == 1

    @property
    def is_accurate(self) -> bool:
        """Whether errors are of the size of a direct convolution's."""
        return self.patch <= ACCURATE_PATCHES[len(self.axes)]

    @property
    def positions(self) -> int:
        """The positions in a patch: so many matrix products."""
        return prod(self.patch_plane)

    @property
    def tiles_down(self) -> int:
        """The tile rows of one image."""
        return -(-self.output_plane[0] // self.tile_plane[0])

    @property
    def tiles_across(self) -> int:
        """The tiles in a tile row."""
        return -(-self.output_plane[1] // self.tile_plane[1])

    @property
    def tile_rows(self) -> int:
        """The tile rows of all images."""
        return self.batch * self.tiles_down

    @property
    def input_blocks(self) -> int:
        """The blocks of input channels."""
        return -(-self.in_channels // self.lanes)

    @property
    def output_blocks(self) -> int:
        """The blocks of output channels."""
        return -(-self.out_channels // self.lanes)

    @property
    def operations(self) -> int:
        """The additions and multiplications of the direct sums."""
        outputs = self.batch * self.out_channels * prod(self.output_plane)
        return 2 * outputs * self.in_channels * prod(self.kernel_plane)

    @property
    def input_type(self) -> MemRefType:
        """The memref type of the input."""
        shape = (self.batch, self.input_blocks, *self.plane, self.lanes)
        return types.memref_type(shape, self.element)

    @property
    def output_type(self) -> MemRefType:
        """The memref type of the output."""
        plane = (size // self.pool for size in self.output_plane)
        shape = (self.batch, self.output_blocks, *plane, self.lanes)
        return types.memref_type(shape, self.element)

    @property
    def channel_type(self) -> MemRefType:
        """The memref type of one value per output channel of all groups."""
        blocks = self.groups * self.output_blocks
        return types.memref_type((blocks, self.lanes), self.element)

    @property
    def group_weights(self) -> int:
        """The number of packed weights of a group."""
        return self.positions * self.in_channels * self.output_blocks * self.lanes

    @property
    def packed_weights(self) -> int:
        """The number of packed weights."""
        return self.groups * self.group_weights

    def allows_rows(self, count: int) -> bool:
        """Whether blocks of so many tile rows are each of one group."""
        return self.groups == 1 or self.tiles_down % count == 0

    def reads_weights_well(self, target: Target) -> bool:
        """Whether weights of groups, which few tiles read, arrive as fast as these multiply."""
        tiles = self.tiles_down * self.tiles_across
        return self.groups == 1 or tiles >= target.core.balance

    def model(self, target: Target) -> TileModel:
        """What register tiles of the products cost."""
        vector_bytes = self.lanes * types.bit_width(self.element) // 8
        return TileModel(self.in_channels, vector_bytes, target)

    def supported(self) -> bool:
        """Whether a tile fits the plane, only patch borders can lie in the padding, and all
        squares of the pool lie within tiles.
        """
        sizes = zip(self.output_plane, self.tile_plane, strict=True)
        fits = all(size >= tile for size, tile in sizes)
        in_points = self.tile > 1 and self.patch in POINTS
        known = in_points and self.kernel in KERNELS[len(self.axes)]
        pooled = (*self.tile_plane, *self.output_plane)
        whole = not any(size % self.pool for size in pooled)
        most = (*self.most_pads, *self.most_pads)
        padded = all(0 <= pad <= m for pad, m in zip(self.pads, most, strict=True))
        return known and fits and whole and padded
