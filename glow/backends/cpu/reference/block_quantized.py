"""Products with weights of a few bits, on rows of floats and of bytes, and how rows become bytes.

Those of bytes have the bits of the kernel: the sum of a block is exact, and its product with both
scales is added to the total with one rounding, block after block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glow.backends.cpu.dialect.dynamic import LARGEST_INT8
from glow.backends.cpu.reference.epilogue import apply_epilogue
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact

Floats: TypeAlias = npt.NDArray[np.float32]

BlockUnpacking: TypeAlias = Callable[[Attributes, Array, Array], Array]
"""`unpacking(attributes, input, packed)`: codes less zero points [K, N] and below them scales
[B, N], with the columns that fill the last register."""


def unpacked(
    op: GlowOp, rows: Array, weights: Array, unpacking: BlockUnpacking | None
) -> tuple[Array, Array]:
    """Codes less zero points, and scales."""
    if unpacking is None:
        raise GlowError(
            f"{op.name} has packed weights of a few bits",
            hint="interpreting it needs the backend's packing",
        )
    found, depth = unpacking(op.attributes_view(), rows, weights), rows.shape[-1]
    return found[:depth], found[depth:]


def run_matmul(
    op: GlowOp,
    x: Array,
    weights: Array,
    bias: Array,
    *epilogue_operands: Array,
    unpacking: BlockUnpacking | None = None,
) -> Array:
    """`cpu.block_quantized_matmul`, as the product with floats that it stands for."""
    codes, scales = unpacked(op, x, weights, unpacking)
    size = op.attributes_view().int("block_size")
    matrix = codes * np.repeat(scales, size, 0)[: len(codes)]
    total = exact(x) @ exact(matrix[:, : bias.shape[0]]) + exact(bias)
    return apply_epilogue(op, total, epilogue_operands)


def run_quantize(op: GlowOp, x: Array) -> tuple[Array, Array, Array]:
    """`cpu.block_quantize`."""
    size = op.attributes_view().int("block_size")
    starts = range(0, x.shape[-1], size)
    parts = [_quantized(x[..., start : start + size]) for start in starts]
    if not parts:
        empty = np.zeros((*x.shape[:-1], 0), np.float32)
        return x.astype(np.int8), empty, empty
    stored, scales, sums = (
        np.concatenate(some, -1) for some in zip(*parts, strict=True)
    )
    return stored, scales, sums


def _quantized(block: Array) -> tuple[Array, Array, Array]:
    """Bytes, scale and sum of one block of each row."""
    is_finite = np.isfinite(block).all(-1, keepdims=True)
    most = np.abs(block).max(-1, keepdims=True, initial=0)
    scale = np.where(is_finite, most / np.float32(LARGEST_INT8), np.float32("nan"))
    scale = scale.astype(np.float32)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.rint(block / scale)
    whole = np.clip(np.where(np.isnan(ratio), 0, ratio), -LARGEST_INT8, LARGEST_INT8)
    return whole.astype(np.int8), scale, whole.sum(-1, keepdims=True, dtype=np.float32)


def run_int8_matmul(
    op: GlowOp,
    scales: Array,
    sums: Array,
    rows: Array,
    *others: Array,
    unpacking: BlockUnpacking | None = None,
) -> Array:
    """`cpu.int8_block_quantized_matmul`."""
    weights, bias, *epilogue_operands = others
    codes, factors = unpacked(op, rows, weights, unpacking)
    size, columns = op.attributes_view().int("block_size"), bias.shape[0]
    total = np.zeros((*rows.shape[:-1], columns), np.float32)
    for block in range(len(factors)):
        part = slice(block * size, (block + 1) * size)
        of_block = rows[..., part].astype(np.float64) @ codes[part, :columns]
        factor = scales[..., block, None] * factors[block, :columns]
        total = multiply_add(of_block.astype(np.float32), factor, total)
    return apply_epilogue(op, total + bias, tuple(epilogue_operands))


def multiply_add(a: Array, b: Array, c: Array) -> Floats:
    """`a * b + c` of f32, rounded once.

    The product is exact in f64. Their sum is rounded to odd, so that the second rounding is right
    (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
    """
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    with np.errstate(invalid="ignore"):  # Of infinities, which are as they are.
        total = product + addend
        of_addend = total - product
        rest = (product - (total - of_addend)) + (addend - of_addend)
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (rest != 0) & (bits & 1 == 0)
    towards = np.where((rest > 0) == (total > 0), 1, -1)
    odd = np.where(inexact, bits + towards, bits).view(np.float64)
    return odd.astype(np.float32)
