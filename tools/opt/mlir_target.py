"""Prints a module as MLIR text, with large constants elided on request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    ModuleOp,
)
from xdsl.ir import Attribute, TypedAttribute
from xdsl.syntax_printer import SyntaxPrinter
from xdsl.targets.mlir import MLIRTarget

from glow.dialects.locations import node_name
from glow.dialects.printer import TextPrinter

ELIDED = "dense_resource<__elided__> : "
"""How mlir-opt spells an elided constant."""


def element_count(attribute: Attribute) -> int:
    """The number of elements of a dense attribute, 0 for any other."""
    match attribute:
        case DenseIntOrFPElementsAttr():
            return len(attribute)
        case DenseResourceAttr():
            return attribute.type.element_count()
        case _:
            return 0


def name_by_locations(module: ModuleOp) -> None:
    """Name the results of operations after the network's nodes that their locations name."""
    for op in module.walk():
        name = node_name(op)
        if name is None:
            continue
        spelled = re.sub(r"[^\w$.-]|^(?=\d)", "_", name, flags=re.ASCII)
        for result in op.results:
            result.name_hint = spelled


class ElidingPrinter(TextPrinter):
    """A printer that leaves out dense constants of more than `limit` elements."""

    limit: int | None = None

    def print_attribute(self, attribute: Attribute) -> None:
        if self.limit is None or element_count(attribute) <= self.limit:
            return super().print_attribute(attribute)
        assert isinstance(attribute, TypedAttribute)
        self.print_string(ELIDED)
        return super().print_attribute(attribute.get_type())


class ElidingSyntaxPrinter(ElidingPrinter, SyntaxPrinter):
    """The same with colours."""


@dataclass(frozen=True)
class ElidingMLIRTarget(MLIRTarget):
    """xDSL's `mlir` target with a limit on the size of printed constants."""

    elide_if_larger: int | None = None

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        printer_class = (
            ElidingSyntaxPrinter if self.syntax_highlight else ElidingPrinter
        )
        printer = printer_class(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.limit = self.elide_if_larger
        printer.print_op(module)
        if self.elide_if_larger is None:
            ctx.get_dialect("builtin")  # Is loaded then, whose resources may be named.
            printer.print_metadata(ctx.loaded_dialects)
        output.write("\n")
