"""Weights in the order in which the kernels read them.

It depends on a kernel's register tile: both share one specification, made here from shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import bf16, f32, i8
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import (
    ConvConfig,
    MatmulConfig,
    RecurrenceConfig,
    StrassenConfig,
    WinogradConfig,
)
from glow.backends.cpu.dialect.matmul import STRASSEN_LEVELS
from glow.backends.cpu.kernels.convolution.conv2d_config import plane_cycles
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import (
    ChannelLists,
    SparseConv2dSpec,
    choose_channel_lists,
)
from glow.backends.cpu.kernels.convolution.weights import pack_conv_weights
from glow.backends.cpu.kernels.matmul.matmul import pack_matmul_weights
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.recurrence.weights import StepShape, pack_recurrence
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.strassen.weights import (
    pack_strassen_factors,
    pack_strassen_weights,
)
from glow.backends.cpu.kernels.winograd.bounds import channel_factors
from glow.backends.cpu.kernels.winograd.weights import (
    pack_winograd_weights,
    unpack_winograd_weights,
)
from glow.backends.cpu.layout.conv_shape import (
    ConvShape,
    WinogradChoice,
    conv2d_spec,
    plain_spec,
    winograd_spec,
)
from glow.backends.cpu.layout.integers.packing import Int8Packer, packed
from glow.backends.cpu.tiling.int8_tile import product_step
from glow.backends.cpu.tuning.choose import choose, choose_level
from glow.dialects.weight_table import Array, DeferredArray, dtype_of
from glow.lowering.target.core import Core
from glow.lowering.target.target import Target

if TYPE_CHECKING:
    from glow.backends.cpu.kernels.matmul.block_quantized_weights import (
        BlockQuantizedSpec,
        BlockWeights,
    )

ELEMENTS: Mapping[int, Attribute] = {1: i8, 2: bf16, 4: f32}


@dataclass(frozen=True)
class TargetPacker(Int8Packer):
    """Packs as the kernels of a target want it; `numerics` bounds what is chosen."""

    target: Target
    numerics: str = "default"
    lanes: int = 0
    """Channels in a block: the f32 elements of a vector unless given."""
    shares: bool = False
    """Whether programs for other sizes read the same weights."""

    def __post_init__(self) -> None:
        if not self.lanes:
            object.__setattr__(self, "lanes", self.target.lanes(32))

    @property
    def core(self) -> Core:
        """The numbers of the target's core."""
        return self.target.core

    @property
    def has_floats(self) -> bool:
        """Whether floats are computed by instructions, and in groups."""
        return self.target.float_instructions

    def conv2d(
        self, weights: Array, shape: ConvShape, config: ConvConfig | None
    ) -> DeferredArray:
        """[O, C / group, kh, kw] as one flat array, for tiles like that."""
        values = cast("NDArray[np.float32]", weights)
        spec = replace(self._conv2d_spec(shape, _element_of(weights)), config=config)

        def write(out: Array) -> None:
            place = cast("NDArray[np.float32]", out)
            pack_conv_weights(values, spec, self.target, out=place)

        return packed(weights, spec.packed_weights, write)

    def conv2d_config(
        self, shape: ConvShape, element: Attribute = f32, *, computed: bool = False
    ) -> ConvConfig | None:
        """The register tiles and the order of a convolution."""
        return choose(self._conv2d_spec(shape, element), self.target)

    def conv2d_cycles(self, shape: ConvShape) -> float:
        """The estimated cycles of a direct convolution."""
        planes, spec = shape.batch * shape.group, self._conv2d_spec(shape)
        return planes * plane_cycles(spec, self.target)

    def sparse_config(self, shape: ConvShape, lists: ChannelLists) -> ConvConfig:
        """Those of one that reads only the channels of lists."""
        dense = self._conv2d_spec(shape)
        spec = SparseConv2dSpec(
            dense.batch,
            dense.in_channels,
            dense.out_channels,
            dense.window,
            lanes=self.lanes,
            tile_blocks=lists.blocks,
            entries=lists.entries,
        )
        return choose(spec, self.target)

    def _conv2d_spec(self, shape: ConvShape, element: Attribute = f32) -> Conv2dSpec:
        return conv2d_spec(shape, self.lanes, element)

    def matmul(
        self,
        weights: Array,
        rows: int,
        config: MatmulConfig | None = None,
        *,
        wide: bool = False,
    ) -> DeferredArray:
        """[K, N] as one flat array, for products with `rows` rows, by tiles like that."""
        spec = self._matmul_spec(weights, rows, wide=wide)
        spec = spec if config is None else replace(spec, config=config)

        def write(out: Array) -> None:
            pack_matmul_weights(weights, spec, self.target, out=out)

        return packed(weights, spec.packed_elements(self.target), write)

    def matmul_config(
        self, weights: Array, rows: int, *, widens: bool = False, wide: bool = False
    ) -> MatmulConfig | None:
        """The register tile of a product, whose weights may be stored as bf16, or its rows of
        bytes as 16-bit integers.
        """
        return choose(self._matmul_spec(weights, rows, widens, wide=wide), self.target)

    @property
    def blocks_are_registers(self) -> bool:
        """Whether a block is moved at once; more kernels would not be small."""
        return not self.target.for_size

    def panel_width(self, weights: Array, rows: int) -> int:
        """The columns in a panel of `cpu.indexed_matmul`."""
        # Few networks have products with one of several matrices.
        from glow.backends.cpu.kernels.matmul.indexed_matmul import panel_width

        matrices, depth, columns = weights.shape
        return panel_width(rows, columns, depth, matrices, self.target)

    def block_panels(
        self, weights: BlockWeights, rows: int
    ) -> tuple[int, DeferredArray] | None:
        """The columns in a panel of `cpu.indexed_block_matmul`, and all panels."""
        from glow.backends.cpu.kernels.matmul import indexed_block_matmul as kernel

        depth, matrices, columns = weights.codes.shape
        sizes, target = (matrices, depth, columns), self.target
        width = kernel.panel_width(sizes, rows, weights.format, target)
        return (
            (width, kernel.packed_matrices(weights, width, target)) if width else None
        )

    def _matmul_spec(
        self, weights: Array, rows: int, widens: bool = False, *, wide: bool = False
    ) -> MatmulSpec:
        depth, columns = weights.shape
        spec = MatmulSpec(
            rows,
            columns,
            depth,
            has_bias=True,
            element=_element_of(weights),
            widens=widens,
            step=product_step(depth, self.target, wide=wide),
            wide_input=wide,
        )
        wanted = MatmulSpec.shared_config if self.shares else choose
        return replace(spec, config=wanted(spec, self.target))

    def pads_columns(self, shape: ConvShape) -> bool:
        """Whether a convolution in the plain layout is faster on rows with their padding."""
        # Few networks have plain convolutions.
        from glow.backends.cpu.kernels.convolution import direct_conv

        return direct_conv.pads_columns(plain_spec(shape), self.target)

    def plain_cycles(self, shape: ConvShape) -> float:
        """The estimated cycles of a convolution in the plain layout, from blocks and back."""
        from glow.backends.cpu.kernels.convolution import direct_conv

        return direct_conv.cycles_between_blocks(plain_spec(shape), self.target)

    def choose_channel_lists(
        self, weights: Array, shape: ConvShape
    ) -> ChannelLists | None:
        """The input channels that matter, if reading only these is faster."""
        values = cast("NDArray[np.float32]", weights)
        return choose_channel_lists(values, self._conv2d_spec(shape), self.target)

    def choose_level(self, algorithm: str, shape: ConvShape, *, usual: bool) -> bool:
        """Whether a convolution is computed in a way, which tuning may have judged."""
        other = int(not usual)
        return choose_level(algorithm, (shape,), int(usual), self.target, other) > 0

    def choose_winograd(self, shape: ConvShape) -> WinogradChoice | None:
        """The fastest tile of a convolution; None where a direct one is faster."""
        # Loaded by networks with convolutions.
        from glow.backends.cpu.layout.winograd.choice import tuned_winograd_tile

        return tuned_winograd_tile(shape, self.target, self.numerics)

    def winograd(
        self, weights: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> DeferredArray:
        """[O, C, 3, 3] transformed, as one flat array."""
        values = cast("NDArray[np.float32]", weights)
        spec = winograd_spec(shape, tile, self.lanes, config)

        def write(out: Array) -> None:
            target = cast("NDArray[np.float32]", out)
            pack_winograd_weights(values, spec, self.target, out=target)

        return packed(weights, spec.packed_weights, write)

    def winograd_factors(
        self, weights: Array, shape: ConvShape, tile: int
    ) -> NDArray[np.float32] | None:
        """What sizes of the channels are multiplied by; None where only direct sums will do."""
        values = cast("NDArray[np.float32]", weights)
        return channel_factors(values, winograd_spec(shape, tile, self.lanes))

    def plain_of_winograd(
        self, packed: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> Array:
        """[O, C, 3, 3] of what `winograd` gives, up to rounding."""
        values = cast("NDArray[np.float32]", packed)
        spec = winograd_spec(shape, tile, self.lanes, config)
        return unpack_winograd_weights(values, spec, self.target)

    def halves_matmul(self, rows: int, columns: int, depth: int) -> bool:
        """Whether weights of f32 are stored as bf16: by choice, where reading takes the time."""
        spec = MatmulSpec(rows, columns, depth)
        halved = self.numerics == "fast" and depth % 2 == 0
        level = int(halved and spec.is_bound_by_reading(self.target))
        shape = rows, columns, depth
        return choose_level("bf16_weights", shape, level, self.target) > 0

    def halved_matmul(self, weights: Array, rows: int) -> DeferredArray:
        """[K, N] of f32 as one flat array of bf16, for products with `rows` rows."""
        spec = self._matmul_spec(weights, rows, widens=True)

        def write(out: Array) -> None:
            pack_matmul_weights(weights, spec, self.target, out=out)

        size = spec.packed_elements(self.target)
        return DeferredArray((size,), dtype_of(bf16), write, weights)

    @property
    def rounds_block_rows(self) -> bool:
        """Whether rows are rounded to bytes: with VNNI all take a third of the time, by products of
        pairs a single one half. What is added to sums is rounded once, by FMA.
        """
        target = self.target
        is_fast = target.is_x86 and target.fma_instruction and not target.for_size
        return is_fast and self.numerics != "exact"

    def block_quantized(
        self, weights: BlockWeights, rows: int, *, rounds: bool
    ) -> tuple[MatmulConfig, DeferredArray]:
        """The register tile of a product with weights of a few bits, and those as one array."""
        from glow.backends.cpu.kernels.matmul import block_quantized_weights as kernel

        depth, columns = weights.codes.shape
        shape = (rows, columns, depth)
        spec = kernel.BlockQuantizedSpec(*shape, weights.format, int8_rows=rounds)
        config = (
            spec.shared_config(self.target)
            if self.shares
            else choose(spec, self.target)
        )
        return config, kernel.packed(weights, replace(spec, config=config), self.target)

    def plain_of_block_quantized(
        self, packed: Array, spec: BlockQuantizedSpec
    ) -> Array:
        """Codes less zero points [K, N] and below them scales, of what `block_quantized` gives."""
        from glow.backends.cpu.kernels.matmul import block_quantized_weights as kernel

        return kernel.unpack_block_quantized(packed, spec, self.target)

    def recurrence(
        self, weights: Array, rows: int, gates: int, config: RecurrenceConfig | None
    ) -> DeferredArray:
        """[H, gates * H] of a recurrent layer as one flat array, of bf16 where that pays."""
        shape = replace(self._step_shape(weights, rows, gates), config=config)

        def write(out: Array) -> None:
            pack_recurrence(weights, shape, self.target, out)

        dtype = dtype_of(bf16) if shape.widens else weights.dtype
        size = shape.packed_elements(self.target)
        return DeferredArray((size,), dtype, write, weights)

    def recurrence_config(
        self, weights: Array, rows: int, gates: int
    ) -> RecurrenceConfig | None:
        """The register tile of a recurrent step, if it is chosen before its kernel."""
        return choose(self._step_shape(weights, rows, gates), self.target)

    def _step_shape(self, weights: Array, rows: int, gates: int) -> StepShape:
        units, columns = weights.shape
        halved = self.halves_matmul(rows, columns, units)
        return StepShape(rows, units, gates, halved or weights.itemsize == 2)

    def strassen_levels(self, rows: int, columns: int, depth: int) -> int:
        """The levels of Strassen's product; 0 where the direct one is faster."""
        most = {"exact": 0, "default": 1, "fast": 2}[self.numerics]
        shape = rows, columns, depth
        for levels in range(most, 0, -1):
            if StrassenSpec(*shape, levels=levels).is_profitable(self.target):
                return choose_level("strassen", shape, levels, self.target)
        return 0

    def strassen(
        self, weights: Array, rows: int, config: StrassenConfig | None = None
    ) -> DeferredArray:
        """[K, N] as one flat array, for Strassen's products with `rows` rows."""
        spec = replace(self._strassen_spec(weights, rows), config=config)

        def write(out: Array) -> None:
            pack_strassen_weights(weights, spec, self.target, out=out)

        return packed(weights, spec.packed_weights, write)

    def strassen_config(self, weights: Array, rows: int) -> StrassenConfig:
        """The register tile and the blocks of rows of Strassen's products."""
        return choose(self._strassen_spec(weights, rows), self.target)

    def _strassen_spec(self, weights: Array, rows: int) -> StrassenSpec:
        depth, columns = weights.shape
        levels = self.strassen_levels(rows, columns, depth)
        return StrassenSpec(rows, columns, depth, levels=levels)

    def strassen_factors(
        self, factors: Array, rows: int, config: StrassenConfig | None
    ) -> DeferredArray:
        """The same for its factors, [7, K / 2, N / 2] or [49, K / 4, N / 4]."""
        products, depth, columns = factors.shape
        levels = STRASSEN_LEVELS[products]
        spec = StrassenSpec(
            rows, columns << levels, depth << levels, levels=levels, config=config
        )

        def write(out: Array) -> None:
            pack_strassen_factors(factors, spec, self.target, out=out)

        return packed(factors, spec.packed_weights, write)


def _element_of(weights: Array) -> Attribute:
    """What kernels multiply; the width alone decides how it is packed."""
    return ELEMENTS[weights.itemsize]
