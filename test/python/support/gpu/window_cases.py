"""Random windows: the kernel of each, its arguments, and the interpreter's result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32

from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.kernels.window_spec import (
    WRITTEN_TAPS,
    Kind,
    WindowsSpec,
    WindowTile,
)
from glow.backends.cuda.kernels.windows import build_windows
from glow.backends.cuda.selection.common import BiasEpilogue
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target
from glow.universe import new_context

TARGET = Target.from_string("sm_80")
Array = np.ndarray[Any, Any]
FINISH = ScalarRegion.trace(
    lambda b, x, y: b.addf(b.maximumf(x, b.constant(0, f32)), y), [f32, f32]
)
"""max(x, 0) + y, y as large as the result."""


def blocked(x: Array, lanes: int) -> Array:
    """[N, C, H, W] as [N * C / lanes, H, W, lanes]."""
    images, channels, *plane = x.shape
    split = x.reshape(images, channels // lanes, lanes, *plane)
    return np.ascontiguousarray(np.moveaxis(split, 2, -1).reshape(-1, *plane, lanes))


@dataclass
class WindowCase:
    """A window with its arguments, [N, C, H, W], and the node that it is."""

    spec: WindowsSpec
    node: str
    inputs: list[Array]
    """The image; of a convolution the weights [C, group, kh, kw] and the bias [C], too."""
    residual: Array | None = None

    @property
    def kernel(self) -> GpuKernel:
        """The kernel, whose text is verified."""
        kernel = build_windows(self.spec, TARGET, "windows")
        kernel.module.verify()
        return kernel

    def expected(self) -> Array:
        """The interpreter's result, in blocks."""
        types = [f"tensor<{'x'.join(map(str, x.shape))}xf32>" for x in self.inputs]
        arguments = ", ".join(f"%{k}: {type_}" for k, type_ in enumerate(types))
        images, channels = self.inputs[0].shape[:2]
        shape = "x".join(map(str, (images, channels, *self.spec.window.output)))
        text = (
            f"func.func @main({arguments}) -> tensor<{shape}xf32> {{\n"
            f" %y = {self.node} : tensor<{shape}xf32>\n"
            f" func.return %y : tensor<{shape}xf32>\n}}"
        )
        (result,) = run(parse_text(new_context(), text, "window.mlir"), self.inputs)
        result = blocked(result, self.spec.lanes)
        return (
            result if self.residual is None else np.maximum(result, 0) + self.residual
        )

    def buffers(self) -> list[Array]:
        """The arguments of the kernel; the result is NaN."""
        spec, (image, *factors) = self.spec, self.inputs
        arguments = [blocked(image, spec.lanes)]
        if factors:
            # [C, group, kh, kw]: a block, its taps, the channels of a group, its lanes.
            weights, bias = factors
            split = weights.reshape(spec.blocks, spec.lanes, *weights.shape[1:])
            arguments += [np.moveaxis(split, (2, 1), (-2, -1)), bias]
        arguments += [] if self.residual is None else [self.residual]
        types = [type_.get_shape() for type_ in spec.buffers]
        shaped = [
            np.ascontiguousarray(x.reshape(t), np.float32)
            for x, t in zip(arguments, types[1:], strict=True)
        ]
        return [np.full(types[0], np.nan, np.float32), *shaped]

    def simulate(self) -> tuple[Array, Report]:
        """What the kernel writes, and what it cost."""
        buffers = self.buffers()
        report = run_kernel(self.kernel.function, buffers)
        return buffers[0], report


def window_case(
    random: np.random.Generator,
    kind: Kind,
    window: Window,
    tile: WindowTile,
    sizes: tuple[int, int, int] = (1, 2, 4),
    group: int = 1,
    **options: bool,
) -> WindowCase:
    """A window over images [images, blocks * lanes, ...] of the sizes."""
    images, blocks, lanes = sizes
    channels = blocks * lanes
    image = random.standard_normal((images, channels, *window.input))
    inputs, residual = [image.astype(np.float32)], None
    attributes = (
        f"strides {list(window.strides)} pads {list(window.pads)} "
        f"dilations {list(window.dilations)}"
    )
    count = " count_include_pad" if options.get("count_include_pad") else ""
    node = {
        "max": f"glow.max_pool2d %0 kernel {list(window.kernel)} {attributes}",
        "average": f"glow.avg_pool2d %0 kernel {list(window.kernel)} {attributes}{count}",
        "multiply": f"glow.conv2d %0, %1, %2 {attributes} group {channels // group}",
    }[kind]
    spec = WindowsSpec(
        images, blocks, lanes, window, kind, tile, group=group, **options
    )
    if kind == "multiply":
        shapes = [(channels, group, *window.kernel), (channels,)]
        inputs += [random.standard_normal(s).astype(np.float32) for s in shapes]
        behind = None
        if random.integers(0, 2):
            behind = RegionEpilogue(FINISH, ("full",))
        spec = WindowsSpec(
            images, blocks, lanes, window, kind, tile, group=group,
            epilogue=BiasEpilogue(f32, behind),
        )  # fmt: skip
        if behind is not None:
            shape = (images * blocks, *window.output, lanes)
            residual = random.standard_normal(shape).astype(np.float32)
    return WindowCase(spec, node, inputs, residual)


KINDS: list[tuple[Kind, int]] = [
    ("max", 1), ("average", 1), ("multiply", 1), ("multiply", 2), ("multiply", 4)
]  # fmt: skip
"""Kinds, and the channels of a group."""


def random_window(number: int) -> WindowCase:
    """The window of a number: all kinds, tiles of pixels and of lanes, strides, pads, lanes."""
    random = np.random.default_rng(number)
    draw: Callable[..., list[int]] = lambda *bounds: [  # noqa: E731
        int(x) for x in random.integers(*bounds)
    ]
    kind, group = KINDS[number % len(KINDS)]
    kernel = draw(1, (5, 5)) if number % 4 else draw(4, (12, 12))
    strides = draw(1, (4, 4))
    dilations = draw(1, (3, 3)) if number % 3 == 0 else [1, 1]
    top, left, bottom, right = (min(p, min(kernel) - 1) for p in draw(0, (3, 3, 3, 3)))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    size = [r + more for r, more in zip(reach, draw(0, (9, 9)), strict=True)]
    window = Window(
        (size[0], size[1]),
        (kernel[0], kernel[1]),
        (strides[0], strides[1]),
        (dilations[0], dilations[1]),
        (top, left, bottom, right),
    )
    tiles = [WindowTile(), WindowTile(2), WindowTile(4), WindowTile(1, 32)]
    tile = tiles[number // len(KINDS) % len(tiles)]
    if tile.pixels * kernel[0] * kernel[1] > WRITTEN_TAPS:
        tile = WindowTile()
    lanes = 4 if group > 1 else int(random.choice([1, 4, 8, 12]))
    sizes = (*draw(1, (3, 4)), lanes)
    options = {"count_include_pad": True} if kind == "average" and number % 2 else {}
    return window_case(random, kind, window, tile, sizes, group, **options)
