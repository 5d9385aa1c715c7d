"""A product as the choice of its tile sees it, and the time of the blocks of a tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from xdsl.dialects.builtin import Float16Type, IntegerType, f32
from xdsl.ir import Attribute

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    Factor,
    GpuTile,
    MatrixFactor,
    Pair,
    Precision,
)
from glow.backends.cuda.kernels.gpu_builder import TILE_BYTES, WARP
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.gpu_machine import GpuMachine, MultiplyFormat

COPY_REGISTERS = 4.5
"""Of a copy: where it is from, in two registers, where it goes, whether it is there: what `ptxas`
takes for kernels with few others."""
MOST_COPIES = 16
"""Of a thread in a step: they are written out, and all take time to compile."""


@dataclass(frozen=True)
class Product:
    """`batch` products m x n x k, without a tile."""

    batch: int
    m: int
    n: int
    k: int
    element: Attribute = f32
    precision: Precision = "exact"
    widths: Pair | None = None
    """The elements of each factor that a copy takes, where these are less than 16 bytes."""
    has_maps: bool = False
    """Whether both factors are matrices of which tensor maps bring tiles."""
    is_copied_to_warpgroups: bool = False
    """Whether warpgroups multiply tiles that threads copy: both factors' rows run along the depth,
    and there are no zero points."""
    has_sums: tuple[bool, bool] = (False, False)
    """Whether the rows of the first factor, and the columns of the second one, are summed up."""
    has_turned: tuple[bool, bool] = (False, False)
    """Whether the bytes of each factor lie along m or n, of which threads make registers."""
    factor_elements: int | None = None
    """The elements of both factors' buffers, where these are fewer than those multiplied."""

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return types.byte_width(self.element)

    @property
    def format(self) -> MultiplyFormat:
        """What is multiplied."""
        if self.element == f32:
            return "f32" if self.precision == "exact" else "tf32"
        if isinstance(self.element, IntegerType):
            return "i8"
        return "f16" if isinstance(self.element, Float16Type) else "bf16"

    @property
    def products(self) -> int:
        """How often fragments are multiplied."""
        return 3 if self.format == "tf32" and self.precision == "default" else 1

    @property
    def is_split(self) -> bool:
        """Whether numbers are rounded, and their rests kept, before they are multiplied."""
        return self.products > 1

    @property
    def operand_bytes(self) -> int:
        """The bytes of factors and results, each once."""
        factors = self.factor_elements
        if factors is None:
            factors = self.batch * (self.m * self.k + self.k * self.n)
        return factors * self.size + 4 * self.batch * self.m * self.n


@dataclass(frozen=True)
class TileCost:
    """What a tile takes."""

    seconds: float
    registers: int
    """Of a thread."""
    shared_bytes: int
    """Of a block."""


def step_bytes(product: Product, tile: GpuTile) -> int:
    """The bytes of both factors' tiles."""
    return (tile.rows + tile.columns) * tile.depth * product.size


def copies_of(product: Product, tile: GpuTile) -> int:
    """The copies that a thread begins in a step."""
    whole = TILE_BYTES // product.size
    extents = (tile.rows, tile.columns)
    pairs = zip(extents, product.widths or (whole, whole), strict=True)
    return sum(
        ceil(extent * tile.depth / (width * tile.threads)) for extent, width in pairs
    )


def resident_blocks(
    machine: GpuMachine, tile: GpuTile, registers: int, shared_bytes: int
) -> int:
    """The blocks that a multiprocessor runs at a time; 0 where one is too much."""
    warps = tile.threads // WARP
    unit = machine.register_unit
    of_warp = ceil(registers * WARP / unit) * unit
    return min(
        machine.registers // (of_warp * warps),
        machine.shared_bytes // shared_bytes,
        machine.threads // tile.threads,
        machine.blocks,
    )


def blocks_seconds(
    product: Product,
    tile: GpuTile,
    machine: GpuMachine,
    resident: int,
    cycles_of: Callable[[int], float],
) -> float:
    """The time of all blocks of a tile, some of them at a time on each multiprocessor.

    `cycles_of(n)`: those in which n blocks there are done.
    """
    tiles = ceil(product.m / tile.rows) * ceil(product.n / tile.columns)
    most = ceil(product.batch * tiles / machine.multiprocessors)
    rounds, rest = divmod(most, resident)
    cycles = rounds * cycles_of(resident) if rounds else 0.0
    cycles += cycles_of(rest) if rest else 0.0
    seconds = cycles / machine.clock_hz
    return max(seconds, product.operand_bytes / machine.dram_bytes_per_second)


def product_of(spec: ContractionSpec) -> Product:
    """The product that a contraction computes."""
    sizes = (spec.batch, spec.m, spec.n, spec.k)
    widths = (spec.a.width, spec.b.width)
    factors, points = (spec.a, spec.b), spec.points
    has_depth_rows = all(factor.is_depth_contiguous for factor in factors)
    return Product(
        *sizes,
        spec.element,
        spec.precision,
        widths,
        has_maps(spec),
        has_depth_rows and points is None,
        (False, False) if points is None else (points.second, points.first),
        (has_turned(spec.a), has_turned(spec.b)),
        sum(factor.type.element_count() for factor in factors),
    )


def has_turned(factor: Factor) -> bool:
    """Whether a factor is bytes whose rows run along m or n."""
    is_bytes = types.byte_width(factor.type.element_type) == 1
    return is_bytes and not factor.is_depth_contiguous


def has_maps(spec: ContractionSpec) -> bool:
    """Whether both factors are read as they are, by rows of the depth of whole 16 bytes."""
    row = spec.k * types.byte_width(spec.element)
    return (
        not spec.padding
        and row % TILE_BYTES == 0
        and all(
            isinstance(factor, MatrixFactor)
            and factor.is_depth_contiguous
            and factor.depth == spec.k
            for factor in (spec.a, spec.b)
        )
    )
