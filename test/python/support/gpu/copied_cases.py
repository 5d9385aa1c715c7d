"""Random products whose tiles threads copy for warpgroups: convolutions of blocks, bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from support.gpu.contraction_cases import (
    DTYPES,
    FINISHES,
    FORMATS,
    Finish,
    epilogue_of,
    operands_of,
)
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Attribute

from glow.backends.cuda.kernels.blocked import BlockedImage, BlockedResult
from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    MatrixFactor,
    MatrixResult,
    Precision,
    WarpgroupTile,
)
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target

TARGET = Target.from_string("sm_90a")
Array = np.ndarray
BYTES: tuple[Attribute, Precision, float] = (i8, "exact", 0.0)
KINDS = [FORMATS[2], FORMATS[3], FORMATS[4], BYTES]
"""One TF32, f16, bf16 and bytes."""


@dataclass
class CopiedCase:
    """A product with its arguments and what it has to give."""

    spec: ContractionSpec
    factors: list[Array]
    """As the kernel takes them."""
    products: Array
    """In the shape of the results."""
    operands: list[Array]
    finish: Finish | None
    tolerance: float
    kernel: GpuKernel = field(init=False)

    def __post_init__(self) -> None:
        self.kernel = build_contraction(self.spec, TARGET, "contraction")
        self.kernel.module.verify()

    def expected(self) -> Array:
        """The results, through the epilogue."""
        if self.finish is None:
            return self.products
        shaped = [
            self.spread(layout, x)
            for layout, x in zip(self.finish.layouts, self.operands, strict=True)
        ]
        return self.finish.meaning(self.products, *shaped)

    def spread(self, layout: str, x: Array) -> Array:
        """An operand of the epilogue as the results lie."""
        result = self.spec.result
        if layout == "row":
            return x.reshape(1, -1, 1)
        if layout == "channel" and isinstance(result, BlockedResult):
            return x.reshape(1, -1, 1, result.lanes)
        return x

    def buffers(self) -> list[Array]:
        """The arguments of the kernel; the result is -77."""
        result = self.spec.buffers[0]
        out = np.full(result.get_shape(), -77, DTYPES[result.element_type])
        return [out, *self.factors, *self.operands]

    def simulate(self) -> tuple[Array, Report]:
        """What the kernel writes, and what it cost."""
        buffers = self.buffers()
        report = run_kernel(self.kernel.function, buffers)
        return buffers[0], report

    def error(self, result: Array) -> float:
        """The largest difference, relative to the largest result."""
        expected = self.expected().astype(np.float64)
        return float(np.abs(result - expected).max() / np.abs(expected).max())


def values(
    random: np.random.Generator, shape, element: Attribute, unsigned: bool
) -> Array:
    """Numbers of an element type; bytes that are unsigned have their bits."""
    if element == i8:
        low, high = (0, 256) if unsigned else (-128, 128)
        return random.integers(low, high, shape).astype(np.uint8).view(np.int8)
    return random.standard_normal(shape).astype(DTYPES[element])


def numbers(x: Array, unsigned: bool) -> Array:
    """What is multiplied."""
    return (x.view(np.uint8) if unsigned else x).astype(np.float64)


def copied_tile(element: Attribute, sizes: Sequence[int]) -> WarpgroupTile:
    """A tile whose rows of the depth have 128 bytes: warpgroups, times 64 rows that each has,
    columns, stages.
    """
    groups, parts, columns, stages = sizes
    rows, depth = 64 * groups * parts, 128 // types.byte_width(element)
    return WarpgroupTile(rows, columns, depth, (4 * groups, 1), stages, False)


def random_tile(random: np.random.Generator) -> Sequence[int]:
    """The sizes of a small tile."""
    low, high = (1, 1, 1, 3), (3, 3, 5, 6)
    groups, parts, sixteens, stages = (int(x) for x in random.integers(low, high))
    return groups, parts, 16 * sixteens, stages


def finish_of(element: Attribute, name: str) -> Finish | None:
    """An epilogue of floats; of bytes none, whose sums are compared bit for bit."""
    return None if element == i8 else FINISHES[name]


def convolved(image: Array, weights: Array, window: Window, padding: float) -> Array:
    """[N, g, O, h, w] of images [N, g, C, H, W] and weights [g, O, C, kh, kw], tap by tap."""
    (top, left, bottom, right), (height, width) = window.pads, window.output
    edges = ((0, 0),) * 3 + ((top, bottom), (left, right))
    padded = np.pad(image, edges, constant_values=padding)
    total = np.zeros((*image.shape[:2], weights.shape[1], height, width))
    for y, x in np.ndindex(*window.kernel):
        rows = np.arange(height) * window.strides[0] + y * window.dilations[0]
        columns = np.arange(width) * window.strides[1] + x * window.dilations[1]
        taken = padded[..., rows[:, None], columns]
        total += np.einsum("ngchw,goc->ngohw", taken, weights[..., y, x])
    return total


def blocked(x: Array, lanes: int, fill: int = 0) -> Array:
    """[N, g, C, H, W] as [N, g * C / lanes, H, W, lanes], with whole blocks of each group."""
    images, groups, channels, *size = x.shape
    edges = ((0, 0), (0, 0), (0, -channels % lanes), (0, 0), (0, 0))
    x = np.pad(x, edges, constant_values=fill)
    x = x.reshape(images, groups * x.shape[2] // lanes, lanes, *size)
    return np.ascontiguousarray(np.moveaxis(x, 2, -1))


@dataclass(frozen=True)
class Convolution:
    """The sizes of a convolution of blocks; channels and outputs are those of a group."""

    images: int
    groups: int
    channels: int
    outputs: int
    window: Window
    padding: int = 0


def conv_case(
    number: int,
    sizes: Convolution,
    tile: Sequence[int],
    finish_name: str = "none",
) -> CopiedCase:
    """A convolution in the format of a number; `tile` as in `copied_tile`."""
    random = np.random.default_rng(number)
    element, precision, tolerance = KINDS[number % len(KINDS)]
    window, unsigned = sizes.window, element == i8
    lanes = 16 // types.byte_width(element)
    image = BlockedImage(
        sizes.images, sizes.groups, sizes.channels, lanes, window, element
    )
    pixels, groups = prod(window.output), sizes.groups
    row = -(-image.depth // lanes) * lanes
    finish = finish_of(element, finish_name)
    spec = ContractionSpec(
        groups, sizes.images * pixels, sizes.outputs, image.depth, image,
        MatrixFactor(groups, sizes.outputs, row, True, element),
        BlockedResult(sizes.images, groups, sizes.outputs, pixels, lanes),
        copied_tile(element, tile), precision, epilogue_of(finish),
        sizes.padding, unsigned,
    )  # fmt: skip
    x = values(
        random, (sizes.images, groups, sizes.channels, *window.input), element, unsigned
    )
    shape = (groups, sizes.outputs, sizes.channels, *window.kernel)
    w = values(random, shape, element, False)
    products = convolved(
        numbers(x, unsigned), numbers(w, False), window, sizes.padding
    ).reshape(sizes.images, groups, sizes.outputs, pixels, 1)
    weights = blocked(w.reshape(-1, 1, *shape[2:]), lanes)
    factors = [blocked(x, lanes, 77), weights.reshape(groups, sizes.outputs, row)]
    stored = np.int32 if unsigned else np.float32
    expected = blocked(products, lanes).reshape(spec.result.shape).astype(stored)
    operands = operands_of(random, spec)
    if finish_name == "half":
        tolerance = max(tolerance, 1e-3)
    return CopiedCase(spec, factors, expected, operands, finish, tolerance)


def random_conv_case(number: int) -> CopiedCase:
    """The convolution of a number: each format and epilogue, pads, strides, groups, tails."""
    random = np.random.default_rng(number)

    def pair(low: int, high: int) -> tuple[int, int]:
        first, second = (int(x) for x in random.integers(low, high, 2))
        return first, second

    kernel = (1, 1) if number % 3 == 0 else pair(1, 4)
    pads = (*pair(0, 3), *pair(0, 3)) if number % 3 else (0, 0, 0, 0)
    window = Window(pair(7, 12), kernel, pair(1, 3), pair(1, 3), pads)
    lanes = 16 // types.byte_width(KINDS[number % len(KINDS)][0])
    groups = int(random.integers(1, 3))
    channels = int(random.integers(1, 40))
    outputs = lanes * int(random.integers(1, 7))
    padding = int(random.integers(0, 2)) * 19 if lanes == 16 else 0
    images = int(random.integers(1, 3))
    sizes = Convolution(images, groups, channels, outputs, window, padding)
    names = [name for name in FINISHES if "row" not in name]
    return conv_case(number, sizes, random_tile(random), names[number % len(names)])


def matmul_case(
    number: int,
    sizes: tuple[int, int, int, int],
    tile: Sequence[int],
    finish_name: str = "none",
    unsigned: bool = False,
) -> CopiedCase:
    """A product of sizes batch, m, n, k in the format of a number."""
    random = np.random.default_rng(number)
    element, precision, tolerance = KINDS[number % len(KINDS)]
    batch, m, n, k = sizes
    finish = finish_of(element, finish_name)
    row = -(-k * types.byte_width(element) // 16) * 16 // types.byte_width(element)
    spec = ContractionSpec(
        batch, m, n, k, MatrixFactor(batch, m, k, True, element),
        MatrixFactor(batch, n, row, True, element), MatrixResult(batch, m, n),
        copied_tile(element, tile), precision, epilogue_of(finish),
        is_unsigned=unsigned and element == i8,
    )  # fmt: skip
    unsigned = spec.is_unsigned
    a = values(random, (batch, m, k), element, unsigned)
    b = values(random, (batch, n, k), element, False)
    products = numbers(a, unsigned) @ numbers(b, False).swapaxes(1, 2)
    products = products.astype(np.int32 if spec.sum_element == i32 else np.float32)
    padded = np.pad(b, ((0, 0), (0, 0), (0, row - k)))
    operands = operands_of(random, spec)
    if finish_name == "half":
        tolerance = max(tolerance, 1e-3)
    return CopiedCase(spec, [a, padded], products, operands, finish, tolerance)


def random_matmul_case(number: int) -> CopiedCase:
    """The matmul of a number: each format and each epilogue, tails in m, n and k."""
    random = np.random.default_rng(number)
    batch, m, n, k = (int(x) for x in random.integers(1, (3, 150, 80, 330)))
    if number % 2:  # Rows that begin anywhere are copied in smaller pieces.
        k = -(-k // 16) * 16
    names = list(FINISHES)
    tile = random_tile(random)
    finish = names[number % len(names)]
    return matmul_case(number, (batch, m, n, k), tile, finish, number % 8 > 3)
