"""How large the pixels of an image in channel blocks are: the guard of Winograd convolutions.

The size of a pixel is the largest magnitude of its channels, each times a factor (a power of two
that goes with the channel's weights), as the bits of f32: integers in the order of the numbers,
above which are infinity and NaN. A register of neighbouring pixels is taken through all blocks,
and their lanes folded together: half as many at each step. A kernel that takes blocks of tiles
through all phases of a convolution does so for the pixels that it is about to transform, and that
are in the L1 then; where the phases are kernels of their own, one before them does it for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiles import Origin
from glow.backends.cpu.kernels.winograd.tiling import WinogradTiling
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.magnitudes import MAGNITUDE, larger_magnitude
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class PixelSizesSpec:
    """i32 [batch, pixels] of f32 [batch, blocks, pixels, lanes] and factors [blocks, lanes].

    Arguments of the kernel: sizes, image, factors. Lanes beyond the channels do not count.
    Images are `groups` groups in turn, each with factors of its own.
    """

    batch: int
    channels: int
    pixels: int
    lanes: int
    groups: int = 1

    @property
    def images(self) -> tuple[int, int]:
        """The images, and the groups of each."""
        return self.batch // self.groups, self.groups

    @property
    def blocks(self) -> int:
        """The blocks of channels."""
        return -(-self.channels // self.lanes)

    @property
    def sizes_type(self) -> MemRefType:
        """The memref type of the sizes."""
        return types.memref_type((self.batch, self.pixels), i32)

    @property
    def image_type(self) -> MemRefType:
        """The memref type of the image."""
        return types.memref_type((self.batch, self.blocks, self.pixels, self.lanes))

    @property
    def factors_type(self) -> MemRefType:
        """The memref type of the factors of channels, of all groups."""
        return types.memref_type((self.groups * self.blocks, self.lanes))

    @property
    def run(self) -> int:
        """How many neighbouring pixels are taken at a time: a power of two."""
        return 1 << (min(self.lanes, self.pixels).bit_length() - 1)


def build_pixel_sizes(
    spec: PixelSizesSpec, target: Target, name: str = "pixel_sizes"
) -> Kernel:
    """The kernel f(sizes, image, factors, lo, hi); work items are runs of pixels."""
    builder = LoopBuilder(target)
    runs = -(-spec.pixels // spec.run)
    space = (spec.batch, runs)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        sizes = PixelSizes(builder, spec, buffers)
        builder.space(
            low,
            high,
            space,
            lambda at: sizes.write_run(at[0], builder.mul(at[1], spec.run)),
        )

    buffers = [spec.sizes_type, spec.image_type, spec.factors_type]
    return Kernel(builder.function(name, buffers, body), prod(space))


class PixelSizes:
    """Computes the sizes of some pixels; buffers are sizes, image and factors."""

    def __init__(
        self, builder: LoopBuilder, spec: PixelSizesSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.builder, self.spec = builder, spec
        self.sizes, self.image, self.factors = buffers

    def write_range(self, image: Index, start: Index, end: Index) -> None:
        """Writes the sizes of the pixels from start to end, and of a few behind them."""
        self.builder.loop(
            start, end, self.spec.run, lambda first: self.write_run(image, first)
        )

    def write_run(self, image: Index, first: Index) -> None:
        """Writes the sizes of a run; one at the end is moved up to end with the image."""
        builder, spec = self.builder, self.spec
        if not isinstance(first, int) or first > spec.pixels - spec.run:
            first = builder.minimum(first, spec.pixels - spec.run)
        zero = builder.constant(0, types.vector_type((spec.lanes,), i32))
        full, rest = divmod(spec.channels, spec.lanes)
        every = builder.constant(MAGNITUDE, types.vector_type((spec.lanes,), i32))
        largest = builder.carry(
            0,
            full,
            1,
            [zero] * spec.run,
            lambda block, carried: self._with(image, block, first, every, carried),
        )
        if rest:
            bits = [MAGNITUDE] * rest + [0] * (spec.lanes - rest)
            some = builder.constant_vector(bits, i32)
            largest = self._with(image, full, first, some, largest)
        builder.vector_store(self._folded(largest), self.sizes, image, first)

    def _with(
        self,
        image: Index,
        block: Index,
        first: Index,
        mask: SSAValue,
        largest: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The larger of what is there and the magnitudes of a block."""
        builder, spec, lanes = self.builder, self.spec, self.spec.lanes
        _, group = builder.unflatten(image, spec.images)
        row = builder.add(builder.mul(group, spec.blocks), block)
        factor = builder.vector_load(lanes, self.factors, row, 0)

        def pixel(number: int, before: SSAValue) -> SSAValue:
            where = (image, block, builder.add(first, number), 0)
            value = builder.vector_load(lanes, self.image, *where)
            bits = builder.bitcast(builder.mulf(value, factor), i32)
            magnitudes = builder.binary_integer(arith.AndIOp, bits, mask)
            return larger_magnitude(builder, before, magnitudes)

        return [pixel(number, before) for number, before in enumerate(largest)]

    def _folded(self, vectors: Sequence[SSAValue]) -> SSAValue:
        """The largest lane of each vector, in the order of the vectors."""
        group = self.spec.lanes
        while len(vectors) > 1:
            pairs = zip(vectors[0::2], vectors[1::2], strict=True)
            vectors = [self._halved(group, a, b) for a, b in pairs]
            group //= 2
        (vector,) = vectors
        while group > 1:
            vector = self._halved(group, vector)
            group //= 2
        return vector

    def _halved(self, group: int, a: SSAValue, b: SSAValue | None = None) -> SSAValue:
        """The larger of both halves of each group of lanes, of one vector or of two."""
        (lanes,) = types.shape_of(a)
        count = lanes if b is None else 2 * lanes
        lower = [k for k in range(count) if k % group < group // 2]
        half = partial(self.builder.shuffle, a, b or a)
        upper = half([k + group // 2 for k in lower])
        return larger_magnitude(self.builder, half(lower), upper)


def pixel_sizes_of(spec: WinogradSpec) -> PixelSizesSpec:
    """Those of the input of a convolution."""
    pixels = prod(spec.plane)
    return PixelSizesSpec(spec.batch, spec.in_channels, pixels, spec.lanes, spec.groups)


class SizesPhase:
    """Measures the pixels of a block of tiles before it is transformed.

    Each pixel belongs to a row of tiles, though others read it too, and to a segment of it.
    """

    def __init__(
        self,
        b: LoopBuilder,
        tiling: WinogradTiling,
        sizes: SSAValue,
        source: SSAValue,
        factors: SSAValue,
    ) -> None:
        self.builder, self.tiling, self.spec = b, tiling, tiling.spec
        pixels = pixel_sizes_of(tiling.spec)
        image = b.reinterpret(source, pixels.image_type.get_shape())
        self.pixels = PixelSizes(b, pixels, [sizes, image, factors])

    def row(self, origin: Origin, row: Index) -> None:
        """The sizes of the pixels of one row (segment) of the block that starts at `origin`."""
        b, spec, tiling = self.builder, self.spec, self.tiling
        extents, (_, width) = (spec.batch, spec.tiles_down), spec.plane
        image, down = b.unflatten(b.add(origin.row, row), extents)
        top, bottom = self._own(down, 1, 0)
        if tiling.segments == 1:
            start, end = b.mul(top, width), b.mul(bottom, width)
            self.pixels.write_range(image, start, end)
            return
        left, right = self._own(origin.across, tiling.tiles_across, 1)

        def line(y: Index) -> None:
            first = b.mul(y, width)
            self.pixels.write_range(image, b.add(first, left), b.add(first, right))

        b.loop(top, bottom, 1, line)

    def _own(self, tile: Index, count: int, axis: int) -> tuple[Index, Index]:
        """Where the pixels of some tiles begin and end; the last ones have what is left."""
        b, spec = self.builder, self.spec
        size = spec.plane[axis]
        tiles = (spec.tiles_down, spec.tiles_across)[axis]
        start, end = (
            b.mul(t, spec.tile_plane[axis]) for t in (tile, b.add(tile, count))
        )
        is_last = b.compare("sge", tile, tiles - count)
        return start, b.select_index(is_last, size, b.minimum(end, size))
