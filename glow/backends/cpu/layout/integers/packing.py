"""Weights of convolutions of bytes in the order in which the kernels read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from glow.backends.cpu.dialect.config import ConvConfig, WinogradConfig
from glow.backends.cpu.kernels.convolution.conv2d_config import plane_cycles
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.layout.conv_shape import (
    ConvShape,
    WinogradChoice,
    has_word_dot,
    int8_conv2d_spec,
    may_multiply_words,
    winograd_spec,
)
from glow.backends.cpu.tuning.choose import choose
from glow.dialects.weight_table import Array, DeferredArray
from glow.lowering.target.target import Target

SIGNED_DOTS = ("dotprod", "mve")
"""Instructions that multiply signed bytes with signed ones only."""


class Int8Packer:
    """Packs as the kernels of a target want it, in blocks of `lanes` channels."""

    target: Target
    lanes: int

    @property
    def merges_columns(self) -> bool:
        """Whether a first layer of bytes takes the columns of its kernel as channels."""
        return not self.target.is_x86

    @property
    def tabulates_borders(self) -> bool:
        """Whether convolutions of bytes that pad with a number have a bias for each border."""
        is_scalar = self.target.lanes(32) == 1
        return not self.target.for_size and (self.reads_signed_bytes or is_scalar)

    @property
    def widens_bytes(self) -> bool:
        """Whether int8 convolutions and matmuls read activations as 16-bit integers, which
        take twice the memory.
        """
        is_fast = self.target.is_x86 and not self.target.for_size
        return is_fast and has_word_dot(self.target)

    @property
    def reads_signed_bytes(self) -> bool:
        """Whether products of constant bytes read their input as signed ones."""
        return self.target.byte_dot in SIGNED_DOTS

    @property
    def dot_bytes(self) -> int:
        """The bytes along the depth that are multiplied at once."""
        return self.target.dot_bytes

    def int8_conv2d(
        self,
        weights: Array,
        shape: ConvShape,
        block_lanes: int,
        config: ConvConfig | None,
    ) -> DeferredArray:
        """[O, C / group, kh, kw] of bytes as one flat array, for blocks of that size."""
        from glow.backends.cpu.kernels.convolution.matrix_conv_plan import (
            pack_int8_conv_weights,
        )

        spec = replace(self._int8_conv2d_spec(shape, block_lanes), config=config)

        def write(out: Array) -> None:
            pack_int8_conv_weights(weights, spec, self.target, out=out)

        return packed(weights, spec.packed_weights, write)

    def int8_conv2d_config(
        self, shape: ConvShape, block_lanes: int
    ) -> ConvConfig | None:
        """The register tiles and the order of a convolution of bytes."""
        return choose(self._int8_conv2d_spec(shape, block_lanes), self.target)

    def int8_conv2d_cycles(self, shape: ConvShape) -> float:
        """The estimated cycles of a direct convolution of blocks of bytes, as it reads them."""
        stored = replace(shape, wide_input=self.widens_bytes)
        spec = self._int8_conv2d_spec(stored, self.lanes)
        return shape.batch * shape.group * plane_cycles(spec, self.target)

    def choose_int8_winograd(
        self, weights: Array, shape: ConvShape
    ) -> WinogradChoice | None:
        """The same of a convolution of bytes, by tiles that are exact for its sums."""
        if shape.kernel != (3, 3) or not may_multiply_words(self.target):
            return None
        from glow.backends.cpu.kernels.int8_winograd.weights import largest_sum

        largest = largest_sum(weights)
        from glow.backends.cpu.layout.winograd.choice import tuned_int8_winograd

        return tuned_int8_winograd(shape, largest, self.target)

    def int8_winograd(
        self, weights: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> DeferredArray:
        """[O, C, 3, 3] of bytes transformed, as one flat array of i16."""
        from glow.backends.cpu.kernels.int8_winograd import weights as kernel

        spec = winograd_spec(shape, tile, self.lanes, config, kernel.Int8WinogradSpec)
        return kernel.pack(weights, spec, self.target)

    def plain_of_int8_winograd(
        self, packed: Array, shape: ConvShape, tile: int, config: WinogradConfig | None
    ) -> Array:
        """[O, C, 3, 3] of what `int8_winograd` gives."""
        from glow.backends.cpu.kernels.int8_winograd import weights as kernel

        spec = winograd_spec(shape, tile, self.lanes, config, kernel.Int8WinogradSpec)
        return kernel.unpack(packed, spec, self.target)

    def _int8_conv2d_spec(self, shape: ConvShape, block_lanes: int) -> Int8Conv2dSpec:
        return int8_conv2d_spec(shape, self.lanes, block_lanes, self.target)


def packed(source: Array, size: int, write: Callable[[Array], None]) -> DeferredArray:
    """An array of so many elements that a function writes when it is asked for."""
    return DeferredArray((size,), source.dtype, write, source)
