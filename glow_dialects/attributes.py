"""Conversions between Python values and the attributes that our operations carry.

Properties come in few kinds, each with one spelling in Python and in text:

| Python              | attribute          | text                  |
|---------------------|--------------------|-----------------------|
| `int`               | `i64` IntegerAttr  | `axis 1`              |
| `float`             | `f32` FloatAttr    | `epsilon 1.0e-05`     |
|                     | of `double_attr`   | `beta 9.99e-01`       |
| `str`               | StringAttr         | `mode "reflect"`      |
| `Sequence[int]`     | `array<i64>`       | `pads [0, 1, 0, 1]`   |
| `Sequence[float]`   | `array<f32>`       | `bounds [0.0, 6.0]`   |
| `True`              | UnitAttr           | `keepdims`            |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import OpDef, PropertyDef

from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.float_text import bits_of_float, float_attr_of_bits, float_of_bits

AttributeValue = Attribute | int | float | str | bool | Sequence[int] | Sequence[float]


@bounded_cache
def ints_attr(*values: int) -> DenseArrayBase:
    """`array<i64: values>`."""
    return DenseArrayBase.from_list(i64, values)


def floats_attr(*values: float) -> DenseArrayBase:
    """`array<f32: values>`."""
    bits = (bits_of_float(value, f32).to_bytes(4, "little") for value in values)
    return DenseArrayBase(f32, BytesAttr(b"".join(bits)))


@bounded_cache
def int_attr(value: int) -> IntegerAttr:
    """An `i64` attribute."""
    return IntegerAttr(value, i64)


def float_attr(value: float) -> FloatAttr[Float32Type]:
    """An `f32` attribute."""
    return _float_attr(value, math.copysign(1.0, value))


def double_attr(value: float) -> FloatAttr[Float64Type]:
    """An `f64` attribute; a property whose default it is holds all digits of a number."""
    return FloatAttr(value, f64)


def float_type_of(declared: PropertyDef | None) -> AnyFloat:
    """The type of a declared float property: that of its default, or f32."""
    default = None if declared is None else declared.default_value
    is_float = isinstance(default, FloatAttr)
    return cast("FloatAttr[AnyFloat]", default).type if is_float else f32


@bounded_cache
def _float_attr(value: float, _sign: float) -> FloatAttr[Float32Type]:
    # The sign is part of the cache's key because 0.0 == -0.0.
    return float_attr_of_bits(bits_of_float(value, f32), f32)


def array_values(array: DenseArrayBase) -> tuple[int, ...] | tuple[float, ...]:
    """The numbers of an array attribute."""
    if isinstance(array.elt_type, IntegerType):
        return cast("DenseArrayBase[IntegerType]", array).get_values()
    floats = cast("DenseArrayBase[AnyFloat]", array)
    values = floats.get_values()
    return values if all(map(math.isfinite, values)) else _exact_values(floats)


def _exact_values(array: DenseArrayBase[AnyFloat]) -> tuple[float, ...]:
    """The values with the payload of NaNs."""
    data, size = array.data.data, array.elt_type.compile_time_size
    patterns = (data[start : start + size] for start in range(0, len(data), size))
    return tuple(
        float_of_bits(int.from_bytes(pattern, "little"), array.elt_type)
        for pattern in patterns
    )


def is_splat(dense: DenseIntOrFPElementsAttr) -> bool:
    """Whether all elements have the same bits; xDSL's method takes -0.0 for 0.0."""
    data, size = dense.data.data, dense.get_element_type().compile_time_size
    return bool(data) and data == data[:size] * (len(data) // size)


def to_attribute(
    value: AttributeValue, declared: PropertyDef | None = None
) -> Attribute | None:
    """The attribute for a Python value; None for `False` (an absent unit attribute)."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, bool):
        return UnitAttr() if value else None
    if isinstance(value, int):
        return int_attr(value)
    if isinstance(value, float):
        double = float_type_of(declared) == f64
        return double_attr(value) if double else float_attr(value)
    if isinstance(value, str):
        return StringAttr(value)
    if value and all(isinstance(element, float) for element in value):
        return floats_attr(*value)
    return ints_attr(*(int(element) for element in value))


class Attributes:
    """Typed access to an operation's properties, with the definition's defaults.

    The shape rules use it instead of the operation, so that a rule can run before
    the operation exists and serves a node and its instruction alike.
    """

    def __init__(self, definition: OpDef, values: Mapping[str, Attribute]) -> None:
        self._definition = definition
        self._values = values

    def get(self, name: str) -> Attribute | None:
        """The attribute, its default, or None."""
        if name in self._values:
            return self._values[name]
        declared = self._definition.properties.get(name)
        return None if declared is None else declared.default_value

    def has(self, name: str) -> bool:
        """Whether the attribute is present or has a default."""
        return self.get(name) is not None

    def int(self, name: str) -> int:
        """The value of an integer attribute."""
        value = self.get(name)
        assert isinstance(value, IntegerAttr)
        return value.value.data

    def float(self, name: str) -> float:
        """The value of a float attribute."""
        value = self.get(name)
        assert isinstance(value, FloatAttr)
        return value.value.data

    def string(self, name: str) -> str:
        """The value of a string attribute."""
        value = self.get(name)
        assert isinstance(value, StringAttr)
        return value.data

    def ints(self, name: str) -> tuple[int, ...]:
        """The values of an integer array."""
        value = self.get(name)
        assert isinstance(value, DenseArrayBase)
        return tuple(int(element) for element in value.get_values())

    def floats(self, name: str) -> tuple[float, ...]:
        """The values of a float array."""
        value = self.get(name)
        assert isinstance(value, DenseArrayBase)
        return tuple(float(element) for element in value.get_values())


@bounded_cache
def operand_segments_attr(*sizes: int) -> DenseArrayBase:
    """The `operandSegmentSizes` property of the given sizes."""
    return DenseArrayBase.from_list(i32, sizes)
