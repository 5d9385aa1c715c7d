"""How a kernel's work is cut into items that threads can take.

The space is (outer coordinates) x (lines of a plane). A work item is a chunk of lines at one outer
position, as long as enough work items remain to balance a handful of threads. Lines are cut into a
power of two of equal chunks: kernels that cut the same plane cut it at the same lines, whatever
their channels are. A thread then finds what it wrote in its own cache, which another core reads
several times slower. Kernels on matrices are cut by rows for the same reason, those of products
where their weights are not much larger than the rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import chunks_of
from glow.lowering.target.core import Core

FEW_WORK_ITEMS, MANY_WORK_ITEMS = 8, 16
"""Fewer work items are too few for a handful of threads; from many on it does not matter whether
threads can share them evenly."""

LineBody: TypeAlias = Callable[[Sequence[Index], Index], None]
ChunkBody: TypeAlias = Callable[[Sequence[Index], Index, Index], None]


@dataclass(frozen=True)
class WorkItems:
    """A parallel space; `line_axis` is the place of the lines among the outer axes."""

    outer: tuple[int, ...]
    lines: int
    line_axis: int

    @property
    def chunks(self) -> int:
        """The work items per outer position."""
        return chunks_of(self.lines, prod(self.outer))

    @property
    def size(self) -> int:
        """The number of work items."""
        return self.chunks * prod(self.outer)

    def chunk_size(self, b: LoopBuilder, first: Index, last: Index) -> Index:
        """The number of lines of a chunk, known if all have the same."""
        if self.lines % self.chunks == 0:
            return self.lines // self.chunks
        return b.sub(last, first)

    def visit(self, b: LoopBuilder, low: Index, high: Index, body: LineBody) -> None:
        """Runs the body on (outer coordinates, line) of the work items [low, high)."""

        def each_line(outer: Sequence[Index], first: Index, last: Index) -> None:
            self.visit_lines(b, first, last, lambda line: body(outer, line))

        self.visit_chunks(b, low, high, each_line)

    def visit_lines(
        self, b: LoopBuilder, first: Index, last: Index, body: Callable[[Index], None]
    ) -> None:
        """Runs the body on the lines of one chunk."""
        if self.lines == self.chunks:
            body(first)
        else:
            b.loop(first, last, 1, body)

    def visit_chunks(
        self, b: LoopBuilder, low: Index, high: Index, body: ChunkBody
    ) -> None:
        """Runs the body on (outer coordinates, first line, end) of the work items [low, high)."""
        axis = self.line_axis
        extents = [*self.outer[:axis], self.chunks, *self.outer[axis:]]

        def one_item(coordinates: list[Index]) -> None:
            first, last = b.share(self.lines, coordinates.pop(axis), self.chunks)
            body(coordinates, first, last)

        b.space(low, high, extents, one_item)


def prefers_rows(tiles: int, weights: int, activations: int, core: Core) -> bool:
    """Whether a product is cut by tiles of rows rather than by columns.

    Then a thread reads the rows that it wrote, as kernels around it keep to rows too, but all
    of the weights. Cut by columns, it reads its share of the weights and what the others wrote,
    which takes longer than weights, as these are fetched ahead. All threads read at once.
    """
    even = tiles % 2 == 0 and tiles >= FEW_WORK_ITEMS
    memory = core.contended_memory_bytes_per_cycle
    rate = memory / core.cross_core_bytes_per_cycle
    is_cheap = weights <= max(1, rate) * activations
    return (even or tiles >= MANY_WORK_ITEMS) and is_cheap
