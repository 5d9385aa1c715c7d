"""LLVM IR without `half` and `bfloat`: words of their bits, computed as `float`.

SPIR-V for OpenCL has the first with `Float16`, which drivers need not know, and the second with an
extension. Kernels load and store them, and convert them:

    %b = fpext <16 x half> %a to <16 x float>
  becomes
    %b = call <16 x float> @float_of_half_16(<16 x i16> %a)

and the function is written behind the kernels, in operations on integers. Floats are rounded to the
nearest half, an even one in the middle. No number on the way is a subnormal `float`, which devices
need not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FLOAT_OF_HALF = """
  %w = zext {i16} %x to {i32}
  %m = and {i32} %w, {32767}
  %sign = xor {i32} %w, %m
  %top = shl {i32} %sign, {16}
  %e = shl {i32} %m, {13}
  %normal = add {i32} %e, {939524096}
  %infinite = or {i32} %e, {2139095040}
  %f = uitofp {i32} %m to {float}
  %scaled = fmul {float} %f, {2^-24}
  %small = bitcast {float} %scaled to {i32}
  %is_small = icmp ult {i32} %m, {1024}
  %is_infinite = icmp uge {i32} %m, {31744}
  %a = select {i1} %is_small, {i32} %small, {i32} %normal
  %b = select {i1} %is_infinite, {i32} %infinite, {i32} %a
  %bits = or {i32} %b, %top
  %y = bitcast {i32} %bits to {float}
  ret {float} %y
"""
"""Exponents are 112 higher; those of 0 are multiples of 2^-24, those of 31 infinite or NaN."""

HALF_OF_FLOAT = """
  %bits = bitcast {float} %x to {i32}
  %m = and {i32} %bits, {2147483647}
  %sign = xor {i32} %bits, %m
  %top = lshr {i32} %sign, {16}
  %high = lshr {i32} %m, {13}
  %odd = and {i32} %high, {1}
  %less = sub {i32} %m, {939520001}
  %rounded = add {i32} %less, %odd
  %normal = lshr {i32} %rounded, {13}
  %f = bitcast {i32} %m to {float}
  %moved = fadd {float} %f, {0.5}
  %multiple = bitcast {float} %moved to {i32}
  %small = sub {i32} %multiple, {1056964608}
  %rest = and {i32} %high, {511}
  %nan = or {i32} %rest, {32256}
  %is_small = icmp ult {i32} %m, {947912704}
  %is_infinite = icmp uge {i32} %m, {1199566848}
  %is_nan = icmp ugt {i32} %m, {2139095040}
  %a = select {i1} %is_small, {i32} %small, {i32} %normal
  %b = select {i1} %is_infinite, {i32} {31744}, {i32} %a
  %c = select {i1} %is_nan, {i32} %nan, {i32} %b
  %d = or {i32} %c, %top
  %y = trunc {i32} %d to {i16}
  ret {i16} %y
"""
"""The last bit of 0.5 is 2^-24, the smallest half; from 65520 on all are infinite."""

FLOAT_OF_BFLOAT = """
  %w = zext {i16} %x to {i32}
  %bits = shl {i32} %w, {16}
  %y = bitcast {i32} %bits to {float}
  ret {float} %y
"""

BODIES: Mapping[str, tuple[str, str, str]] = {
    "float_of_half": (FLOAT_OF_HALF, "i16", "float"),
    "float_of_bfloat": (FLOAT_OF_BFLOAT, "i16", "float"),
    "half_of_float": (HALF_OF_FLOAT, "float", "i16"),
}
"""Each conversion, from what, and to what."""

FLOATS = {"2^-24": "0x3E70000000000000", "0.5": "0x3FE0000000000000"}
"""Numbers as LLVM writes them."""

OF_HALF = r"fpext (?:<\d+ x )?(half|bfloat)>? (.+) to ((?:<(\d+) x )?float>?)$"
TO_HALF = r"fptrunc ((?:<(\d+) x )?float>?) (.+) to (?:<\d+ x )?half>?$"
HALF = re.compile(r"(?<![@%\w.])(?:half|bfloat)\b")
BITS = re.compile(r"0x[HR]([0-9A-F]{4})\b")


def type_of(element: str, lanes: int) -> str:
    """The text of a type; of one lane it is the element."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def conversion_text(name: str, lanes: int) -> str:
    """The function of a conversion of so many lanes."""
    body, source, result = BODIES[name]

    def written(found: re.Match[str]) -> str:
        word = found.group(1)
        if word in ("i1", "i16", "i32", "float"):
            return type_of(word, lanes)
        element = "float" if word in FLOATS else "i32"
        number = FLOATS.get(word, word)
        return number if lanes == 1 else f"splat ({element} {number})"

    body = re.sub(r"\{([^}]+)\}", written, body)
    return (
        f"define internal {type_of(result, lanes)} @{name}_{lanes}"
        f"({type_of(source, lanes)} %x) alwaysinline nounwind {{{body}}}\n"
    )


def without_halves(text: str) -> str:
    """LLVM IR with words of 16 bits for `half` and `bfloat`."""
    made: dict[str, str] = {}

    def call(name: str, lanes: int, value: str) -> str:
        made[f"{name}_{lanes}"] = conversion_text(name, lanes)
        _, source, result = BODIES[name]
        types = type_of(result, lanes), type_of(source, lanes)
        return f"call {types[0]} @{name}_{lanes}({types[1]} {value})"

    def extended(found: re.Match[str]) -> str:
        element, value, _, lanes = found.groups()
        return call(f"float_of_{element}", int(lanes or 1), value)

    def rounded(found: re.Match[str]) -> str:
        _, lanes, value = found.groups()
        return call("half_of_float", int(lanes or 1), value)

    lines: list[str] = []
    for line in text.splitlines():
        if "half" in line or "bfloat" in line:
            line = re.sub(OF_HALF, extended, line)
            line = re.sub(TO_HALF, rounded, line)
            line = HALF.sub("i16", line)
            line = BITS.sub(lambda found: str(int(found.group(1), 16)), line)
        lines.append(line)
    return "\n".join([*lines, *made.values()])
