"""Whole numbers times fixed-point constants, against Python's integers of any size."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import VectorType, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

import glow
from glow.compiler import context, lower_to
from glow.dialects import arith
from glow.dialects.glow import ConvertOp
from glow.interpreter.integer_arithmetic import fixed_point
from glow.lowering.loop_builder.multiply_high import upper_half_factors
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


EXTENDED = "%l = arith.extsi %a : i32 to i64", "%r = arith.extsi %b : i32 to i64"


@pytest.mark.parametrize("left", ["i32", "i64"])
@pytest.mark.parametrize("right", ["i32", "i64"])
def test_upper_halves_of_products(left: str, right: str) -> None:
    """Even and odd words in turn, which lie in 64 bits; other numbers as they are."""
    l, r = "%l" if left == "i32" else "%a", "%r" if right == "i32" else "%b"
    extensions = " ".join(line for line in EXTENDED if line[:2] in (l, r))
    text = f"""
      func.func @main(%x: tensor<64x{left}>, %y: tensor<64x{right}>) -> tensor<64xi32> {{
        %z = glow.fused %x, %y {{
        ^bb0(%a: {left}, %b: {right}):
          {extensions}
          %p = arith.muli {l}, {r} : i64
          %c = arith.constant 32 : i64
          %s = arith.shrsi %p, %c : i64
          %t = arith.trunci %s : i64 to i32
          glow.yield %t
        }} : tensor<64xi32>
        func.return %z : tensor<64xi32>
      }}"""
    x, y = (
        RANDOM.integers(-(2**31), 2**31, 64) << (0 if element == "i32" else 31)
        for element in (left, right)
    )
    inputs = [
        array.astype(np.int32 if element == "i32" else np.int64)
        for array, element in ((x, left), (y, right))
    ]
    found = glow.compile(Parser(context(), text).parse_module(), target="avx2")(*inputs)
    np.testing.assert_array_equal(found, (x * y >> 32).astype(np.int32))
    loops = lower_to(Parser(context(), text).parse_module(), "loops", target="avx2")
    assert ("vector.bitcast" in str(loops)) == (left == right == "i32")


def shifted_product(lanes: int | None, last: type[Operation]) -> SSAValue:
    """The last of operations on words that were extended; scalars without lanes."""
    word, wide = (i if lanes is None else VectorType(i, [lanes]) for i in (i32, i64))
    factors = [
        arith.ExtSIOp(xdsl_test.TestOp(result_types=[word]).results[0], wide)
        for _ in range(2)
    ]
    return last(
        arith.MuliOp(*factors), *xdsl_test.TestOp(result_types=[wide]).results
    ).results[0]


@pytest.mark.parametrize(
    ("lanes", "last", "are_upper"),
    [
        (8, arith.ShRSIOp, True),
        (8, arith.ShRUIOp, False),
        (8, arith.AddiOp, False),
        (7, arith.ShRSIOp, False),
        (None, arith.ShRSIOp, False),
    ],
)
def test_only_even_vectors_of_signed_shifts_have_upper_halves(
    lanes: int | None, last: type[Operation], are_upper: bool
) -> None:
    found = upper_half_factors(shifted_product(lanes, last))
    assert (found is not None) == are_upper
