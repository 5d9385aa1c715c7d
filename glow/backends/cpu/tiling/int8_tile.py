"""Register tiles of integer products: sums in i32 of unsigned times signed bytes.

Bytes are multiplied four at a time, since that is what dot-product instructions do: a tile's
activations are [pixels, 4] and its weights [blocks, lanes, 4]. The sums wrap in 32 bits and are
exact on every target, whatever instructions it has.

Where instructions multiply signed bytes only, the activations' highest bits are flipped: they are
signed then, and 128 lower, for which the bias makes up.
"""

from collections.abc import Callable

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.target.target import Target

WORD = 4
"""The bytes that are multiplied at once."""


PAIR = 2
"""The bytes that are multiplied at once as 16-bit integers."""


def pair_products(target: Target) -> int:
    """The registers of products of 16-bit pairs, which x86 without VNNI adds to the sums by an
    instruction of its own. WebAssembly has fewer registers to count on in any case.
    """
    return int(target.is_x86 and target.byte_dot != "vnni")


def words(channels: int) -> int:
    """The words that hold so many bytes."""
    return -(-channels // WORD)


SIGN = 128
"""How much lower signed bytes are that stand for unsigned ones."""


def dot(
    b: LoopBuilder, activations: SSAValue, weights: SSAValue, accumulator: SSAValue
) -> SSAValue:
    """accumulator[m, n, l] + the sum over four k of activations[m, k] * weights[n, l, k].

    Activations are unsigned, weights signed.
    """
    wide = b.cast(arith.ExtUIOp, activations, i32)
    return b.contract(wide, b.cast(arith.ExtSIOp, weights, i32), accumulator)


def wide_dot(
    b: LoopBuilder, activations: SSAValue, weights: SSAValue, accumulator: SSAValue
) -> SSAValue:
    """As `dot`, of signed activations: over four k of bytes, or two of 16-bit integers."""
    wide = b.cast(arith.ExtSIOp, activations, i32)
    return b.contract(wide, b.cast(arith.ExtSIOp, weights, i32), accumulator)


def signed_dot(
    b: LoopBuilder, activations: SSAValue, weights: SSAValue, accumulator: SSAValue
) -> SSAValue:
    """As `dot`, of activations less 128."""
    sign = b.like(-SIGN, activations)
    lower = b.binary_integer(arith.XOrIOp, activations, sign)
    return wide_dot(b, lower, weights, accumulator)


def int8_dot(signed: bool, wide: bool) -> Callable[..., SSAValue]:
    """The dot product of activations read as signed bytes, or stored as 16-bit integers."""
    if wide:
        return wide_dot
    return signed_dot if signed else dot


def product_step(depth: int, target: Target, *, wide: bool = False) -> int:
    """The bytes along the depth that a product multiplies at once."""
    if wide:
        return PAIR
    return target.dot_bytes if depth % target.dot_bytes == 0 else WORD
