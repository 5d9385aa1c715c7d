"""Operations, constants and index arithmetic of the loops-level builder.

Index arithmetic works on Python ints and on SSA values alike and folds what is known.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Literal, TypeAlias

from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects import arith
from glow.lowering.append import append
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target
from glow.lowering.type_numbers import TypeNumbers

Index: TypeAlias = int | SSAValue
"""A position: a Python int or an SSA value of type index."""

Condition: TypeAlias = bool | SSAValue
"""A truth value: known now, or an SSA value of type i1."""

Predicate = Literal["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    # An index below zero is a huge unsigned one.
    "ult": lambda a, b: a % 2**64 < b % 2**64,
    "ule": lambda a, b: a % 2**64 <= b % 2**64,
    "ugt": lambda a, b: a % 2**64 > b % 2**64,
    "uge": lambda a, b: a % 2**64 >= b % 2**64,
}
_PREDICATES = {name: IntegerAttr(k, i64) for k, name in enumerate(_COMPARE)}
_NO_OVERFLOW = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_INDEX = types.INDEX


class IndexBuilder:
    """Appends operations to the current block; `target` says what the machine can do."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._block = Block()
        self._entry = Block()
        self._function = self._block
        self._constants: dict[tuple[str, int], SSAValue] = {}
        self._numbers: dict[SSAValue, SSAValue] = {}
        self._type_number = TypeNumbers()

    # ---- operations

    def create(
        self,
        operation: type[Operation],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Operation:
        """The operation, appended to the current block."""
        created = append(
            self._block, operation, operands, result_types, properties or {}
        )
        for region in regions:
            created.add_region(region)
        return created

    def value(
        self,
        operation: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Mapping[str, Attribute] | None = None,
    ) -> SSAValue:
        """The single result of a new operation."""
        (result,) = self.create(operation, operands, (result_type,), properties).results
        return result

    def constant(self, value: float, type_: Attribute = _INDEX) -> SSAValue:
        """A scalar constant or a vector splat, hoisted to the top of the function."""
        key = (repr(value), self._type_number(type_))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._hoisted_constant(value, type_)
        return found

    def _hoisted_constant(self, value: float, type_: Attribute) -> SSAValue:
        if types.is_vector(type_) and not isfinite(value):
            # xDSL prints dense<0xff800000> for infinity and reads it as an integer.
            scalar = self.constant(value, type_.element_type)
            return self.hoisted(vector.BroadcastOp, type_, {}, (scalar,))
        attribute = types.constant_attribute(value, type_)
        return self.hoisted(arith.ConstantOp, type_, {"value": attribute})

    def constant_vector(self, values: Sequence[float], element: Attribute) -> SSAValue:
        """A 1-D vector constant with those elements, hoisted to the top of the function."""
        type_ = types.vector_type((len(values),), element)
        key = (repr(tuple(values)), self._type_number(type_))
        if key not in self._constants:
            attribute = types.dense_attribute(tuple(values), type_)
            self._constants[key] = self.hoisted(
                arith.ConstantOp, type_, {"value": attribute}
            )
        return self._constants[key]

    def like(self, value: float, other: SSAValue) -> SSAValue:
        """A constant (splat) of another value's type."""
        return self.constant(value, other.type)

    def hoisted(
        self,
        operation: type[Operation],
        type_: Attribute,
        properties: Mapping[str, Attribute],
        operands: Sequence[SSAValue] = (),
    ) -> SSAValue:
        """The result of an operation on hoisted values, put at the top of the function."""
        self._block, block = self._entry, self._block
        result = self.value(operation, operands, type_, properties)
        self._block = block
        return result

    # ---- index arithmetic on ints and SSA values

    def index(self, position: Index) -> SSAValue:
        """The position as an SSA value."""
        return self.constant(position) if isinstance(position, int) else position

    def _index(
        self,
        operation: type[Operation],
        a: Index,
        b: Index,
        properties: Mapping[str, Attribute] | None = None,
    ) -> SSAValue:
        return self.value(operation, (self.index(a), self.index(b)), _INDEX, properties)

    def add(self, a: Index, b: Index) -> Index:
        """The sum."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and b == 0:
            return a
        return self._index(arith.AddiOp, a, b, _NO_OVERFLOW)

    def sub(self, a: Index, b: Index) -> Index:
        """The difference."""
        if isinstance(b, int):
            return self.add(a, -b)
        return self._index(arith.SubiOp, a, b, _NO_OVERFLOW)

    def mul(self, a: Index, b: Index) -> Index:
        """The product."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and b in (0, 1):
            return a if b else 0
        return self._index(arith.MuliOp, a, b, _NO_OVERFLOW)

    def floordiv(self, a: Index, b: int) -> Index:
        """The quotient a // b for a >= 0."""
        if isinstance(a, int):
            return a // b
        return a if b == 1 else self._index(arith.DivUIOp, a, b)

    def remainder(self, a: Index, b: int) -> Index:
        """The remainder a % b for a >= 0."""
        if isinstance(a, int):
            return a % b
        return self.sub(a, self.mul(self.floordiv(a, b), b)) if b > 1 else 0

    def minimum(self, a: Index, b: Index) -> Index:
        """The smaller of two positions, signed."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._index(arith.MinSIOp, a, b)

    def maximum(self, a: Index, b: Index) -> Index:
        """The larger of two positions, signed."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self._index(arith.MaxSIOp, a, b)

    def compare(self, predicate: Predicate, a: Index, b: Index) -> Condition:
        """Whether `a predicate b`, of positions; "ult" with a bound also rejects a < 0."""
        if isinstance(a, int) and isinstance(b, int):
            return _COMPARE[predicate](a, b)
        return self.cmpi(predicate, self.index(a), self.index(b))

    def both(self, a: Condition, b: Condition) -> Condition:
        """Whether a and b hold."""
        if isinstance(a, bool):
            return b if a else False
        if isinstance(b, bool):
            return a if b else False
        return self.value(arith.AndIOp, (a, b), i1)

    def select_index(self, condition: Condition, a: Index, b: Index) -> Index:
        """The position a if the condition holds, else b."""
        if isinstance(condition, bool):
            return a if condition else b
        return self.select(condition, self.index(a), self.index(b))

    def unflatten(self, position: Index, extents: Sequence[int]) -> list[Index]:
        """The row-major coordinates of a flat position in a space of those extents."""
        walked = [axis for axis, extent in enumerate(extents) if extent != 1]
        coordinates: list[Index] = [0] * len(extents)
        for axis in reversed(walked[1:]):
            quotient = self.floordiv(position, extents[axis])
            multiple = self.mul(quotient, extents[axis])
            coordinates[axis] = self.sub(position, multiple)
            position = quotient
        if walked:
            coordinates[walked[0]] = position
        return coordinates

    def clamp(self, position: Index, low: int, high: int) -> Index:
        """The position, moved into [low, high]."""
        return self.minimum(self.maximum(position, low), high)

    def cmpi(self, predicate: Predicate, a: SSAValue, b: SSAValue) -> SSAValue:
        """The i1 (vector) of an integer comparison."""
        properties = {"predicate": _PREDICATES[predicate]}
        return self.value(
            arith.CmpiOp, (a, b), types.with_element(a.type, i1), properties
        )

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """A where the condition (scalar i1, or a vector of them) holds, else b."""
        return self.value(arith.SelectOp, (condition, a, b), a.type)
