"""How a kernel was configured: chosen once, where weights are packed, and kept in the text.

    %y = cpu.matmul %x, %w, %b config #cpu.matmul_config<rows = 8, blocks = 3>
        panels #cpu.panels<blocks = 3, lanes = 16> : tensor<128x768xf32>

The kernel's builder, the reference and the log of kernels read it. Without one the kernel's
own choice for the target holds, as in programs written by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer


def _print_fields(printer: Printer, fields: dict[str, IntAttr]) -> None:
    with printer.in_angle_brackets():
        printer.print_string(", ".join(f"{k} = {v.data}" for k, v in fields.items()))


def _parse_fields(parser: AttrParser, names: Sequence[str]) -> list[Attribute]:
    """`<name = 1, ...>` with positive numbers, in the order of the names."""
    fields: list[Attribute] = []
    with parser.in_angle_brackets():
        for number, name in enumerate(names):
            if number:
                parser.parse_punctuation(",")
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            start = parser.pos
            value = parser.parse_integer(allow_boolean=False)
            if value < 1:
                parser.raise_error(f"{name} must be positive, not {value}", start)
            fields.append(IntAttr(value))
    return fields


@irdl_attr_definition
class MatmulConfigAttr(ParametrizedAttribute):
    """The register tile of a product: rows times blocks of one register of columns each."""

    name = "cpu.matmul_config"
    rows: IntAttr = param_def()
    blocks: IntAttr = param_def()

    def print_parameters(self, printer: Printer) -> None:
        """Print `<rows = 8, blocks = 3>`."""
        _print_fields(printer, {"rows": self.rows, "blocks": self.blocks})

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<rows = 8, blocks = 3>`."""
        return _parse_fields(parser, ("rows", "blocks"))


@irdl_attr_definition
class PanelsAttr(ParametrizedAttribute):
    """The order of packed weights: panels of so many registers of columns, each front to back."""

    name = "cpu.panels"
    blocks: IntAttr = param_def()
    lanes: IntAttr = param_def()

    def print_parameters(self, printer: Printer) -> None:
        """Print `<blocks = 3, lanes = 16>`."""
        _print_fields(printer, {"blocks": self.blocks, "lanes": self.lanes})

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<blocks = 3, lanes = 16>`."""
        return _parse_fields(parser, ("blocks", "lanes"))
