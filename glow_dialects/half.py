"""16-bit floats: products of them are summed up in f32.

A product (`matmul`, `conv2d`, ...) of bf16 or f16 operands has a result of their type, or
of f32, which leaves the sums as they are.
"""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32
from xdsl.ir import Attribute


def is_half(element: Attribute) -> TypeGuard[BFloat16Type | Float16Type]:
    """Whether an element type is a 16-bit float."""
    return isinstance(element, BFloat16Type | Float16Type)


def accumulator_of(element: Attribute) -> Attribute:
    """The element type in which sums of products are taken."""
    return f32 if is_half(element) else element


def keeps_sums(inferred: Attribute, chosen: Attribute) -> bool:
    """Whether a product may have elements `chosen` instead of its operands'."""
    return is_half(inferred) and chosen == f32


def rounds_sums(inferred: Attribute, chosen: Attribute) -> bool:
    """Whether sums of f32, of operands `inferred`, may be stored as `chosen`."""
    return all(is_half(element) or element == f32 for element in (inferred, chosen))
