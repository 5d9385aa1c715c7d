"""Philox 4x32-10, as scalar operations: four random words of a counter and a key.

Words are 32-bit numbers in 64-bit integers, of which one product holds both halves.
Source: Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from glow.passes.rewriting.scalar_builder import ScalarBuilder

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF
BITS = 32


class Words:
    """Arithmetic of 32-bit words."""

    def __init__(self, builder: ScalarBuilder) -> None:
        self.builder = builder

    def low(self, x: SSAValue) -> SSAValue:
        """The lower half of 64 bits."""
        return self.builder.binary("arith.andi", x, self.builder.number(WORD, x))

    def high(self, x: SSAValue) -> SSAValue:
        """The upper half of 64 bits."""
        return self.builder.binary("arith.shrui", x, self.builder.number(BITS, x))

    def xor(self, *words: SSAValue) -> SSAValue:
        """The bits that an odd number of words has."""
        first, *others = words
        for other in others:
            first = self.builder.binary("arith.xori", first, other)
        return first

    def bump(self, key: SSAValue, by: int) -> SSAValue:
        """The next round's word of a key."""
        return self.low(self.builder.add(key, self.builder.number(by, key)))


def philox(
    builder: ScalarBuilder, counter: Sequence[SSAValue], key: Sequence[SSAValue]
) -> list[SSAValue]:
    """The four words of a counter of four words and a key of two."""
    words = Words(builder)
    first, second, third, fourth = counter
    left, right = key
    for number in range(ROUNDS):
        if number:
            left = words.bump(left, KEY_STEPS[0])
            right = words.bump(right, KEY_STEPS[1])
        one, other = (
            builder.mul(word, builder.number(factor, word))
            for word, factor in zip((first, third), MULTIPLIERS, strict=True)
        )
        first, second, third, fourth = (
            words.xor(words.high(other), second, left),
            words.low(other),
            words.xor(words.high(one), fourth, right),
            words.low(one),
        )
    return [first, second, third, fourth]
