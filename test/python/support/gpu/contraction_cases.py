"""Random contractions: the kernel of each, its arguments, and the interpreter's result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, i8, i32
from xdsl.ir import Attribute

from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    ImageFactor,
    ImageResult,
    MatrixFactor,
    MatrixResult,
    Precision,
)
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.dialects import arith
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.epilogue import OperandLayout
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target.target import Target
from glow.universe import new_context

TARGET = Target.from_string("sm_80")
Array = np.ndarray
DTYPES = {
    f32: np.dtype(np.float32),
    f16: np.dtype(np.float16),
    bf16: np.dtype(ml_dtypes.bfloat16),
    i8: np.dtype(np.int8),
    i32: np.dtype(np.int32),
}
FORMATS: list[tuple[Attribute, Precision, float]] = [
    (f32, "exact", 1e-6),
    (f32, "default", 2e-6),
    (f32, "fast", 2e-3),
    (f16, "exact", 1e-6),
    (bf16, "exact", 1e-6),
]
"""Element, precision, and the largest error relative to the largest result."""


class Finish(NamedTuple):
    """An epilogue and what it means."""

    layouts: tuple[OperandLayout, ...]
    body: Callable
    meaning: Callable
    stored: Attribute = f32


def relu(b, x):
    """Max(x, 0)."""
    return b.maximumf(x, b.constant(0, f32))


FINISHES = {
    "none": None,
    "relu": Finish((), relu, lambda x: np.maximum(x, 0)),
    "channel": Finish(
        ("channel",),
        lambda b, x, c: relu(b, b.addf(x, c)),
        lambda x, c: np.maximum(x + c, 0),
    ),
    "full": Finish(("full",), lambda b, x, y: b.addf(x, y), lambda x, y: x + y),
    "row and scalar": Finish(
        ("row", "scalar"),
        lambda b, x, r, s: b.mulf(b.mulf(x, r), s),
        lambda x, r, s: x * r * s,
    ),
    "half": Finish(
        (),
        lambda b, x: b.cast(arith.TruncFOp, x, f16),
        lambda x: x.astype(np.float16),
        f16,
    ),
}


@dataclass
class Case:
    """A contraction with its arguments; `node` computes the products in the interpreter."""

    spec: ContractionSpec
    node: str
    inputs: list[Array]
    """Of the node, as f32."""
    operands: list[Array]
    finish: Finish | None
    tolerance: float
    transposed: tuple[bool, bool] = (False, False)
    kernel: GpuKernel = field(init=False)

    def __post_init__(self) -> None:
        self.kernel = build_contraction(self.spec, TARGET, "contraction")
        self.kernel.module.verify()

    def expected(self) -> Array:
        """The interpreter's products, through the epilogue."""
        shapes = [f"tensor<{'x'.join(map(str, x.shape))}xf32>" for x in self.inputs]
        arguments = ", ".join(f"%{k}: {s}" for k, s in enumerate(shapes))
        text = f"func.func @main({arguments}) -> RESULT {{\n %y = {self.node}\n"
        result = f"tensor<{'x'.join(map(str, self.node_shape))}xf32>"
        text = f"{text.replace('RESULT', result)} func.return %y : {result}\n}}"
        (products,) = run(parse_text(new_context(), text, "case.mlir"), self.inputs)
        products = products.reshape(self.spec.result.shape)
        if self.finish is None:
            return products
        operands = [
            x.reshape(1, -1, 1)
            if layout == "row" or (self.is_image and layout == "channel")
            else x
            for layout, x in zip(self.finish.layouts, self.operands, strict=True)
        ]
        return self.finish.meaning(products, *operands)

    @property
    def is_image(self) -> bool:
        """Whether it is a convolution."""
        return isinstance(self.spec.result, ImageResult)

    @property
    def node_shape(self) -> tuple[int, ...]:
        """The shape of the node's result."""
        if isinstance(self.spec.b, ImageFactor):
            image = self.spec.result
            return (image.images, image.channels, *self.spec.b.out)
        return self.spec.result.shape

    def buffers(self) -> list[Array]:
        """The arguments of the kernel; the result is NaN."""
        result, *types = self.spec.buffers
        dtypes = [DTYPES[type_.element_type] for type_ in types]
        factors = self.inputs if not self.is_image else self.inputs[::-1]
        stored = [
            np.ascontiguousarray(x.swapaxes(-1, -2) if swap else x)
            for x, swap in zip(factors, self.transposed, strict=True)
        ]
        arguments = [
            np.ascontiguousarray(x.reshape(t.get_shape()).astype(d))
            for x, t, d in zip([*stored, *self.operands], types, dtypes, strict=True)
        ]
        out = np.full(result.get_shape(), -77, DTYPES[result.element_type])
        return [out, *arguments]

    def simulate(self, kernel: GpuKernel | None = None) -> tuple[Array, Report]:
        """What a kernel writes, and what it cost."""
        buffers = self.buffers()
        report = run_kernel((kernel or self.kernel).function, buffers)
        return buffers[0], report


