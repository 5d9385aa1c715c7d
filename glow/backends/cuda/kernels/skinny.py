"""Products of few rows, which take as long as the other factor takes to be read.

A warp has some columns; its lanes go through the depth 16 bytes at a time, neighbours side by side,
and add up what they have by exchanges. Where columns are few, all warps of a block share the depth.
Sums are always added in one order:

    lane:   sums[row, column] += a[row, depth] b[column, depth], of every 32nd piece of the depth
    warp:   sums of all lanes, in five exchanges
    block:  sums of its warps, in shared memory, where the depth is shared
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.contraction_spec import ContractionSpec, Factor
from glow.backends.cuda.kernels.gpu_builder import WARP, GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.results import ResultStore
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.target.target import Target

WARPS = 4
THREADS = WARPS * WARP


@dataclass(frozen=True)
class SkinnySpec:
    """A contraction of which a warp computes the rows of a tile, most often all, of some columns.

    The depth is contiguous in both factors. The tile of the product is what a block has. With
    `shares_depth` all warps of a block have the same columns. Arguments are the product's.
    """

    product: ContractionSpec
    columns: int
    shares_depth: bool = False

    @property
    def width(self) -> int:
        """The elements that a lane reads at once."""
        return min(self.product.a.width, self.product.b.width)

    @property
    def rows(self) -> int:
        """The rows of a block."""
        return self.product.tile.rows

    @property
    def sums(self) -> int:
        """Those of a warp."""
        return self.rows * self.columns

    @property
    def depth_step(self) -> int:
        """The depth that all lanes with the same columns read at once."""
        return self.width * WARP * (WARPS if self.shares_depth else 1)

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        return self.product.buffers

    @property
    def grid(self) -> tuple[int, int, int]:
        """The blocks along the columns, the rows, and the batch."""
        return self.product.grid


class Skinny:
    """The body of the kernel."""

    def __init__(
        self, b: GpuBuilder, spec: SkinnySpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.b, self.spec, self.product = b, spec, spec.product
        self.buffers = buffers
        self.m = b.mul(b.block(DimensionEnum.Y), spec.rows) if spec.grid[1] > 1 else 0
        self.batch = b.block(DimensionEnum.Z) if self.product.batch > 1 else 0
        self.warp, self.lane = b.unflatten(b.thread(), (WARPS, WARP))
        self.n = b.mul(b.block(DimensionEnum.X), self.product.tile.columns)
        self.totals = b.shared("totals", (WARPS * spec.sums,), f32)

    def build(self) -> None:
        """Writes the kernel."""
        b, spec = self.b, self.spec
        start = b.constant(0.0, types.vector_type((spec.width,)))
        piece = b.thread() if spec.shares_depth else self.lane
        first = b.mul(piece, spec.width)
        sums = b.carry(
            first, self.product.k, spec.depth_step, [start] * spec.sums, self.step
        )
        self.keep([self.total(each) for each in sums])
        b.barrier()
        self.finish()

    def finish(self) -> None:
        """Stores what the block has."""
        self.share(self.spec.rows * self.product.tile.columns, self.store)

    def share(self, count: int, body: Callable[[Index], None]) -> None:
        """Runs a body at so many positions, which the threads of the block share."""
        b = self.b
        for number in range(0, count, THREADS):
            position = b.add(b.thread(), number)
            inside = number + THREADS <= count or b.compare("slt", position, count)
            b.if_(inside, lambda position=position: body(position))

    def step(self, depth: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The sums of a lane after a piece of the depth."""
        b, spec, columns = self.b, self.spec, self.spec.columns
        own = 0 if spec.shares_depth else b.mul(self.warp, columns)
        first = b.add(self.n, own)
        last = self.product.n - 1
        right = [
            self.read(self.product.b, 2, b.minimum(b.add(first, c), last), depth)
            for c in range(columns)
        ]
        after = list(sums)
        for row in range(spec.rows):
            place = b.add(self.m, row)
            if self.product.m % spec.rows:
                place = b.minimum(place, self.product.m - 1)
            left = self.read(self.product.a, 1, place, depth)
            for column in range(columns):
                at = row * columns + column
                after[at] = b.fma(left, right[column], after[at])
        return after

    def read(self, factor: Factor, buffer: int, outer: Index, depth: Index) -> SSAValue:
        """A piece of a row of a factor, as f32."""
        b, place = self.b, factor.locate(self.b, self.batch, outer, depth)
        value = b.vector_load(self.spec.width, self.buffers[buffer], *place.indices)
        if types.element_of(value) == f32:
            return value
        return b.cast(arith.ExtFOp, value, f32)

    def total(self, value: SSAValue) -> SSAValue:
        """The sum of what all lanes of a warp have."""
        b, (first, *others) = self.b, self.b.elements(value)
        for other in others:
            first = b.addf(first, other)
        for offset in (16, 8, 4, 2, 1):
            first = b.addf(first, b.exchange(first, offset))
        return first

    def keep(self, totals: Sequence[SSAValue]) -> None:
        """Puts the totals of a warp into shared memory."""
        b = self.b

        def store() -> None:
            for number, total in enumerate(totals):
                b.store(total, self.totals, self.place(number))

        b.if_(b.compare("eq", self.lane, 0), store)

    def place(self, number: int) -> Index:
        """Where a sum of a warp is kept: beside those of the row, or of the warp."""
        b, spec = self.b, self.spec
        if spec.shares_depth:
            return b.add(b.mul(self.warp, spec.sums), number)
        row, column = divmod(number, spec.columns)
        own = b.add(b.mul(self.warp, spec.columns), column)
        return b.add(own, row * self.product.tile.columns)

    def store(self, position: Index) -> None:
        """Stores a result of the block, columns side by side."""
        b, shape = self.b, (self.spec.rows, self.product.tile.columns)
        row, column = b.unflatten(position, shape)
        store = ResultStore(b, self.product, self.buffers)
        m, n = b.add(self.m, row), b.add(self.n, column)
        store.store_valid(self.batch, self.sum_of(position), m, n)

    def sum_of(self, position: Index) -> SSAValue:
        """A sum of the block, of those that the warps have of it."""
        b, spec = self.b, self.spec
        total = b.load(self.totals, position)
        for other in range(1, WARPS if spec.shares_depth else 1):
            part = b.load(self.totals, b.add(position, other * spec.sums))
            total = b.addf(total, part)
        return total


def build_skinny(spec: SkinnySpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a product of few rows."""
    b = GpuBuilder(target)
    return b.kernel(
        name,
        spec.buffers,
        THREADS,
        spec.grid,
        lambda buffers: Skinny(b, spec, buffers).build(),
    )
