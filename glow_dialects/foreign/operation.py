"""The base of other projects' operations: operands, results, regions, and properties by name.

Types are those of the text: it is the conversion that computes them again, and refuses what
differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.utils.hints import isa

from glow.dialects.errors import GlowError


class ForeignOp(IRDLOperation):
    """An operation of another project's dialect."""

    arguments = var_operand_def()
    outputs = var_result_def()
    bodies = var_region_def()

    @classmethod
    def make(
        cls,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        attributes: Mapping[str, Attribute],
        regions: Sequence[Region] = (),
    ) -> Self:
        """The operation, whose own attributes become properties."""
        known = cls.get_irdl_definition().properties
        own = {name: value for name, value in attributes.items() if name in known}
        rest = {name: value for name, value in attributes.items() if name not in known}
        return cls.create(
            operands=operands,
            result_types=types,
            properties=own,
            attributes=rest,
            regions=regions,
        )

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """A property that is a list of integers, of whatever form.

        Raises GlowError where it is left out and has no default.
        """
        value = self._property(name, default is not None)
        if isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr):
            return [int(one) for one in value.get_values()]
        return integers_of(value) or list(default or ())

    def integer(self, name: str, default: int | None = None) -> int:
        """A property that is an integer; GlowError as for a list."""
        value = self._property(name, default is not None)
        return value.value.data if isinstance(value, IntegerAttr) else default or 0

    def _property(self, name: str, may_miss: bool) -> Attribute | None:
        value = self.properties.get(name)
        if value is None and not may_miss:
            raise GlowError(f"the property '{name}' is missing")
        return value


def integers_of(value: Attribute | None) -> list[int]:
    """The numbers of a list; none of anything else."""
    if not isa(value, ArrayAttr):
        return []
    return [one.value.data for one in value if isinstance(one, IntegerAttr)]
