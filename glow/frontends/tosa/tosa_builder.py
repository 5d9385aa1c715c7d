"""What conversions of TOSA operations are written with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    BoolAttr,
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.foreign.words import Word
from glow.dialects.node import element_of
from glow.dialects.tosa import TosaOp
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.graph_builder import GraphBuilder

FIRST_HALF = 31
"""DOUBLE_ROUND rounds twice where the shift is longer."""


@dataclass(frozen=True)
class Rescale:
    """What a `rescale` says: `value - before` times `multipliers * 2**-shifts`, plus `behind`."""

    multipliers: Sequence[int]
    shifts: Sequence[int]
    before: int
    behind: int
    rounds_twice: bool

    @property
    def scales(self) -> Array:
        """The numbers that it multiplies by, as f32."""
        numbers = np.array(self.multipliers, float) * 2.0 ** -np.array(
            self.shifts, float
        )
        return numbers.astype(np.float32)

    @property
    def scale(self) -> float:
        """The one number that it multiplies by."""
        return float(self.scales[0])

    @property
    def is_plain(self) -> bool:
        """Whether it multiplies by 1, so that only zero points change."""
        return len(self.shifts) == 1 and self.multipliers[0] == 1 << self.shifts[0]

    def apply(self, values: Array) -> Array:
        """The numbers, less `behind`, that one multiplier makes of some less `before`."""
        product = values.astype(np.int64) * self.multipliers[0]
        half, shift = np.int64(1) << (self.shifts[0] - 1), self.shifts[0]
        if self.rounds_twice and shift > FIRST_HALF:
            product = product + np.where(np.less(values, 0), -1, 1) * (1 << 30)
        return (product + half) >> shift


@dataclass(frozen=True)
class Rescaled:
    """Bytes, and what a `rescale` has made wider integers of them by."""

    value: SSAValue
    how: Rescale


class TosaBuilder(GraphBuilder):
    """Makes the nodes that take the place of one operation."""

    def __init__(self, op: TosaOp, rescaled: dict[SSAValue, Rescaled]) -> None:
        super().__init__(op)
        self.op = op
        self.rescaled = rescaled
        """Integers that are rescaled bytes."""

    def sizes(self, value: SSAValue) -> list[int]:
        """The numbers of a `!tosa.shape`; GlowError where they are computed."""
        owner = value.owner
        if isinstance(owner, TosaOp) and owner.name == "tosa.const_shape":
            return owner.integers("values")
        raise GlowError("a shape that is computed")

    def flag(self, name: str) -> bool:
        """A property that is a truth value; false where it is left out."""
        return self.op.properties.get(name) == BoolAttr.from_bool(True)

    def word(self, name: str) -> str:
        """A property that is a word; empty where it is left out."""
        value = self.op.properties.get(name)
        return value.word.data if isinstance(value, Word) else ""

    def scalar(self, name: str) -> float:
        """A property that is a number; GlowError where it is left out."""
        value = self.op.properties.get(name)
        if isinstance(value, FloatAttr | IntegerAttr):
            return value.value.data
        raise GlowError(f"the property '{name}' is missing")

    def numbers(self, value: SSAValue, what: str) -> list[int]:
        """The integers of a constant; GlowError for anything else."""
        array = self.known(value)
        if array is None:
            raise GlowError(f"{what} must be a constant")
        return [int(one) for one in array.reshape(-1)]

    def zero_point(self, operand: int) -> int:
        """The zero point that an operand is; 0 where it is left out."""
        if operand >= len(self.op.operands):
            return 0
        array = self.known(self.op.operands[operand])
        if array is None:
            raise GlowError("a zero point that is no constant")
        if array.size != 1:
            raise GlowError(f"{array.size} zero points")
        return int(array.item())

    def saturated(self, value: SSAValue) -> SSAValue:
        """Wide integers as those of the operation's result."""
        target = self.result.element_type
        bounds = np.iinfo(dtype_of(target).name)
        value = self.clamp(value, int(bounds.min), int(bounds.max))
        return self.convert(value, target)

    def propagate_nan(self) -> None:
        """Raise GlowError where NaN is to be left out: our nodes let it through."""
        is_float = dtype_of(element_of(self.op.operands[0])).kind not in "biu"
        if self.word("nan_mode") == "IGNORE" and is_float:
            raise GlowError("nan_mode IGNORE is not supported")


Handler: TypeAlias = Callable[[TosaBuilder], SSAValue]
"""Makes what takes the place of the builder's operation; GlowError for what it cannot."""

Handlers: TypeAlias = Mapping[str, Handler]
"""By the operation's name, without the dialect's."""
