"""What packs the weights of nodes in the order in which kernels read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import (
    ConvConfig,
    MatmulConfig,
    RecurrenceConfig,
    StrassenConfig,
    WinogradConfig,
)
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import (
    ChannelLists,
)
from glow.backends.cpu.layout.conv_shape import ConvShape, WinogradChoice
from glow.dialects.weight_table import Array, DeferredArray
from glow.lowering.target.core import Core

if TYPE_CHECKING:
    from glow.backends.cpu.kernels.matmul.block_quantized_weights import (
        BlockQuantizedSpec,
        BlockWeights,
    )


class Packer(Protocol):
    """Packs weights for a machine; tests may pack transparently."""

    @property
    def core(self) -> Core:
        """The numbers of the machine."""
        ...

    @property
    def lanes(self) -> int:
        """Channels in a block."""
        ...

    @property
    def dot_bytes(self) -> int:
        """The bytes along the depth that are multiplied at once."""
        ...

    @property
    def has_floats(self) -> bool:
        """Whether floats are computed by instructions, and in groups."""
        ...

    @property
    def blocks_are_registers(self) -> bool:
        """Whether a block is moved at once, so that it is worth to have images in blocks."""
        ...

    @property
    def merges_columns(self) -> bool:
        """Whether a first layer of bytes takes the columns of its kernel as channels."""
        ...

    @property
    def tabulates_borders(self) -> bool:
        """Whether convolutions of bytes that pad with a number have a bias for each border."""
        ...

    @property
    def widens_bytes(self) -> bool:
        """Whether int8 convolutions and matmuls read activations as 16-bit integers."""
        ...

    @property
    def reads_signed_bytes(self) -> bool:
        """Whether products of constant bytes read their input as signed ones."""
        ...

    def conv2d(
        self, weights: Array, shape: ConvShape, config: ConvConfig | None
    ) -> DeferredArray:
        """[O, C / group, kh, kw] as one flat array, for tiles like that."""
        ...

    def conv2d_config(
        self, shape: ConvShape, element: Attribute = f32, *, computed: bool = False
    ) -> ConvConfig | None:
        """The register tiles and the order of a convolution, of computed weights or others.

        None where the kernel chooses them, and weights are packed as the target's are.
        """
        ...

    def conv2d_cycles(self, shape: ConvShape) -> float:
        """The estimated cycles of a direct convolution."""
        ...

    def int8_conv2d_cycles(self, shape: ConvShape) -> float:
        """The estimated cycles of a direct convolution of blocks of bytes, as it reads them."""
        ...

    def pads_columns(self, shape: ConvShape) -> bool:
        """Whether a convolution in the plain layout is faster on rows with their padding."""
        ...

    def plain_cycles(self, shape: ConvShape) -> float:
        """The estimated cycles of a convolution in the plain layout, from blocks and back."""
        ...

    def sparse_config(self, shape: ConvShape, lists: ChannelLists) -> ConvConfig:
        """Those of one that reads only the channels of lists."""
        ...

    def matmul(
        self,
        weights: Array,
        rows: int,
        config: MatmulConfig | None = None,
        *,
        wide: bool = False,
    ) -> DeferredArray:
        """[K, N] as one flat array, for products with `rows` rows, by tiles like that.

        `wide`: the rows are bytes that are stored as 16-bit integers.
        """
        ...

    def matmul_config(
        self, weights: Array, rows: int, *, widens: bool = False, wide: bool = False
    ) -> MatmulConfig | None:
        """The register tile of a product, whose weights may be stored as bf16, or its rows of
        bytes as 16-bit integers.
        """
        ...

    def panel_width(self, weights: Array, rows: int) -> int:
        """The columns in a panel of `cpu.indexed_matmul`; 0 where there is no kernel.

        weights [E, K, N], each matrix of which is multiplied with some of the rows.
        """
        ...

    def block_panels(
        self, weights: BlockWeights, rows: int
    ) -> tuple[int, DeferredArray] | None:
        """The columns in a panel of `cpu.indexed_block_matmul`, and all panels, of codes [K, E, N];
        None where there is no kernel.
        """
        ...

    def int8_conv2d(
        self,
        weights: Array,
        shape: ConvShape,
        block_lanes: int,
        config: ConvConfig | None,
    ) -> DeferredArray:
        """[O, C / group, kh, kw] of bytes as one flat array, for blocks of that size."""
        ...

    def int8_conv2d_config(
        self, shape: ConvShape, block_lanes: int
    ) -> ConvConfig | None:
        """The register tiles and the order of a convolution of bytes."""
        ...

    def choose_channel_lists(
        self, weights: Array, shape: ConvShape
    ) -> ChannelLists | None:
        """The input channels that matter, if reading only these is faster."""
        ...

    def choose_level(self, algorithm: str, shape: ConvShape, *, usual: bool) -> bool:
        """Whether a convolution is computed in a way that may as well be the other one, where
        the cost model says `usual` (`tuning/algorithms.py`).
        """
        ...

    def choose_winograd(self, shape: ConvShape) -> WinogradChoice | None:
        """The fastest tile of a convolution; None where a direct one is faster."""
        ...

    def winograd(
        self, weights: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> DeferredArray:
        """[O, C, 3, 3] transformed, as one flat array."""
        ...

    def winograd_factors(
        self, weights: Array, shape: ConvShape, tile: int
    ) -> NDArray[np.float32] | None:
        """What sizes of the channels are multiplied by; None where only direct sums will do."""
        ...

    def plain_of_winograd(
        self, packed: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> Array:
        """[O, C, 3, 3] of what `winograd` gives, up to rounding."""
        ...

    def choose_int8_winograd(
        self, weights: Array, shape: ConvShape
    ) -> WinogradChoice | None:
        """The same of a convolution of bytes, by tiles that are exact for its sums."""
        ...

    def int8_winograd(
        self, weights: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> DeferredArray:
        """[O, C, 3, 3] of bytes transformed, as one flat array of i16."""
        ...

    def plain_of_int8_winograd(
        self, packed: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> Array:
        """[O, C, 3, 3] of what `int8_winograd` gives."""
        ...

    def halves_matmul(self, rows: int, columns: int, depth: int) -> bool:
        """Whether the weights of a product of f32 are stored as bf16."""
        ...

    def halved_matmul(self, weights: Array, rows: int) -> DeferredArray:
        """[K, N] of f32 as one flat array of bf16, for products with `rows` rows."""
        ...

    @property
    def rounds_block_rows(self) -> bool:
        """Whether products with weights of a few bits may round their rows, and are faster so."""
        ...

    def block_quantized(
        self, weights: BlockWeights, rows: int, *, rounds: bool
    ) -> tuple[MatmulConfig, DeferredArray]:
        """The register tile of a product with weights of a few bits, and those as one array, for
        rows of floats, or of bytes where it `rounds`.
        """
        ...

    def plain_of_block_quantized(
        self, packed: Array, spec: BlockQuantizedSpec
    ) -> Array:
        """Codes less zero points [K, N] and below them scales, of what `block_quantized` gives."""
        ...

    def recurrence(
        self, weights: Array, rows: int, gates: int, config: RecurrenceConfig | None
    ) -> DeferredArray:
        """[H, gates * H] of a recurrent layer as one flat array, of bf16 where that pays."""
        ...

    def recurrence_config(
        self, weights: Array, rows: int, gates: int
    ) -> RecurrenceConfig | None:
        """The register tile of a recurrent step, if it is chosen before its kernel."""
        ...

    def strassen_levels(self, rows: int, columns: int, depth: int) -> int:
        """The levels of Strassen's product; 0 where the direct one is faster."""
        ...

    def strassen(
        self, weights: Array, rows: int, config: StrassenConfig | None = None
    ) -> DeferredArray:
        """[K, N] as one flat array, for Strassen's products with `rows` rows."""
        ...

    def strassen_config(self, weights: Array, rows: int) -> StrassenConfig:
        """The register tile and the blocks of rows of Strassen's products."""
        ...

    def strassen_factors(
        self, factors: Array, rows: int, config: StrassenConfig | None
    ) -> DeferredArray:
        """The same for its factors, [7, K / 2, N / 2] or [49, K / 4, N / 4]."""
        ...
