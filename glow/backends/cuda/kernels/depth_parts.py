"""Products whose depth several blocks share, where the results alone are too few blocks.

A part of the depth is a matrix of a batch; its sums go behind those of the others into memory of
f32 or i32, and a second kernel adds them up in their order, through the epilogue:

    C[b, m, n] = epilogue(the sum over p of S[b, p, m, n])
    S[b, p, m, n] = the sum over the k of part p of A[b, m, k] B[b, k, n]

So results depend neither on which block is done first nor on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    Factor,
    GpuTile,
    MatrixResult,
    Place,
)
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.results import Piece, ResultStore
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.target.target import Target

THREADS = 256
VECTOR = 4


@dataclass(frozen=True)
class PartFactor:
    """Parts of a factor's depth, each `depth` positions long and a matrix of the batch."""

    whole: Factor
    batch: int
    parts: int
    depth: int

    @property
    def type(self) -> MemRefType[Attribute]:
        """The buffer."""
        return self.whole.type

    @property
    def is_depth_contiguous(self) -> bool:
        """As it is of the whole factor."""
        return self.whole.is_depth_contiguous

    @property
    def width(self) -> int:
        """The elements in a row that one copy may take."""
        return self.whole.width

    def locate(self, b: LoopBuilder, batch: Index, outer: Index, depth: Index) -> Place:
        """Where an element of a part lies."""
        number, part = b.unflatten(batch, (self.batch, self.parts))
        depth = b.add(b.mul(part, self.depth), depth)
        return self.whole.locate(b, number, outer, depth)


def part_product(spec: ContractionSpec, parts: int) -> ContractionSpec:
    """The product of all parts, which `spec.k` is a multiple of; its results are their sums."""
    depth, batch = spec.k // parts, spec.batch * parts
    return replace(
        spec,
        batch=batch,
        k=depth,
        a=PartFactor(spec.a, spec.batch, parts, depth),
        b=PartFactor(spec.b, spec.batch, parts, depth),
        result=MatrixResult(batch, spec.m, spec.n),
        epilogue=None,
    )


@dataclass(frozen=True)
class PartSumsSpec:
    """The sums of the parts of a product. Arguments: C, S, then the epilogue's operands.

    The parts have the zero points, and the product that is added up has none.
    """

    product: ContractionSpec
    parts: int

    @property
    def width(self) -> int:
        """The results of a thread, which lie in a row."""
        rows = (self.product.n, self.product.result.row_extent)
        return VECTOR if all(row % VECTOR == 0 for row in rows) else 1

    @property
    def threads(self) -> int:
        """How many have results."""
        return self.product.batch * self.product.m * self.product.n // self.width

    @property
    def sums(self) -> MemRefType[Attribute]:
        """The buffer of the parts' sums."""
        product = self.product
        shape = (product.batch * self.parts, product.m, product.n)
        return types.memref_type(shape, product.sum_element)

    @property
    def sums_bytes(self) -> int:
        """The bytes of that."""
        return prod(self.sums.get_shape()) * types.byte_width(self.product.sum_element)

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        result, _, _, *operands = self.product.buffers
        return [result, self.sums, *operands]


def build_part_sums(spec: PartSumsSpec, target: Target, name: str) -> GpuKernel:
    """The kernel that adds up the parts."""
    b, product, width = GpuBuilder(target), spec.product, spec.width
    extents = (product.batch, product.m, product.n // width)
    tile = GpuTile(1, width, 1, (1, 1))

    def body(buffers: Sequence[SSAValue]) -> None:
        result, sums, *operands = buffers
        store = ResultStore(b, replace(product, tile=tile), [result] * 3 + operands)
        number = b.add(b.mul(b.block(DimensionEnum.X), THREADS), b.thread())

        def results() -> None:
            batch, m, column = b.unflatten(number, extents)
            n, first = b.mul(column, width), b.mul(batch, spec.parts)
            parts = (
                b.vector_load(width, sums, b.add(first, part), m, n)
                for part in range(spec.parts)
            )
            store.store_piece(batch, Piece(reduce(b.add_values, parts), m, n))

        whole = spec.threads % THREADS == 0
        b.if_(whole or b.compare("slt", number, spec.threads), results)

    grid = (-(-spec.threads // THREADS), 1, 1)
    return b.kernel(name, spec.buffers, THREADS, grid, body)
