"""Layouts and NumPy references for the tests of convolution and pooling kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from support.kernels.kernel_testing import run_kernel
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.convolution.conv2d import Conv2dSpec
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.epilogue import OperandLayout
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target, host_target

Array = NDArray[np.float32]
Float = TypeVar("Float", bound=np.floating)
TARGET = host_target()
LANES = TARGET.lanes(32)
SAME = (1, 1, 1, 1)


def pack_depthwise_weights(weights: Array, planes: BlockedPlanes) -> Array:
    """The weights [C, 1, KH, KW] as [C / lanes, KH, KW, lanes], the last block zero-padded."""
    padded = np.zeros(
        (planes.blocks * planes.lanes, *planes.window.kernel), weights.dtype
    )
    padded[: planes.channels] = weights[:, 0]
    blocks = padded.reshape(planes.blocks, planes.lanes, *planes.window.kernel)
    return np.ascontiguousarray(blocks.transpose(0, 2, 3, 1))


@dataclass(frozen=True)
class AddScaleRelu:
    """relu((accumulator + residual) * channel scale + scalar)."""

    operand_layouts: tuple[OperandLayout, ...] = ("full", "channel", "scalar")
    operand_elements: tuple[Attribute, ...] = (f32, f32, f32)
    result_element: Attribute = f32
    is_long: bool = False

    def apply(
        self,
        builder: LoopBuilder,
        accumulator: SSAValue,
        epilogue_operands: Sequence[SSAValue],
    ) -> SSAValue:
        residual, scale, offset = epilogue_operands
        value = builder.fma(builder.addf(accumulator, residual), scale, offset)
        return builder.maximumf(value, builder.like(0.0, value))


def random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def conv_inputs(spec: Conv2dSpec) -> tuple[Array, Array]:
    x = random(spec.batch, spec.in_channels, *spec.window.input)
    return x, random(spec.out_channels, spec.group_inputs, *spec.window.kernel)


def run(
    kernel: Kernel, shape: Sequence[int], *inputs: Array, target: Target = TARGET
) -> Array:
    """The kernel's output of that shape."""
    output = np.full(shape, np.inf, np.float32)
    return run_kernel(kernel, [output], inputs, target)[0]


def to_blocks(plain: NDArray[Float], lanes: int = LANES) -> NDArray[Float]:
    """[N, C, H, W] as [N, C / lanes, H, W, lanes], NaN in the pad lanes."""
    batch, channels, height, width = plain.shape
    blocks = -(-channels // lanes)
    padded = np.full((batch, blocks * lanes, height, width), np.nan, plain.dtype)
    padded[:, :channels] = plain
    split = padded.reshape(batch, blocks, lanes, height, width)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 4, 2))


def to_plain(blocked: NDArray[Float], channels: int) -> NDArray[Float]:
    """[N, C / lanes, H, W, lanes] as [N, C, H, W]."""
    batch, blocks, height, width, lanes = blocked.shape
    plain = blocked.transpose(0, 1, 4, 2, 3)
    return plain.reshape(batch, blocks * lanes, height, width)[:, :channels]


def taps(x: Array, window: Window, fill: float) -> NDArray[np.float64]:
    """The input at every tap: [KH, KW, N, C, OH, OW], `fill` outside the image."""
    (height, width), (rows, columns) = window.input, window.output
    (tall, wide), (down, right) = window.kernel, window.strides
    top, left = window.pads[:2]
    reach = [
        d * (k - 1) + 1 for d, k in zip(window.dilations, window.kernel, strict=True)
    ]
    size = (
        max(top + height, (rows - 1) * down + reach[0]),
        max(left + width, (columns - 1) * right + reach[1]),
    )
    padded = np.full((*x.shape[:2], *size), fill)
    padded[:, :, top : top + height, left : left + width] = x
    result = np.empty((tall, wide, *x.shape[:2], rows, columns))
    for i in range(tall):
        for j in range(wide):
            y0, x0 = i * window.dilations[0], j * window.dilations[1]
            y1, x1 = y0 + (rows - 1) * down + 1, x0 + (columns - 1) * right + 1
            result[i, j] = padded[:, :, y0:y1:down, x0:x1:right]
    return result


def convolution(x: Array, w: Array, window: Window, groups: int) -> NDArray[np.float64]:
    """The convolution of x [N, C, H, W] with w [OC, C / groups, KH, KW], in float64."""
    gathered = taps(x, window, 0.0)
    kernel, batch, (rows, columns) = gathered.shape[:2], x.shape[0], window.output
    inputs = gathered.reshape(*kernel, batch, groups, -1, rows, columns)
    weights = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    result = np.einsum("ijngchw,gocij->ngohw", inputs, weights, optimize=True)
    return result.reshape(batch, -1, rows, columns)


def assert_close(actual: Array, expected: NDArray[np.float64]) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual / scale, expected / scale, atol=2e-6)
