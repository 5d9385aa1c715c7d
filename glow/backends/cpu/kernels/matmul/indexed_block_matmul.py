"""Products of rows with one of several matrices of few bits each, which indices name.

They are `indexed_matmul`'s, of panels whose weights are dequantized in registers just before they
are multiplied, as `block_quantized` does: [matrices, panels, K / size, record, width] words, a
record of a scale, a zero point if there are some, and the words of codes of a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from xdsl.dialects.builtin import MemRefType, f32, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.config import MatmulConfig
from glow.backends.cpu.kernels.matmul.block_product import QuantizedColumns
from glow.backends.cpu.kernels.matmul.block_quantized import Block
from glow.backends.cpu.kernels.matmul.block_quantized_spec import (
    BlockFormat,
    BlockQuantizedSpec,
)
from glow.backends.cpu.kernels.matmul.block_quantized_weights import (
    BlockWeights,
    pack_block_quantized,
)
from glow.backends.cpu.kernels.matmul.indexed_matmul import (
    MOST_MATRICES,
    IndexedMatmulSpec,
    IndexedProduct,
    kernel_of,
    rows_of_matrix,
)
from glow.backends.cpu.tiling.accumulation import outer_product
from glow.backends.cpu.tiling.matmul_tile import Tile
from glow.backends.cpu.tiling.matrix_memory import flat
from glow.dialects.weight_table import Array, DeferredArray
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


def of_panels(
    form: BlockFormat, depth: int, panels: int, width: int
) -> BlockQuantizedSpec:
    """A matrix all of whose panels are as wide."""
    return BlockQuantizedSpec(1, panels * width, depth, form)


@dataclass(frozen=True)
class IndexedBlockMatmulSpec(IndexedMatmulSpec):
    """`IndexedMatmulSpec` with weights of a format, [matrices, panels, K / size, record, width]."""

    format: BlockFormat = field(kw_only=True)

    @property
    def matrix(self) -> BlockQuantizedSpec:
        """The product with one of the matrices."""
        return of_panels(self.format, self.depth, self.panels, self.width)

    def tile(self, target: Target) -> Tile:
        """The register tile: as many rows as a matrix has on average, if they fit."""
        blocks = self.width // target.lanes(32)
        wanted = rows_of_matrix(self.rows, self.matrices)
        return Tile(min(wanted, self.matrix.tallest(blocks, target)), blocks)

    @property
    def record(self) -> tuple[int, int]:
        """The blocks along the depth, and the words of each of a column."""
        return self.matrix.quantized_blocks, self.format.record

    @property
    def weights(self) -> MemRefType:
        """The type of the weights."""
        blocks, record = self.record
        return flat(self.matrices * self.panels * blocks * record * self.width, i32)


def panel_width(
    shape: tuple[int, int, int], rows: int, form: BlockFormat, target: Target
) -> int:
    """The columns of a panel of matrices [E, K, N], whole registers of them; 0 for no kernel."""
    matrices, depth, columns = shape
    if matrices > MOST_MATRICES or form.wrong(depth) is not None:
        return 0
    spec = BlockQuantizedSpec(rows_of_matrix(rows, matrices), columns, depth, form)
    return spec.choose_config(target).blocks * target.lanes(32)


class _IndexedBlockProduct(IndexedProduct):
    """What one kernel computes."""

    spec: IndexedBlockMatmulSpec

    def panels(self, weights: SSAValue) -> SSAValue:
        """The weights, [panels of all matrices, K / size, record, blocks, lanes]."""
        spec, registers = self.spec, (self.tile.blocks, self.lanes)
        shape = (spec.matrices * spec.panels, *spec.record, *registers)
        return self.builder.reinterpret(weights, shape)

    def sums(
        self,
        at: tuple[Index, Index],
        rows: Sequence[SSAValue],
        registers: tuple[int, int],
    ) -> SSAValue:
        """The products [rows, *registers] of a tile of rows with a panel of a matrix.

        A single row multiplies the sum of a block by its scale; more have no registers for that.
        """
        b, form, spec = self.builder, self.spec.format, self.spec
        unit = b.add(b.mul(at[0], spec.panels), at[1])
        columns = QuantizedColumns(b, spec.matrix, (self.weights, unit), registers)
        zero = b.constant(0, types.vector_type((len(rows), *registers), f32))

        def multiply(
            k: Index, right: SSAValue, carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            left = self.elements(rows, k, registers)
            return [outer_product(b, left, right, *carried)]

        def add(number: Index, words: int, total: SSAValue) -> SSAValue:
            block = Block(columns, number)
            if len(rows) > 1:
                return block.steps(words, [total], multiply)[0]
            (sums,) = block.steps(words, [zero], multiply, scaled=False)
            return outer_product(b, sums, block.scale, total)

        whole, rest = divmod(spec.depth, form.size)
        (total,) = b.carry(
            0, whole, 1, [zero], lambda number, kept: [add(number, form.words, *kept)]
        )
        return add(whole, rest // form.codes, total) if rest else total


def build_indexed_block_matmul(
    spec: IndexedBlockMatmulSpec, target: Target, name: str = "indexed_block_matmul"
) -> Kernel:
    """The kernel f(y, x, weights, indices, [errors], lo, hi); a panel is a work item."""
    return kernel_of(_IndexedBlockProduct, spec, target, name)


def packed_matrices(weights: BlockWeights, width: int, target: Target) -> DeferredArray:
    """Codes [K, E, N] and what is with them, as [E, panels, K / size, record, width]."""
    depth, matrices, columns = weights.codes.shape
    spec = of_panels(weights.format, depth, -(-columns // width), width)
    spec = replace(spec, config=MatmulConfig(1, width // target.lanes(32)))
    record = (spec.quantized_blocks, spec.format.record)
    shape = (matrices, spec.columns // width, *record, width)
    write = partial(_pack_matrices, weights, spec, target)
    return DeferredArray(shape, np.dtype(np.int32), write, weights.codes)


def _pack_matrices(
    weights: BlockWeights, spec: BlockQuantizedSpec, target: Target, out: Array
) -> None:
    for number in range(out.shape[0]):
        matrix = replace(
            weights,
            codes=_filled(weights.codes[:, number], spec.columns),
            scales=_filled(weights.scales[:, number], spec.columns),
            points=None
            if weights.points is None
            else _filled(weights.points[:, number], spec.columns),
        )
        words = out[number].reshape(-1).view(np.int32)
        pack_block_quantized(matrix, spec, target, words)


def _filled(array: Array, columns: int) -> Array:
    """The columns, and zeros behind them."""
    missing = columns - array.shape[1]
    if not missing:
        return array
    zeros = np.zeros((array.shape[0], missing), array.dtype)
    return np.concatenate([array, zeros], axis=1)
