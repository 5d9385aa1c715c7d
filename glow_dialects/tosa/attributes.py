"""The attributes and the type of TOSA.

#tosa.rounding_mode<SINGLE_ROUND>
!tosa.shape<4>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from glow.dialects.foreign.words import Word


@irdl_attr_definition
class RoundingModeAttr(Word):
    """SINGLE_ROUND, INEXACT_ROUND or DOUBLE_ROUND."""

    name = "tosa.rounding_mode"


@irdl_attr_definition
class NanModeAttr(Word):
    """PROPAGATE or IGNORE."""

    name = "tosa.nan_mode"


@irdl_attr_definition
class ResizeModeAttr(Word):
    """NEAREST_NEIGHBOR or BILINEAR."""

    name = "tosa.resize_mode"


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """So many sizes, which are known when the program is read."""

    name = "tosa.shape"
    rank: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """`<4>`."""
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        """`<4>`."""
        printer.print_string(f"<{self.rank.data}>")


WORDS = {
    "rounding_mode": RoundingModeAttr,
    "nan_mode": NanModeAttr,
    "mode": ResizeModeAttr,
}
"""By the name of the property."""

ATTRIBUTES = (RoundingModeAttr, NanModeAttr, ResizeModeAttr, ShapeType)
