"""What the tests of Winograd kernels share: a target, direct sums, inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from support.kernels.conv_testing import random
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.epilogue import OperandLayout
from glow.lowering.target.cores import CORES
from glow.lowering.target.target import host_target

Array = NDArray[np.floating]

WIDE = replace(host_target(), core=CORES["zen5"])
"""A target with sizes that the choices are known for."""

ERROR = {2: 1e-6, 4: 5e-6, 6: 4e-5}
"""The largest error, relative to the largest output, of a few dozen channels."""


@dataclass(frozen=True)
class AddRelu:
    """relu(accumulator + residual)."""

    operand_layouts: tuple[OperandLayout, ...] = ("full",)
    operand_elements: tuple[Attribute, ...] = (f32,)
    result_element: Attribute = f32
    is_long: bool = False

    def apply(
        self,
        builder: LoopBuilder,
        accumulator: SSAValue,
        epilogue_operands: Sequence[SSAValue],
    ) -> SSAValue:
        value = builder.addf(accumulator, epilogue_operands[0])
        return builder.maximumf(value, builder.like(0.0, value))


def convolution(x: Array, w: Array, spec: WinogradSpec) -> NDArray[np.float64]:
    """The direct convolution in float64; images have the weights of their group."""
    top, left, bottom, right = spec.pads
    padded = np.pad(
        x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right))
    )
    (height, width), (images, groups) = spec.output_plane, spec.images
    of_groups = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    weights = np.concatenate([of_groups] * images)
    result = np.zeros((spec.batch, spec.out_channels, height, width))
    for i, j in product(*map(range, spec.kernel_plane)):
        window = padded[:, :, i : i + height, j : j + width]
        taps = weights[..., i, j]
        result += np.einsum("nchw,noc->nohw", window, taps, optimize=True)
    return result


def weights_of(spec: WinogradSpec) -> NDArray[np.float32]:
    outputs = spec.groups * spec.out_channels
    return random(outputs, spec.in_channels, *spec.kernel_plane)


def inputs_of(spec: WinogradSpec) -> NDArray[np.float32]:
    return random(spec.batch, spec.in_channels, *spec.plane)