def error_of(case: Case, result: Array) -> float:
    """The largest difference, relative to the largest result."""
    expected = case.expected().astype(np.float64)
    return float(np.abs(result - expected).max() / np.abs(expected).max())


def factor_values(random: np.random.Generator, shape, element: Attribute) -> Array:
    """Numbers that the element type holds exactly."""
    numbers = random.standard_normal(shape).astype(DTYPES[element])
    return numbers.astype(np.float32)


def epilogue_of(finish: Finish | None) -> RegionEpilogue | None:
    """The region of an epilogue."""
    if finish is None:
        return None
    inputs = [f32] * (1 + len(finish.layouts))
    return RegionEpilogue(ScalarRegion.trace(finish.body, inputs), finish.layouts)


def operands_of(random, spec: ContractionSpec) -> list[Array]:
    """Numbers for the operands of an epilogue."""
    shapes = [type_.get_shape() for type_ in spec.buffers[3:]]
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def tile_of(random, element: Attribute) -> GpuTile:
    """A small tile, so that small products have tails and several blocks."""
    depth = 16 if element == f32 else 32
    stages = int(random.integers(2, 4))
    return GpuTile(32, 32, depth, (2, 1), stages)


def matmul_case(number: int, finish_name: str) -> Case:
    """A random matmul or batched matmul."""
    random = np.random.default_rng(number)
    sizes = tuple(int(x) for x in random.integers(1, (3, 42, 42, 42)))
    is_k_last = tuple(bool(x) for x in random.integers(0, 2, 2))
    return fixed_matmul(number, sizes, is_k_last, finish_name)


def fixed_matmul(
    number: int,
    sizes: tuple[int, ...],
    is_k_last: tuple[bool, ...],
    finish_name: str = "none",
) -> Case:
    """A matmul of sizes batch, m, n, k in the format of a number."""
    random = np.random.default_rng(number)
    element, precision, tolerance = FORMATS[number % len(FORMATS)]
    batch, m, n, k = sizes
    a = MatrixFactor(batch, m, k, is_k_last[0], element)
    b = MatrixFactor(batch, n, k, is_k_last[1], element)
    finish = FINISHES[finish_name]
    spec = ContractionSpec(
        batch, m, n, k, a, b, MatrixResult(batch, m, n), tile_of(random, element),
        precision, epilogue_of(finish),
    )  # fmt: skip
    inputs = [
        factor_values(random, (batch, m, k), element),
        factor_values(random, (batch, k, n), element),
    ]
    node = f"glow.matmul %0, %1 : tensor<{batch}x{m}x{n}xf32>"
    swaps = (not is_k_last[0], is_k_last[1])
    return Case(spec, node, inputs, operands_of(random, spec), finish, tolerance, swaps)


def conv_case(number: int, finish_name: str) -> Case:
    """A random convolution, of groups, strides, dilations and pads."""
    random = np.random.default_rng(number)
    element, precision, tolerance = FORMATS[number % len(FORMATS)]
    images, groups, channels = (int(x) for x in random.integers(1, (3, 3, 4)))
    rows, is_pointwise = int(random.integers(3, 40)), number % 4 == 3
    kernel, strides, dilations = (
        (1, 1) if is_pointwise else tuple(int(x) for x in random.integers(1, 4, 2))
        for _ in range(3)
    )
    pads = (0, 0) if is_pointwise else tuple(int(x) for x in random.integers(0, 3, 2))
    size = tuple(int(x) for x in random.integers(5, 8, 2))
    if is_pointwise:
        channels, size = 4 * channels, (4, 8)
    reach = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
    out = tuple(
        (size[x] + 2 * pads[x] - reach[x] - 1) // strides[x] + 1 for x in range(2)
    )
    depth = channels * kernel[0] * kernel[1]
    a = MatrixFactor(groups, rows, depth, True, element)
    b = ImageFactor(
        images, groups, channels, size, kernel, out, strides, dilations, pads, element
    )
    result = ImageResult(images, groups, rows, out[0] * out[1])
    finish = FINISHES[finish_name]
    spec = ContractionSpec(
        groups, rows, images * result.pixels, depth, a, b, result,
        tile_of(random, element), precision, epilogue_of(finish),
    )  # fmt: skip
    inputs = [
        factor_values(random, (images, groups * channels, *size), element),
        factor_values(random, (groups * rows, channels, *kernel), element),
    ]
    shape = "x".join(map(str, (images, groups * rows, *out)))
    node = (
        f"glow.conv2d %0, %1 strides {list(strides)} "
        f"pads {[*pads, *pads]} dilations {list(dilations)} group {groups} : tensor<{shape}xf32>"
    )
    return Case(spec, node, inputs, operands_of(random, spec), finish, tolerance)


def random_case(number: int) -> Case:
    """The contraction of a number: convolutions, matmuls, each format and each epilogue."""
    make = conv_case if number % 3 == 2 else matmul_case
    names = [name for name in FINISHES if make is matmul_case or "row" not in name]
    return make(number, names[number % len(names)])
