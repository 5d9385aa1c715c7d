"""Types and constants of the llvm dialect as LLVM IR text; raises on unknown ones."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntAttr,
    IntegerAttr,
)
from xdsl.dialects.llvm import (
    LLVMArrayType,
    LLVMPointerType,
    LLVMStructType,
    LLVMVoidType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects.attributes import is_splat
from glow.dialects.bounded_cache import bounded_cache, identity_cache
from glow.dialects.llvm import X86AMXType
from glow.lowering.type_guards import is_integer, is_vector

SIMPLE_TYPES: dict[type[Attribute], str] = {
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
    LLVMVoidType: "void",
    X86AMXType: "x86_amx",
}


@identity_cache
def type_name(type_: Attribute) -> str:
    """Returns the LLVM spelling of a type; raises for one that is not known."""
    if is_integer(type_):
        return f"i{type_.width.data}"
    if is_vector(type_) and len(type_.get_shape()) == 1:
        return f"<{type_.get_shape()[0]} x {type_name(type_.element_type)}>"
    if isinstance(type_, LLVMPointerType):
        space = type_.addr_space
        return f"ptr addrspace({space.data})" if isinstance(space, IntAttr) else "ptr"
    if isinstance(type_, LLVMStructType):
        return f"{{ {', '.join(map(type_name, type_.types))} }}"
    if isinstance(type_, LLVMArrayType):
        return f"[{type_.size.data} x {type_name(type_.type)}]"
    name = SIMPLE_TYPES.get(type(type_))
    if name is None:
        raise DiagnosticException(f"llvm emission: unknown type {type_}")
    return name


def float_text(number: float, type_: Attribute) -> str:
    """Returns a float constant in hexadecimal, which is exact for NaN and infinities."""
    if isinstance(type_, Float64Type):
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if isinstance(type_, Float16Type):
        return f"0xH{half_bits(number):04X}"
    if isinstance(type_, BFloat16Type):
        return f"0xR{bfloat_bits(number):04X}"
    rounded = struct.unpack("<f", struct.pack("<I", single_bits(number)))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


def single_bits(number: float) -> int:
    """Returns the bits of a number rounded to f32; overflow gives infinity."""
    try:
        packed = struct.pack("<f", number)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if number > 0 else float("-inf"))
    return struct.unpack("<I", packed)[0]


def half_bits(number: float) -> int:
    """Returns the bits of a number rounded to f16; overflow gives infinity."""
    try:
        packed = struct.pack("<e", number)
    except OverflowError:
        packed = struct.pack("<e", float("inf") if number > 0 else float("-inf"))
    return struct.unpack("<H", packed)[0]


def bfloat_bits(number: float) -> int:
    """Returns the bits of a number rounded to nearest-even bf16."""
    bits = single_bits(number)
    if number != number:
        return 0x7FC0
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def scalar_text(number: float, type_: Attribute) -> str:
    """Returns a scalar constant."""
    if is_integer(type_):
        if type_.width.data == 1:
            return "true" if number else "false"
        return str(int(number))
    return float_text(float(number), type_)


def constant_text(value: Attribute, type_: Attribute) -> str:
    """Returns a constant operand without its type."""
    if isinstance(value, IntegerAttr | FloatAttr):
        return scalar_text(value.value.data, type_)
    return dense_text(value, type_)


@bounded_cache
def dense_text(value: Attribute, type_: Attribute) -> str:
    """Returns a vector constant without its type."""
    if not isinstance(value, DenseIntOrFPElementsAttr) or not is_vector(type_):
        raise DiagnosticException(f"llvm emission: unknown constant {value}")
    numbers = cast(Sequence[float | int], value.get_values())
    element = type_.element_type
    name = type_name(element)
    if is_splat(cast("DenseIntOrFPElementsAttr", value)):
        return f"splat ({name} {scalar_text(numbers[0], element)})"
    lanes = ", ".join(f"{name} {scalar_text(number, element)}" for number in numbers)
    return f"<{lanes}>"
