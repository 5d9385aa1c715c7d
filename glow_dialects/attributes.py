"""Conversions between Python values and the attributes that our operations carry.

Properties come in few kinds, each with one spelling in Python and in text:

| Python              | attribute          | text                  |
|---------------------|--------------------|-----------------------|
| `int`               | `i64` IntegerAttr  | `axis 1`              |
| `float`             | `f32` FloatAttr    | `epsilon 1.0e-05`     |
| `str`               | StringAttr         | `mode "reflect"`      |
| `Sequence[int]`     | `array<i64>`       | `pads [0, 1, 0, 1]`   |
| `Sequence[float]`   | `array<f32>`       | `bounds [0.0, 6.0]`   |
| `True`              | UnitAttr           | `keepdims`            |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import OpDef

AttributeValue = Attribute | int | float | str | bool | Sequence[int] | Sequence[float]


@lru_cache(None)
def ints_attr(*values: int) -> DenseArrayBase:
    """`array<i64: values>`."""
    return DenseArrayBase.from_list(i64, values)


@lru_cache(None)
def floats_attr(*values: float) -> DenseArrayBase:
    """`array<f32: values>`."""
    return DenseArrayBase.from_list(f32, values)


@lru_cache(None)
def int_attr(value: int) -> IntegerAttr:
    """An `i64` attribute."""
    return IntegerAttr(value, i64)


@lru_cache(None)
def float_attr(value: float) -> FloatAttr[Float32Type]:
    """An `f32` attribute."""
    return FloatAttr(value, f32)


def array_values(array: DenseArrayBase) -> tuple[int, ...] | tuple[float, ...]:
    """The numbers of an array attribute."""
    if isinstance(array.elt_type, IntegerType):
        return cast("DenseArrayBase[IntegerType]", array).get_values()
    return cast("DenseArrayBase[AnyFloat]", array).get_values()


def to_attribute(value: AttributeValue) -> Attribute | None:
    """The attribute for a Python value; None for `False` (an absent unit attribute)."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, bool):
        return UnitAttr() if value else None
    if isinstance(value, int):
        return int_attr(value)
    if isinstance(value, float):
        return float_attr(value)
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
