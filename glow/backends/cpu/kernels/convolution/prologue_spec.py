"""What a 1 x 1 convolution with element-wise work on its input is, and where it pays."""

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import f32

from glow.backends.cpu.kernels.convolution.conv2d_config import (
    choose_conv_config,
    conv_tiling,
)
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.elementwise.kernel import ElementwiseSpec
from glow.lowering.target.target import Target

MOST_RUNS = 8
"""The runs at a time: weights of a channel tile pass by once for all of them."""

STACK_BYTES = 128 * 1024
"""The most memory for the results of a prologue; threads have megabytes of stack."""

MOST_SLOWER = 1.1
"""What tiles that do not overlap may cost more than the best ones."""


@dataclass(frozen=True)
class PrologueConv2dSpec:
    """The convolution and what is done to each element of its input.

    Inputs of the prologue are full, or have one number a channel: [1, C / lanes, 1, 1, lanes].
    """

    spec: Conv2dSpec
    prologue: ElementwiseSpec

    @property
    def operations(self) -> int:
        """Those of the convolution."""
        return self.spec.operations

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of a full input."""
        return self.spec.input_type.get_shape()

    @property
    def channel_shape(self) -> tuple[int, ...]:
        """The shape of an input with one number a channel."""
        return (1, self.spec.input_blocks, 1, 1, self.spec.lanes)

    @property
    def first_full(self) -> int:
        """The number of the first full input, which takes the place of the convolution's."""
        return self.prologue.input_shapes.index(self.full_shape)

    def is_edited(self, target: Target) -> bool:
        """Whether the convolution is configured otherwise than the target's best."""
        best = choose_conv_config(replace(self.spec, config=None), target)
        return self.spec.config not in (None, best)

    def run_pixels(self, target: Target) -> int:
        """The pixels of a run: those of the best register tile that covers a plane exactly.

        An edited configuration says itself how many.
        """
        model = self.spec.model(target)
        config = conv_tiling(self.spec, target).config
        if self.is_edited(target):
            return config.pixels[0]
        blocks, pixels = config.blocks, prod(self.spec.window.output)
        exact = [n for n in range(1, model.max_pixels(blocks) + 1) if pixels % n == 0]
        return min(exact, key=lambda n: model.cover_cycles(pixels, n, blocks))

    def runs_at_once(self, target: Target) -> int:
        """The runs that the prologue computes before they are multiplied; 0 if one is too large."""
        most = min(STACK_BYTES, target.l2_bytes // 4)
        channels = self.spec.input_blocks * self.spec.lanes
        return min(MOST_RUNS, most // (4 * channels * self.run_pixels(target)))

    def supported(self, target: Target) -> bool:
        """Whether runs cover the plane well, and weights are small enough to pass by often."""
        spec, work = self.spec, self.prologue
        elements = {spec.element, *work.region.input_types, *work.region.result_types}
        is_plain = (
            spec.window.is_pointwise and spec.groups == 1 and not spec.plain_input
        )
        return (
            is_plain
            and elements == {f32}
            and len(work.region.result_types) == 1
            and work.shape == self.full_shape
            and self.full_shape in work.input_shapes
            and {self.full_shape, self.channel_shape}.issuperset(work.input_shapes)
            and 4 * spec.packed_weights <= target.l2_bytes // 2
            and self._covers_well(target)
            and self.runs_at_once(target) > 0
        )

    def _covers_well(self, target: Target) -> bool:
        """Whether runs take no longer than tiles that may overlap; edited ones need to fit."""
        model = self.spec.model(target)
        if self.is_edited(target):
            return prod(self.spec.window.output) % self.run_pixels(target) == 0
        blocks = conv_tiling(self.spec, target).config.blocks
        pixels, run = prod(self.spec.window.output), self.run_pixels(target)
        best = model.run_cycles(pixels, blocks)
        return model.cover_cycles(pixels, run, blocks) <= MOST_SLOWER * best
