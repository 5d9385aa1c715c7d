"""Rules for the conversions of `arith`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import Float64Type, IndexType
from xdsl.ir import Attribute, Operation

from glow.dialects import arith
from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.opencl_c.arithmetic import narrowed, widened
from glow.lowering.opencl_c.c_types import (
    SIGNED,
    is_boolean,
    is_narrow_float,
    scalar_name,
    signed,
    stored,
    type_name,
    vector_name,
)
from glow.lowering.opencl_c.function_printer import FunctionPrinter, Rule

Convert = Callable[[FunctionPrinter, Attribute, Attribute, int, str], str]
"""From an element type to another: of a register of so many lanes."""


def conversion(convert: Convert) -> Callable[[FunctionPrinter, Operation], None]:
    """The rule that converts register by register."""

    def rule(out: FunctionPrinter, op: Operation) -> None:
        before = out.layout(op.operands[0]).element
        layout = out.layout(op.results[0])
        pairs = zip(layout.lanes, out.registers(op.operands[0]), strict=True)
        texts = [convert(out, before, layout.element, n, text) for n, text in pairs]
        out.define(op.results[0], texts)

    return rule


def converted(name: str, lanes: int, text: str) -> str:
    """A conversion to a C type, toward zero from floats to integers."""
    return f"convert_{vector_name(name, lanes)}({text})"


def float_to_float(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """Wider or narrower; rounded to the nearest."""
    text = widened(out, before, lanes, text)
    if isinstance(after, Float64Type) or isinstance(before, Float64Type):
        text = converted(
            "double" if isinstance(after, Float64Type) else "float", lanes, text
        )
    return narrowed(out, after, lanes, text)


def is_one(lanes: int, text: str) -> str:
    """An i1 as 1 or 0."""
    return text if lanes == 1 else f"({text} & 1)"


def sign_extend(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """Also from and to index."""
    if is_boolean(before):
        text = f"(-{text})" if lanes == 1 else text
    else:
        text = signed(before, lanes, text)
    name = scalar_name(after)
    return stored(after, lanes, converted(SIGNED.get(name, name), lanes, text))


def zero_extend(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """To more bits, zeros before them."""
    text = is_one(lanes, text) if is_boolean(before) else text
    return converted(scalar_name(after), lanes, text)


def truncate(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """The low bits."""
    if is_boolean(after):
        low = converted("int", lanes, f"{text} & {low_bit(before)}")
        return low if lanes == 1 else f"-{low}"
    return converted(scalar_name(after), lanes, text)


def low_bit(element: Attribute) -> str:
    """The mask of the lowest bit."""
    return f"({scalar_name(element)})1"


def index_cast(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """Sign-extends or cuts off between index and an integer type."""
    if isinstance(after, IndexType):
        return sign_extend(out, before, after, lanes, text)
    return truncate(out, before, after, lanes, text)


def from_signed(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """A signed integer as a float."""
    if is_boolean(before):
        text = f"(-{text})" if lanes == 1 else text
    else:
        text = signed(before, lanes, text)
    return from_integer(out, after, lanes, text)


def from_unsigned(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """An unsigned integer as a float."""
    text = is_one(lanes, text) if is_boolean(before) else text
    return from_integer(out, after, lanes, text)


def from_integer(out: FunctionPrinter, after: Attribute, lanes: int, text: str) -> str:
    """An integer as a float, rounded to the nearest."""
    name = "float" if is_narrow_float(after) else scalar_name(after)
    return narrowed(out, after, lanes, converted(name, lanes, text))


def to_signed(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """A float cut off."""
    text = widened(out, before, lanes, text)
    name = scalar_name(after)
    return stored(after, lanes, converted(SIGNED.get(name, name), lanes, text))


def to_unsigned(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """A float cut off, not below zero."""
    return converted(scalar_name(after), lanes, widened(out, before, lanes, text))


def bitcast(
    out: FunctionPrinter, before: Attribute, after: Attribute, lanes: int, text: str
) -> str:
    """The same bits."""
    return f"as_{type_name(after, lanes)}({text})"


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(arith.ExtFOp, conversion(float_to_float)),
        entry(arith.TruncFOp, conversion(float_to_float)),
        entry(arith.ExtSIOp, conversion(sign_extend)),
        entry(arith.ExtUIOp, conversion(zero_extend)),
        entry(arith.TruncIOp, conversion(truncate)),
        entry(arith.SIToFPOp, conversion(from_signed)),
        entry(arith.UIToFPOp, conversion(from_unsigned)),
        entry(arith.FPToSIOp, conversion(to_signed)),
        entry(arith.FPToUIOp, conversion(to_unsigned)),
        entry(arith.BitcastOp, conversion(bitcast)),
        entry(arith.IndexCastOp, conversion(index_cast)),
    ]
)
