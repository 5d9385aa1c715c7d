"""How types of the loops level are spelled in OpenCL C, and constants of them.

A vector `AxBxWxf32` is `A*B` rows of `W` lanes; a row is one vector of 2, 4, 8 or 16 lanes, or
several, largest first: 24 lanes are `float16` and `float8`. Integers are unsigned, as unsigned
ones wrap around; operations on signed ones cast. Elements that not every device computes with
are words of their bits: `half` and bf16 are `ushort`. An i1 is `int`, 0 or 1, and -1 in a lane
of a vector, as comparisons have it; in memory it is a byte.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import isfinite, prod
from typing import NamedTuple

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    MemRefType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.llvm_text.text import bfloat_bits, half_bits, single_bits
from glow.lowering.loops_to_llvm.layout import (
    byte_strides,
    element_bytes,
    element_of,
    integer_width,
)
from glow.lowering.type_guards import is_vector

MAX_LANES = 16

FLOATS: dict[type[Attribute], str] = {
    Float16Type: "ushort",
    BFloat16Type: "ushort",
    Float32Type: "float",
    Float64Type: "double",
    IndexType: "long",
}
INTEGERS = {1: "int", 8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
SIGNED = {"uchar": "char", "ushort": "short", "uint": "int", "ulong": "long"}
SIGNED_BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "float": 32, "double": 64}
BITS = SIGNED_BITS | {f"u{name}": bits for name, bits in SIGNED_BITS.items()}
INTEGER_OF_BITS = {8: "char", 16: "short", 32: "int", 64: "long"}


@bounded_cache
def scalar_name(element: Attribute) -> str:
    """The C type of an element in a register."""
    name = FLOATS.get(type(element)) or INTEGERS.get(integer_width(element))
    if name is None:
        raise DiagnosticException(f"opencl-c: no type for {element}")
    return name


def memory_name(element: Attribute) -> str:
    """The C type of an element in memory."""
    return "uchar" if is_boolean(element) else scalar_name(element)


def is_boolean(element: Attribute) -> bool:
    """Whether an element is an i1."""
    return integer_width(element) == 1


def is_narrow_float(element: Attribute) -> bool:
    """Whether an element is a float that is computed with as a wider one."""
    return isinstance(element, Float16Type | BFloat16Type)


def vector_name(scalar: str, lanes: int) -> str:
    """`float16`, or `float` for one lane."""
    return f"{scalar}{lanes}" if lanes > 1 else scalar


def type_name(element: Attribute, lanes: int) -> str:
    """The C type of a register."""
    return vector_name(scalar_name(element), lanes)


class RegisterLayout(NamedTuple):
    """The registers of a scalar (one row of one lane) or of an n-D vector."""

    shape: tuple[int, ...]
    """The extents of all dimensions but the last."""
    width: int
    """Lanes of a row; 0 for a scalar."""
    chunks: tuple[tuple[int, int], ...]
    """First lane and lanes of each register of a row."""
    element: Attribute

    @property
    def rows(self) -> int:
        """The number of rows."""
        return prod(self.shape)

    @property
    def lanes(self) -> Sequence[int]:
        """The lanes of each register, row by row."""
        return [lanes for _, lanes in self.chunks] * self.rows

    def place(self, row: int, lane: int) -> tuple[int, int, int]:
        """Of a lane of a row: the register, its lanes, and the lane in it."""
        for number, (first, lanes) in enumerate(self.chunks):
            if first <= lane < first + lanes:
                return row * len(self.chunks) + number, lanes, lane - first
        raise DiagnosticException(f"opencl-c: no lane {lane} in a row of {self.width}")


@bounded_cache
def layout_of(type_: Attribute) -> RegisterLayout:
    """The registers of a scalar or vector type."""
    if not is_vector(type_):
        return RegisterLayout((), 0, ((0, 1),), type_)
    shape = type_.get_shape() or (1,)
    return RegisterLayout(
        shape[:-1], shape[-1], chunks_of(shape[-1]), element_of(type_)
    )


@bounded_cache
def chunks_of(width: int) -> tuple[tuple[int, int], ...]:
    """First lane and lanes of the registers of a row."""
    chunks: list[tuple[int, int]] = []
    first, lanes = 0, MAX_LANES
    while first < width:
        if width - first >= lanes:
            chunks.append((first, lanes))
            first += lanes
        else:
            lanes //= 2
    return tuple(chunks)


@bounded_cache
def element_strides(type_: MemRefType[Attribute]) -> tuple[int, ...]:
    """The strides of a memref in elements."""
    size = element_bytes(type_.element_type)
    return tuple(stride // size for stride in byte_strides(type_))


# Signed and unsigned -----------------------------------------------------------------


def signed(element: Attribute, lanes: int, text: str) -> str:
    """An integer as a signed one; indices are signed."""
    name = SIGNED.get(scalar_name(element))
    return f"as_{vector_name(name, lanes)}({text})" if name else text


def unsigned(element: Attribute, lanes: int, text: str) -> str:
    """An integer as an unsigned one."""
    if not isinstance(element, IndexType):
        return text
    return f"as_{vector_name('ulong', lanes)}({text})"


def stored(element: Attribute, lanes: int, text: str) -> str:
    """The result of an integer operation, signed or not, as a register holds it.

    Scalars narrower than `int` are computed as `int`.
    """
    name = type_name(element, lanes)
    if name == "long":
        return text
    return f"({name})({text})" if lanes == 1 else f"as_{name}({text})"


# Constants ---------------------------------------------------------------------------


def scalar_literal(number: float, element: Attribute) -> str:
    """A constant of an element type, to the bit."""
    if isinstance(element, IndexType):
        return f"{int(number)}l"
    width = integer_width(element)
    if width == 1:
        return str(int(bool(number)))
    if width:
        suffix = {32: "u", 64: "ul"}.get(width, "")
        text = f"{int(number) % (1 << width)}{suffix}"
        return text if suffix else f"({scalar_name(element)}){text}"
    return float_literal(float(number), element)


def float_literal(number: float, element: Attribute) -> str:
    """A float, in digits where these tell it from all others."""
    if isinstance(element, Float16Type):
        return f"(ushort){half_bits(number)}"
    if isinstance(element, BFloat16Type):
        return f"(ushort){bfloat_bits(number)}"
    if isinstance(element, Float64Type):
        bits = struct.unpack("<Q", struct.pack("<d", number))[0]
        return repr(number) if isfinite(number) else f"as_double(0x{bits:016x}ul)"
    bits = single_bits(number)
    rounded = struct.unpack("<f", struct.pack("<I", bits))[0]
    if not isfinite(rounded):
        return f"as_float(0x{bits:08x}u)"
    return f"{shortest(rounded)}f"


def shortest(number: float) -> str:
    """The fewest digits that are read as this number of 32 bits."""
    texts = (f"{number:.{digits}g}" for digits in range(1, 10))
    text = next(t for t in texts if single_bits(float(t)) == single_bits(number))
    return text if "." in text or "e" in text else f"{text}.0"


def literal(number: float, element: Attribute, lanes: int) -> str:
    """A constant in all lanes of a register."""
    if is_boolean(element) and lanes > 1:
        return f"(({type_name(element, lanes)})({-int(bool(number))}))"
    text = scalar_literal(number, element)
    return text if lanes == 1 else f"(({type_name(element, lanes)})({text}))"
