"""Whole numbers times fixed-point constants, against Python's integers of any size."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import i64
from xdsl.parser import Parser

import glow
from glow.compiler import context
from glow.dialects.glow import ConvertOp
from glow.interpreter.integer_arithmetic import fixed_point
from glow.lowering.lower_quantized.fixed_point import fixed_product
from glow.lowering.lower_quantized.parts import Parts

Array = np.ndarray
RANDOM = np.random.default_rng(11)
MULTIPLIERS = {
    "products": (2.0**-14, 2.0**-3),
    "bytes": (0.3, 4.0),
    "any": (2.0**-40, 2.0**8),
    "tiny": (2.0**-34, 2.0**-29),
}
"""Ranges: sums of products, sums of bytes, and those that take 64 bits or give nothing."""


def numbers(rows: int, columns: int, bits: int) -> Array:
    """Integers of so many bits and a sign, the largest ones and small ones among them."""
    largest = 2**bits - 1
    x = RANDOM.integers(-largest - 1, largest + 1, (rows, columns))
    x[0], x[1], x[2] = largest, -largest - 1, RANDOM.integers(-3, 4, columns)
    return x.astype(np.int32)


def multipliers(columns: int, low: float, high: float) -> Array:
    """Numbers of a range, with powers of two, which round at ties."""
    found = np.exp2(RANDOM.uniform(np.log2(low), np.log2(high), columns))
    found[::3] = np.exp2(np.rint(np.log2(found[::3])))
    return found.astype(np.float32)


def product(x: int, multiplier: float) -> int:
    factor, shift = fixed_point(multiplier)
    return (x * factor + (1 << (shift - 1))) >> shift


@pytest.mark.parametrize("target", ["host", "avx2", "scalar"])
@pytest.mark.parametrize("kind", MULTIPLIERS)
@pytest.mark.parametrize(("columns", "bits"), [(1, 8), (7, 31), (16, 8), (70, 31)])
def test_products_round_as_whole_numbers(
    columns: int, bits: int, kind: str, target: str
) -> None:
    shape = f"tensor<5x{columns}x"
    text = (
        f"func.func @main(%x: {shape}i32>) -> {shape}i64> {{"
        f"%0 = glow.convert %x : {shape}i64> func.return %0 : {shape}i64> }}"
    )
    module = Parser(context(), text).parse_module()
    (convert,) = (op for op in module.walk() if isinstance(op, ConvertOp))
    factors, parts = multipliers(columns, *MULTIPLIERS[kind]), Parts(convert)
    scaled = fixed_product(parts, convert.operand, factors, bits)
    parts.replace(parts.convert(scaled, i64))
    x = numbers(5, columns, bits)
    expected = [
        [product(int(number), float(m)) for number, m in zip(row, factors, strict=True)]
        for row in x
    ]
    for backend in ("interpreter", "cpu"):
        found = glow.compile(module, backend=backend, target=target)(x)
        np.testing.assert_array_equal(found, expected)
