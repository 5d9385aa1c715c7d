"""One operation as one line, under the names that its values have in the whole program.

    %y = "glow.relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>

Regions are `{...}` and large constants are left out. It is the generic form, which is there
for operations that do not verify, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from xdsl.ir import Operation, Region

from glow.dialects.errors import one_line
from glow.tools.opt.mlir_target import ElidingPrinter

MOST_ELEMENTS = 16
"""Constants of more are left out."""


class _Nowhere(StringIO):
    """Takes text and forgets it."""

    def write(self, s: str, /) -> int:
        return len(s)


class LinePrinter(ElidingPrinter):
    """Prints single operations under the names that it gave in a program."""

    limit = MOST_ELEMENTS
    skips_regions = False

    def print_regions(self, regions: Sequence[Region]) -> None:
        if not self.skips_regions:
            return super().print_regions(regions)
        if regions:
            self.print_string(f" ({', '.join('{...}' for _ in regions)})")

    @classmethod
    def for_program(cls, root: Operation) -> LinePrinter:
        """A printer that knows the names of all values in `root`."""
        printer = cls(stream=_Nowhere(), print_generic_format=True)
        printer.print_op(root)
        printer.skips_regions = True
        return printer

    def line(self, operation: Operation) -> str:
        """An operation of the program."""
        self.stream = text = StringIO()
        self.print_op(operation)
        return one_line(text.getvalue())


def operation_line(operation: Operation) -> str:
    """The line of an operation, without its location."""
    root = operation
    while (parent := root.parent_op()) is not None:
        root = parent
    return LinePrinter.for_program(root).line(operation)
