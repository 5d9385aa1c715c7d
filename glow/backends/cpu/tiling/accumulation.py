"""The loop over the depth of a product, one register tile `[rows, blocks, lanes]` at a time.

A step of f32 multiplies an element of each row with a row of B; a step of 16-bit floats two
elements with two rows, one of bytes four, by a dot-product instruction where the target has one.
Rows of B that are stored as bf16 can be widened too: that takes no special instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.tiling.int8_tile import dot
from glow.backends.cpu.tiling.tiles import has_small_tiles
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.target.target import Target

Product = Callable[..., SSAValue]
"""`product(builder, *factors, accumulator)`: the accumulator after one more step."""

HIGH_HALF = -(1 << 16)
"""The mask of the upper 16 bits of a word."""


def outer_product(
    builder: LoopBuilder, a: SSAValue, b: SSAValue, accumulator: SSAValue
) -> SSAValue:
    """Adds a column times a row."""
    shape = types.shape_of(accumulator)
    return builder.fma(a, builder.broadcast(b, shape), accumulator)


def pair_product(
    builder: LoopBuilder, a: SSAValue, b: SSAValue, accumulator: SSAValue
) -> SSAValue:
    """Adds [rows, 2] times [blocks, lanes, 2] of 16-bit floats."""
    left, right = (builder.cast(arith.ExtFOp, value, f32) for value in (a, b))
    return builder.contract(left, right, accumulator)


def widening_product(
    builder: LoopBuilder,
    a: SSAValue,
    following: SSAValue,
    words: SSAValue,
    accumulator: SSAValue,
) -> SSAValue:
    """Adds two columns of f32 times two rows of bf16, of which each word holds one of both."""
    shape, mask = types.shape_of(accumulator), builder.like(HIGH_HALF, words)
    upper = builder.binary_integer(arith.AndIOp, words, mask)
    lower = builder.binary_integer(arith.ShLIOp, words, builder.like(16, words))
    for left, bits in ((a, lower), (following, upper)):
        row = builder.broadcast(builder.bitcast(bits, f32), shape)
        accumulator = builder.fma(left, row, accumulator)
    return accumulator


PRODUCTS: Mapping[int, Product] = {1: outer_product, 2: pair_product, 4: dot}
"""By how many elements along the depth are multiplied at once."""


@dataclass(frozen=True)
class Sums:
    """How factors are multiplied, and the elements of the sum of their products."""

    product: Product
    element: Attribute


F32_SUMS = Sums(outer_product, f32)
I32_SUMS = Sums(dot, i32)
"""Of bytes, four of which are multiplied at once."""


BODIES = 4
"""Steps of small tiles that follow each other in a loop: 2 to 8 % faster on a Zen 3 while another
thread shares the core, and as fast while none does."""


def _bodies(target: Target, shape: Sequence[int], element: Attribute) -> int:
    """How often the body of a loop is repeated in it; tiles of one block use a number once, and
    LLVM adds to its register, and runs out of registers where bodies are repeated.
    """
    has_blocks = len(shape) > 2 and shape[-2] > 1
    return BODIES if has_blocks and has_small_tiles(element, target) else 1


def accumulate(
    builder: LoopBuilder,
    depth: int,
    unroll: int,
    shape: tuple[int, ...],
    factors: Callable[[Index], Sequence[SSAValue]],
    sums: Sums = F32_SUMS,
) -> SSAValue:
    """The sum over k < depth of the products of `factors(k)`, vectors of that shape."""
    unroll = min(unroll, depth)
    zero = builder.constant(0, types.vector_type(shape, sums.element))

    def step(k: Index, accumulator: SSAValue) -> SSAValue:
        return sums.product(builder, *factors(k), accumulator)

    def body(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [step(builder.add(k, u), value) for u, value in enumerate(carried)]

    whole, zeros = depth - depth % unroll, [zero] * unroll
    together = _bodies(builder.target, shape, sums.element)
    totals = list(builder.carry(0, whole, unroll, zeros, body, together))
    for k in range(whole, depth):
        totals[0] = step(k, totals[0])
    while len(totals) > 1:
        odd = totals[len(totals) // 2 * 2 :]
        pairs = zip(totals[0::2], totals[1::2], strict=False)
        totals = [builder.add_values(a, b) for a, b in pairs] + odd
    return totals[0]
