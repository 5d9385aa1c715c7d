"""What conversions of TOSA operations are written with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

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
from glow.dialects.weight_table import dtype_of
from glow.frontends.graph_builder import GraphBuilder


class TosaBuilder(GraphBuilder):
    """Makes the nodes that take the place of one operation."""

    def __init__(self, op: TosaOp) -> None:
        super().__init__(op)
        self.op = op

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

    def propagate_nan(self) -> None:
        """Raise GlowError where NaN is to be left out: our nodes let it through."""
        is_float = dtype_of(element_of(self.op.operands[0])).kind not in "biu"
        if self.word("nan_mode") == "IGNORE" and is_float:
            raise GlowError("nan_mode IGNORE is not supported")


Handler: TypeAlias = Callable[[TosaBuilder], SSAValue]
"""Makes what takes the place of the builder's operation; GlowError for what it cannot."""

Handlers: TypeAlias = Mapping[str, Handler]
"""By the operation's name, without the dialect's."""
