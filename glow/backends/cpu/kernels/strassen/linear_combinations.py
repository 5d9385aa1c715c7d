"""The sums of a matrix's quadrants that Strassen's product multiplies, and the scales of its rows.

Seven sums for one level; for two levels those of each sum, written seven at a time: no more
streams than the nearest cache has ways.

A row is read twice: first for its largest element, by the bits of which it is then divided. Its
scale is the power of two below, so that no digit changes, rows of any size share sums, and none
of these overflows. An infinity or NaN makes all scales of its sums NaN: then these are for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.strassen.kernel import signed_total
from glow.backends.cpu.reference.strassen import LEFT, PRODUCTS, QUADRANTS, Sum, place
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.magnitudes import (
    EXPONENT_BITS,
    INFINITY,
    larger_magnitude,
    largest_magnitude,
)
from glow.lowering.target.target import Target

_BLOCKS = 2
"""Registers at once: four of each quadrant would leave none for the sums."""
_ITSELF: Sum = ((0, 1),)
_EXPONENTS = (1, 253)
"""The smallest and the largest biased exponent with an inverse that is a normal number."""
_NAN = 0x7FC00000


@dataclass(frozen=True)
class StrassenCombinationsSpec:
    """[7, rows / 2, columns / 2] of a dense [rows, columns], f32, whose columns are even.

    With two levels [49, rows / 4, columns / 4]. Rows are rounded up: the last one counts as often
    as some are missing. Arguments of the kernel: sums, scales [rows], the matrix.
    """

    rows: int
    columns: int
    levels: int = 1

    @property
    def side(self) -> int:
        """The quadrants, or quadrants of these, of each side."""
        return 2**self.levels

    @property
    def quadrant(self) -> tuple[int, int]:
        """The rows and columns of a quadrant."""
        return -(-self.rows // self.side), self.columns // self.side


def build_strassen_combinations(
    spec: StrassenCombinationsSpec, target: Target, name: str = "strassen_combinations"
) -> Kernel:
    """The kernel f(sums, scales, matrix, lo, hi); work items are rows of a quadrant."""
    side, (rows, columns) = spec.side, spec.quadrant
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        builder.loop(low, high, 1, _Sums(builder, spec, buffers).line)

    buffers = [
        types.memref_type((PRODUCTS**spec.levels, rows, columns)),
        types.memref_type((rows, side)),
        types.memref_type((spec.rows, side, columns)),
    ]
    runs = (PRODUCTS**spec.levels, 1, int(spec.rows == rows * side))
    return Kernel(builder.function(name, buffers, body), rows, runs)


class _Sums:
    """What the kernel computes for neighbouring rows, one of each quadrant."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: StrassenCombinationsSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        self.builder, self.spec = builder, spec
        self.sums, self.scales, self.matrix = buffers
        self.side = spec.side
        self.whole = builder.reinterpret(self.matrix, (spec.rows, spec.columns))

    def line(self, row: Index) -> None:
        """Writes the scales and all sums of rows number `row` of the quadrants."""
        builder, levels = self.builder, self.spec.levels
        columns = self.spec.quadrant[1]
        width = min(_BLOCKS * builder.target.lanes(32), columns)
        self.lines = [self._line_of(row, down) for down in range(self.side)]
        factors = self._scale(row)
        for number, outer in enumerate(LEFT if levels > 1 else [_ITSELF]):
            seven = partial(self._seven, factors, width, PRODUCTS * number, outer, row)
            builder.tiles(0, columns, width, seven)

    def _line_of(self, row: Index, down: int) -> Index:
        """The matrix's row that is that row of a quadrant; its last one for those behind it."""
        builder, rows = self.builder, self.spec.rows
        line = builder.add(builder.mul(row, self.side), down)
        return builder.minimum(line, rows - 1) if rows % self.side else line

    def _scale(self, row: Index) -> list[SSAValue]:
        """Stores the scales of rows; what each row is to be multiplied by, [width] times."""
        builder = self.builder
        largest = [self._largest(line) for line in self.lines]
        worst = reduce(partial(larger_magnitude, builder), largest)
        finite = builder.cmpi("slt", worst, builder.constant(INFINITY, i32))
        factors: list[SSAValue] = []
        for down, bits in enumerate(largest):
            scale, inverse = self._powers(bits)
            stored = builder.select(finite, scale, builder.constant(_NAN, i32))
            builder.store(builder.bitcast(stored, f32), self.scales, row, down)
            factors.append(builder.bitcast(inverse, f32))
        return factors

    def _largest(self, line: Index) -> SSAValue:
        def read(position: Index, length: int) -> SSAValue:
            return self.builder.vector_load(length, self.whole, line, position)

        return largest_magnitude(self.builder, self.spec.columns, read)

    def _powers(self, bits: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The bits of the power of two below a number, and of its inverse."""
        builder = self.builder
        low, high = (builder.constant(end, i32) for end in _EXPONENTS)
        shift = builder.constant(EXPONENT_BITS, i32)
        integer = builder.binary_integer
        exponent = integer(arith.ShRUIOp, bits, shift)
        exponent = integer(arith.MinSIOp, integer(arith.MaxSIOp, exponent, low), high)
        both = builder.constant(sum(_EXPONENTS), i32)
        inverse = integer(arith.SubiOp, both, exponent)
        return (
            integer(arith.ShLIOp, exponent, shift),
            integer(arith.ShLIOp, inverse, shift),
        )

    def _seven(
        self,
        factors: Sequence[SSAValue],
        width: int,
        first: int,
        outer: Sum,
        row: Index,
        column: Index,
    ) -> None:
        """Writes seven sums from number `first` on, of the quadrants of a sum."""
        builder = self.builder
        scaled = [builder.broadcast(factor, (width,)) for factor in factors]

        def part(inner: int) -> SSAValue:
            """A quadrant of a sum of quadrants."""
            loaded: dict[int, SSAValue] = {}
            for number, _ in outer:
                down, right = place(QUADRANTS * number + inner, self.spec.levels)
                line = self.lines[down]
                value = builder.vector_load(width, self.matrix, line, right, column)
                loaded[number] = builder.mulf(value, scaled[down])
            return signed_total(builder, loaded, outer)

        parts = [part(inner) for inner in range(QUADRANTS)]
        for number, terms in enumerate(LEFT, first):
            total = signed_total(builder, parts, terms)
            builder.vector_store(total, self.sums, number, row, column)
