"""What a compiler's runtime does for code of a CPU without floats or wide integers, in Python.

Code calls these functions by name where one operation has no instruction: `__addsf3` adds two
f32. An emulated program that calls one comes here instead, so that no such library needs to be
built; the bits are those of IEEE 754.

Source: GCC internals, "Integer library routines" and "Routines for floating point emulation";
Run-time ABI for the Arm Architecture, 4.1.2 and 4.2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

WORD_BITS, WIDE_BITS = 32, 64


class Routine(NamedTuple):
    """A function: how wide its operands and its result are, and what it does to words."""

    operand_bits: tuple[int, ...]
    result_bits: int
    compute: Callable[..., int]
    """Of unsigned integers to one, whose low bits are the result."""


def signed(value: int, bits: int) -> int:
    """An unsigned integer of so many bits as a signed one."""
    return value - (1 << bits) if value >> (bits - 1) else value


def as_float(bits: int) -> np.float32:
    """The f32 of its bits."""
    return np.frombuffer(struct.pack("<I", bits), np.float32)[0]


def as_bits(value: np.float32) -> int:
    """The bits of an f32."""
    return int(np.float32(value).view(np.uint32))


def _float_arithmetic(
    operation: Callable[[np.float32, np.float32], np.float32],
) -> Routine:
    def compute(one: int, other: int) -> int:
        with np.errstate(all="ignore"):
            return as_bits(operation(as_float(one), as_float(other)))

    return Routine((WORD_BITS, WORD_BITS), WORD_BITS, compute)


def _comparison(unordered: int) -> Routine:
    """-1, 0 or 1, and another number where one is NaN."""

    def compute(one: int, other: int) -> int:
        a, b = float(as_float(one)), float(as_float(other))
        if a != a or b != b:
            return unordered
        return (a > b) - (a < b)

    return Routine((WORD_BITS, WORD_BITS), WORD_BITS, compute)


def _is_unordered(one: int, other: int) -> int:
    a, b = float(as_float(one)), float(as_float(other))
    return int(a != a or b != b)


def _to_integer(bits: int) -> int:
    """The f32 without its fraction; the ends of the range beyond it."""
    value = float(as_float(bits))
    if value != value:
        return 0
    return int(max(min(value, 2.0**31 - 1), -(2.0**31)))


def _with_remainder(bits: int, *, is_signed: bool = False) -> Routine:
    """The quotient, and the remainder in the registers behind it."""

    def compute(one: int, other: int) -> int:
        if is_signed:
            one, other = signed(one, bits), signed(other, bits)
        mask = (1 << bits) - 1
        quotient, remainder = _quotient(one, other), _remainder(one, other)
        return quotient & mask | (remainder & mask) << bits

    return Routine((bits, bits), 2 * bits, compute)


def _test(condition: Callable[[float, float], bool]) -> Routine:
    """1 where a comparison of floats holds, else 0."""

    def compute(one: int, other: int) -> int:
        return int(condition(float(as_float(one)), float(as_float(other))))

    return Routine((WORD_BITS, WORD_BITS), WORD_BITS, compute)


def _from_signed(value: int) -> int:
    return as_bits(np.float32(signed(value, WORD_BITS)))


def _from_unsigned(value: int) -> int:
    return as_bits(np.float32(value))


def _integers(
    operation: Callable[[int, int], int], bits: int, *, is_signed: bool = False
) -> Routine:
    def compute(one: int, other: int) -> int:
        if is_signed:
            one, other = signed(one, bits), signed(other, bits)
        return operation(one, other)

    return Routine((bits, bits), bits, compute)


def _quotient(one: int, other: int) -> int:
    """Towards zero, as C divides."""
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


def _remainder(one: int, other: int) -> int:
    return one - other * _quotient(one, other)


def _shift(operation: Callable[[int, int], int], *, is_signed: bool = False) -> Routine:
    def compute(value: int, distance: int) -> int:
        return operation(signed(value, WIDE_BITS) if is_signed else value, distance)

    return Routine((WIDE_BITS, WORD_BITS), WIDE_BITS, compute)


ROUTINES: Mapping[str, Routine] = {
    "__addsf3": _float_arithmetic(lambda a, b: a + b),
    "__subsf3": _float_arithmetic(lambda a, b: a - b),
    "__mulsf3": _float_arithmetic(lambda a, b: a * b),
    "__divsf3": _float_arithmetic(lambda a, b: a / b),
    **dict.fromkeys(("__gtsf2", "__gesf2", "__cmpsf2"), _comparison(-1)),
    **dict.fromkeys(("__ltsf2", "__lesf2", "__eqsf2", "__nesf2"), _comparison(1)),
    "__unordsf2": Routine((WORD_BITS, WORD_BITS), WORD_BITS, _is_unordered),
    "__fixsfsi": Routine((WORD_BITS,), WORD_BITS, _to_integer),
    "__floatsisf": Routine((WORD_BITS,), WORD_BITS, _from_signed),
    "__floatunsisf": Routine((WORD_BITS,), WORD_BITS, _from_unsigned),
    "__udivsi3": _integers(lambda a, b: a // b, WORD_BITS),
    "__umodsi3": _integers(lambda a, b: a % b, WORD_BITS),
    "__divsi3": _integers(_quotient, WORD_BITS, is_signed=True),
    "__modsi3": _integers(_remainder, WORD_BITS, is_signed=True),
    "__mulsi3": _integers(lambda a, b: a * b, WORD_BITS),
    "__muldi3": _integers(lambda a, b: a * b, WIDE_BITS),
    "__udivdi3": _integers(lambda a, b: a // b, WIDE_BITS),
    "__umoddi3": _integers(lambda a, b: a % b, WIDE_BITS),
    "__divdi3": _integers(_quotient, WIDE_BITS, is_signed=True),
    "__moddi3": _integers(_remainder, WIDE_BITS, is_signed=True),
    "__aeabi_uidivmod": _with_remainder(WORD_BITS),
    "__aeabi_idivmod": _with_remainder(WORD_BITS, is_signed=True),
    "__aeabi_uldivmod": _with_remainder(WIDE_BITS),
    "__aeabi_ldivmod": _with_remainder(WIDE_BITS, is_signed=True),
    "__aeabi_fcmpeq": _test(lambda a, b: a == b),
    "__aeabi_fcmplt": _test(lambda a, b: a < b),
    "__aeabi_fcmple": _test(lambda a, b: a <= b),
    "__aeabi_fcmpgt": _test(lambda a, b: a > b),
    "__aeabi_fcmpge": _test(lambda a, b: a >= b),
    "__ashldi3": _shift(lambda a, b: a << b),
    "__lshrdi3": _shift(lambda a, b: a >> b),
    "__ashrdi3": _shift(lambda a, b: a >> b, is_signed=True),
}
"""By the names that GCC and LLVM give them."""

ALIASES: Mapping[str, str] = {
    "__aeabi_fadd": "__addsf3",
    "__aeabi_fcmpun": "__unordsf2",
    "__aeabi_fsub": "__subsf3",
    "__aeabi_fmul": "__mulsf3",
    "__aeabi_fdiv": "__divsf3",
    "__aeabi_i2f": "__floatsisf",
    "__aeabi_ui2f": "__floatunsisf",
    "__aeabi_f2iz": "__fixsfsi",
    "__aeabi_uidiv": "__udivsi3",
    "__aeabi_idiv": "__divsi3",
    "__aeabi_lmul": "__muldi3",
    "__aeabi_llsl": "__ashldi3",
    "__aeabi_llsr": "__lshrdi3",
    "__aeabi_lasr": "__ashrdi3",
}
"""Arm's names of some."""

COPIES = ("memcpy", "memmove", "__aeabi_memcpy", "__aeabi_memmove")
FILLS = {"memset": (1, 2), "__aeabi_memset": (2, 1), "__aeabi_memclr": (None, 1)}
"""Which operands are the byte and the size."""


def memory_change(
    name: str, operands: Sequence[int]
) -> tuple[int | None, int, int] | None:
    """What a function does to memory, if it does: from where, or None, a byte, and a size.

    Names of Arm's may end in the alignment of the operands.
    """
    plain = name.rstrip("48")
    if plain in COPIES:
        return operands[1], 0, operands[2]
    if plain not in FILLS:
        return None
    byte, size = FILLS[plain]
    return None, 0 if byte is None else operands[byte] & 0xFF, operands[size]


def routine(name: str) -> Routine | None:
    """The function of a name; None for one that is unknown."""
    return ROUTINES.get(ALIASES.get(name, name))
