"""How a kernel's work is cut into slices that threads can take.

The space is (outer coordinates) x (lines of a plane). A slice is a chunk of lines at one outer
position, as long as enough slices remain to balance a handful of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.window import ENOUGH_SLICES

LineBody: TypeAlias = Callable[[Sequence[Index], Index], None]


@dataclass(frozen=True)
class SliceSpace:
    """A parallel space; `line_axis` is the place of the lines among the outer axes."""

    outer: tuple[int, ...]
    lines: int
    line_axis: int

    @property
    def lines_per_slice(self) -> int:
        """The lines of one slice."""
        return max(1, self.lines * prod(self.outer) // ENOUGH_SLICES)

    @property
    def chunks(self) -> int:
        """The slices per outer position."""
        return -(-self.lines // self.lines_per_slice)

    @property
    def size(self) -> int:
        """The number of slices."""
        return self.chunks * prod(self.outer)

    def visit(self, b: LoopBuilder, low: Index, high: Index, body: LineBody) -> None:
        """Runs the body on (outer coordinates, line) of the slices [low, high)."""
        axis, count = self.line_axis, self.lines_per_slice
        extents = [*self.outer[:axis], self.chunks, *self.outer[axis:]]

        def one_slice(coordinates: list[Index]) -> None:
            chunk = coordinates.pop(axis)
            first = b.mul(chunk, count)
            last = b.add(first, count)
            if self.lines % count:
                last = b.minimum(last, self.lines)
            if count == 1:
                body(coordinates, chunk)
            else:
                b.loop(first, last, 1, lambda line: body(coordinates, line))

        b.space(low, high, extents, one_slice)
