"""How large the pixels of an image in channel blocks are: the guard of Winograd convolutions.

The size of a pixel is the largest magnitude of its channels, each times a factor (a power of two
that goes with the channel's weights), as the bits of f32: integers in the order of the numbers,
above which are infinity and NaN. A register of neighbouring pixels is taken through all blocks,
and their lanes folded together: half as many at each step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

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
    """

    batch: int
    channels: int
    pixels: int
    lanes: int

    @property
    def blocks(self) -> int:
        """The blocks of channels."""
        return -(-self.channels // self.lanes)

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
        sizes = _PixelSizes(builder, spec, buffers)
        builder.space(low, high, space, lambda at: sizes.write_run(at[0], at[1]))

    buffers = [
        types.memref_type((spec.batch, spec.pixels), i32),
        types.memref_type((spec.batch, spec.blocks, spec.pixels, spec.lanes)),
        types.memref_type((spec.blocks, spec.lanes)),
    ]
    return Kernel(builder.function(name, buffers, body), prod(space))


class _PixelSizes:
    """What the kernel computes for a run of pixels."""

    def __init__(
        self, builder: LoopBuilder, spec: PixelSizesSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.builder, self.spec = builder, spec
        self.sizes, self.image, self.factors = buffers

    def write_run(self, image: Index, number: Index) -> None:
        """Writes the sizes of a run; the last one is moved up to end with the image."""
        builder, spec = self.builder, self.spec
        first = builder.mul(number, spec.run)
        if spec.pixels % spec.run:
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
        builder, lanes = self.builder, self.spec.lanes
        factor = builder.vector_load(lanes, self.factors, block, 0)

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
