"""Random batched int8 matmuls with dynamic operands, each as its node `cpu.int8_batch_matmul`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from support.gpu.byte_windows import SATURATED, bytes_of, tensor
from support.gpu.instruction_cases import TARGET, InstructionCase, as_stored

from glow.backends.cpu.program.program import KernelRequest
from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import ContractionSpec, GpuTile
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.selection.common import Buffer
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of

Array = np.ndarray[Any, Any]
Axes = tuple[int, ...]

SCALED = """{
^bb0(%sum: i32OPERANDS):
  %wide = arith.sitofp %sum : i32 to f32
  %factor = arith.constant 0.00478628604 : f32
  %scaled = arith.mulf %wide, %factor : f32"""
YIELD = "  glow.yield %number\n}"
MORE = "  %shifted = arith.addf %scaled, %x : f32\n  %number = arith.mulf %shifted, %y : f32"
ALONE = "  %number = arith.addf %scaled, %factor : f32"
EPILOGUES = ("sums", "numbers", "bytes", "numbers of operands", "bytes of operands")
"""Sums as they are, scaled ones, bytes of these; with an operand of each result and one of all."""


def product_in(request: KernelRequest) -> ContractionSpec:
    """The contraction of a request."""
    spec = request.spec
    assert isinstance(spec, tuple)
    product = cast("tuple[object, ...]", spec)[2]
    assert isinstance(product, ContractionSpec)
    return product


@dataclass
class Int8BatchMatmul(InstructionCase):
    """A batched int8 matmul; with a tile its kernel has that one."""

    tile: GpuTile | None = None

    @property
    def spec(self) -> ContractionSpec:
        """The contraction of the first kernel."""
        return product_in(self.calls[0].kernel)

    @property
    def kernel(self) -> GpuKernel:
        """The only kernel."""
        (kernel,) = self.kernels
        return kernel

    @property
    def kernels(self) -> list[GpuKernel]:
        """The kernels, whose text is verified."""
        if self.tile is None:
            return super().kernels
        kernel = build_contraction(replace(self.spec, tile=self.tile), TARGET, "bytes")
        kernel.module.verify()
        return [kernel]

    def buffers(self) -> list[Array]:
        """The arguments of the only kernel; the result is 77s."""
        arguments = self.function.body.block.args
        values: dict[Buffer, Array] = dict(zip(arguments, self.inputs, strict=False))
        for out in self.instruction.outs:
            values[out] = np.full(shape_of(out), 77, dtype_of(element_of(out)))
        return [as_stored(values[each]) for each in self.calls[0].buffers]


def random_order(random: np.random.Generator, rank: int, last: int) -> Axes:
    """An order in which axes lie, that one last."""
    order = random.permutation([axis for axis in range(rank) if axis != last])
    return (*map(int, order), last)


def stored(x: Array, order: Axes) -> tuple[Array, list[int]]:
    """What lies in that order, and the axes as which it is read."""
    axes = [int(axis) for axis in np.argsort(order)]
    return np.ascontiguousarray(x.transpose(order)), axes


@dataclass(frozen=True)
class Product:
    """Batched matrices [..., m, k] and [..., k, n], in the orders in which they lie.

    `points`: those of both; `is_signed`: whether the second one's bytes have signs.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    orders: tuple[Axes, Axes, Axes]
    points: tuple[int, int] = (7, 99)
    is_signed: bool = False
    epilogue: str = "sums"


def product_case(number: int, sizes: Product, tile: GpuTile | None) -> Int8BatchMatmul:
    """A product of random bytes."""
    random = np.random.default_rng(number)
    lhs, lhs_axes = stored(bytes_of(random, sizes.left), sizes.orders[0])
    factors = bytes_of(random, sizes.right, sizes.is_signed)
    rhs, rhs_axes = stored(factors, sizes.orders[1])
    batch = np.broadcast_shapes(sizes.left[:-2], sizes.right[:-2])
    whole = (*batch, sizes.left[-2], sizes.right[-1])
    result = tuple(whole[axis] for axis in sizes.orders[2])
    inputs = [lhs, rhs, np.array(sizes.points, np.int32)]
    if "operands" in sizes.epilogue:
        inputs.append(random.standard_normal(result).astype(np.float32))
        inputs.append(random.standard_normal(1).astype(np.float32))
    names = ", ".join(f"%{number}" for number in range(len(inputs)))
    centre = 0 if sizes.is_signed else 128
    plain = [" plain_lhs"] * (sizes.points[0] == 0)
    plain += [" plain_rhs"] * (sizes.points[1] == centre)
    node = (
        f"cpu.int8_batch_matmul {names} lhs_axes {lhs_axes} rhs_axes {rhs_axes} "
        f"result_axes {list(sizes.orders[2])}{''.join(plain)} {region(sizes.epilogue)}"
    )
    element = {"sums": "i32", "numb": "f32", "byte": "ui8"}[sizes.epilogue[:4]]
    return Int8BatchMatmul(node, [tensor(result, element)], inputs, tile)


def region(epilogue: str) -> str:
    """The text of an epilogue."""
    if epilogue == "sums":
        return ""
    has_operands = "operands" in epilogue
    start = SCALED.replace("OPERANDS", ", %x: f32, %y: f32" if has_operands else "")
    end = SATURATED if "bytes" in epilogue else YIELD
    return f"{start}\n{MORE if has_operands else ALONE}\n{end.lstrip()}"


def small_tile(random: np.random.Generator) -> GpuTile:
    """A small tile, so that small products have tails and several blocks."""
    warps = ((2, 1), (1, 2), (1, 1), (2, 2))[int(random.integers(0, 4))]
    rows, columns = (16 * int(x) for x in random.choice([1, 2, 4], 2))
    depth, stages = int(random.choice([32, 64, 128])), int(random.integers(2, 5))
    return GpuTile(rows * warps[0], columns * warps[1], depth, warps, stages)


def random_product(number: int) -> Int8BatchMatmul:
    """The product of a number: both signs, each epilogue and order, repeated matrices, tails."""
    random = np.random.default_rng(number)
    m, n, k = (int(x) for x in random.integers(1, (70, 70, 110)))
    if number % 3 == 0:  # Rows that are copied by four bytes and more.
        m, n, k = 4 * -(-m // 4), 8 * -(-n // 8), 16 * -(-k // 16)
    batch = tuple(int(x) for x in random.integers(1, 4, number % 3))
    repeated = tuple(1 if random.integers(0, 4) == 0 else extent for extent in batch)
    left, right = (*batch, m, k), (*repeated, k, n)
    rank, is_signed = len(left), bool(number // 2 % 2)
    kept = random.integers(0, 2, 2)  # Which zero points are others than the plain ones.
    first = int(kept[0] * random.integers(0, 256))
    second = int(kept[1] * random.integers(-128, 128)) + (0 if is_signed else 128)
    lasts = [rank - int(x) for x in random.integers(1, 3, 2)]
    orders = [random_order(random, rank, last) for last in lasts]
    results = [tuple(range(rank)), random_order(random, rank, rank - 1)]
    sizes = Product(
        left, right, (orders[0], orders[1], results[number // 3 % 2]), (first, second),
        is_signed,
        EPILOGUES[number % len(EPILOGUES)],
    )  # fmt: skip
    return product_case(number, sizes, small_tile(random) if number % 4 else None)
