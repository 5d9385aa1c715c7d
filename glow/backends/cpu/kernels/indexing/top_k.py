"""The k largest or smallest elements of rows, sorted, and where they are.

An element's key is an unsigned integer of its width that is the smaller the earlier the
element comes: its bits in the order of the numbers, all of them inverted for the largest. NaN
is above all numbers, both zeros are one, and equal keys keep the order of their places.

A few of many elements are kept in a heap whose root is the last of them, so that most elements
cost one comparison. A whole row is sorted by the digits of its keys, the least significant one
first (radix sort): as many passes over the row as a key has bytes, whatever the elements are.

Both work in the memory of the results. Places are i32 there, a pair of which holds one of the
results' i64: the sort has two arrays of them, the second of which becomes the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Condition, Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

DIGIT_BITS = 8
MOST_ELEMENTS = 2**31 - 1
"""Of a row, whose places are i32."""

INFINITIES: dict[type[Attribute], int] = {
    Float16Type: 0x7C00,
    BFloat16Type: 0x7F80,
    Float32Type: 0x7F800000,
}
"""The bits of infinity; those of f64 are `_DOUBLE`."""
_DOUBLE = 0x7FF0000000000000


@dataclass(frozen=True)
class TopKSpec:
    """values, places [rows, k] of data [rows, extent]; k is few of extent, or all.

    Arguments of the kernel: values and data as integers, places as pairs of i32.
    """

    rows: int
    extent: int
    k: int
    element: Attribute
    unsigned: bool = False
    smallest: bool = False

    @property
    def bits(self) -> int:
        """The width of an element."""
        return types.bit_width(self.element)


@dataclass(frozen=True)
class Entry:
    """An element of the heap."""

    key: SSAValue
    place: SSAValue


def prefers_heap(extent: int, k: int, bits: int) -> bool:
    """Whether a heap of k elements takes fewer steps than to sort the whole row.

    Of random elements, `k log(extent / k)` enter the heap after the first k.
    """
    if k in (0, extent):
        return False
    entering = k * (2 + log(extent / k))
    heap = extent + 6 * entering * k.bit_length()
    return heap < bits // DIGIT_BITS * (2**DIGIT_BITS + 3 * extent)


def build_top_k(spec: TopKSpec, target: Target, name: str = "top_k") -> Kernel:
    """The kernel f(values, places, data, lo, hi)."""
    builder = LoopBuilder(target)
    word = IntegerType(spec.bits)
    buffers = [
        types.memref_type((spec.rows, spec.k), word),
        types.memref_type((spec.rows, 2 * spec.k), i32),
        types.memref_type((spec.rows, spec.extent), word),
    ]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        make = _Sort if spec.k == spec.extent else _Heap
        row = make(builder, spec, memrefs)
        builder.loop(low, high, 1, row.compute)

    return Kernel(builder.function(name, buffers, body), spec.rows)


class _Rows:
    """What both ways have in common."""

    def __init__(
        self, builder: LoopBuilder, spec: TopKSpec, memrefs: Sequence[SSAValue]
    ) -> None:
        self.builder, self.spec = builder, spec
        self.values, self.places, self.data = memrefs

    def key(self, row: Index, place: Index) -> SSAValue:
        """The key of an element."""
        return self.key_of(self.builder.load(self.data, row, place))

    def key_of(self, bits: SSAValue) -> SSAValue:
        """The key of an element, or of each in a vector, of which these are the bits."""
        spec = self.spec
        key = bits if spec.unsigned else self._ordered(bits)
        return key if spec.smallest else self._inverted(key)

    def _inverted(self, bits: SSAValue) -> SSAValue:
        return self.builder.binary_integer(
            arith.XOrIOp, bits, self.builder.like(-1, bits)
        )

    def _ordered(self, bits: SSAValue) -> SSAValue:
        """Bits whose unsigned order is that of the signed numbers."""
        b = self.builder
        sign = b.like(-(2 ** (self.spec.bits - 1)), bits)
        flipped = b.binary_integer(arith.XOrIOp, bits, sign)
        if types.is_integer(self.spec.element):
            return flipped
        infinity = INFINITIES.get(type(self.spec.element), _DOUBLE)
        size = b.binary_integer(arith.AndIOp, bits, self._inverted(sign))
        negative = b.cmpi("slt", bits, b.like(0, bits))
        number = b.select(negative, self._inverted(bits), flipped)
        number = b.select(b.cmpi("eq", size, b.like(0, size)), sign, number)
        is_nan = b.cmpi("ugt", size, b.like(infinity, size))
        return b.select(is_nan, b.like(-1, number), number)

    def as_index(self, place: SSAValue) -> SSAValue:
        """A number that is not negative as an index."""
        b = self.builder
        if types.bit_width(place.type) < types.bit_width(i64):
            place = b.cast(arith.ExtUIOp, place, i64)
        return b.value(arith.IndexCastOp, (place,), types.INDEX)

    def as_place(self, index: Index) -> SSAValue:
        """An index as an i32."""
        b = self.builder
        return b.value(arith.IndexCastOp, (b.index(index),), i32)

    def finish(self, row: Index, k: Index, place: SSAValue) -> None:
        """Store result number k of a row."""
        b = self.builder
        value = b.load(self.data, row, self.as_index(place))
        b.store(value, self.values, row, k)
        first = b.mul(k, 2)
        b.store(place, self.places, row, first)
        b.store(b.constant(0, i32), self.places, row, b.add(first, 1))


class _Sort(_Rows):
    """Rows that are sorted whole."""

    def __init__(
        self, builder: LoopBuilder, spec: TopKSpec, memrefs: Sequence[SSAValue]
    ) -> None:
        super().__init__(builder, spec, memrefs)
        self.counts = builder.alloca(types.memref_type((1 << DIGIT_BITS,), i32))

    def compute(self, row: Index) -> None:
        """Sort the places of a row, and store the elements there."""
        b, extent = self.builder, self.spec.extent
        passes = self.spec.bits // DIGIT_BITS
        source: int | None = None
        for digit in range(passes):
            # The last pass writes the second array, which no result overtakes.
            target = extent if (passes - 1 - digit) % 2 == 0 else 0
            self._sort_by(row, digit, source, target)
            source = target
        b.loop(
            0,
            extent,
            1,
            lambda k: self.finish(row, k, b.load(self.places, row, b.add(k, extent))),
        )

    def _sort_by(self, row: Index, digit: int, source: int | None, target: int) -> None:
        """One stable pass from an array of places (None: all in order) to another."""
        b, extent, one = self.builder, self.spec.extent, self.builder.constant(1, i32)
        size, zero = 1 << DIGIT_BITS, self.builder.constant(0, i32)

        b.loop(0, size, 1, lambda number: b.store(zero, self.counts, number))

        def count(k: Index) -> None:
            # The order does not matter for counting.
            number = self._digit(row, k, digit)
            found = b.load(self.counts, number)
            b.store(b.binary_integer(arith.AddiOp, found, one), self.counts, number)

        def start(number: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            found = b.load(self.counts, number)
            b.store(before[0], self.counts, number)
            return [b.binary_integer(arith.AddiOp, before[0], found)]

        def move(k: Index) -> None:
            place = (
                self.as_place(k)
                if source is None
                else b.load(self.places, row, b.add(k, source))
            )
            number = self._digit(row, self.as_index(place), digit)
            found = b.load(self.counts, number)
            b.store(b.binary_integer(arith.AddiOp, found, one), self.counts, number)
            b.store(place, self.places, row, b.add(self.as_index(found), target))

        b.loop(0, extent, 1, count)
        b.carry(0, size, 1, [zero], start)
        b.loop(0, extent, 1, move)

    def _digit(self, row: Index, place: Index, digit: int) -> Index:
        b, key = self.builder, self.key(row, place)
        if digit:
            shift = b.like(digit * DIGIT_BITS, key)
            key = b.binary_integer(arith.ShRUIOp, key, shift)
        if self.spec.bits > DIGIT_BITS:
            mask = b.like((1 << DIGIT_BITS) - 1, key)
            key = b.binary_integer(arith.AndIOp, key, mask)
        return self.as_index(key)


class _Heap(_Rows):
    """Rows of which few elements are kept: keys among the values, and their places."""

    def compute(self, row: Index) -> None:
        """Keep the first elements of the order, then sort those."""
        b, spec = self.builder, self.spec

        def fill(k: Index) -> None:
            self._put(row, k, Entry(self.key(row, k), self.as_place(k)))

        b.loop(0, spec.k, 1, fill)
        b.loop(
            0, spec.k // 2, 1, lambda n: self._settle(row, b.sub(spec.k // 2 - 1, n))
        )

        self._visit_rest(row)

        def take_last(n: Index) -> None:
            end = b.sub(spec.k - 1, n)
            root, moved = self._at(row, 0), self._at(row, end)
            self._put(row, end, root)
            self._sink(row, 0, moved, end)

        b.loop(0, spec.k - 1, 1, take_last)

        def finish(n: Index) -> None:
            # From the end on, where pairs do not overtake the places before them.
            k = b.sub(spec.k - 1, n)
            self.finish(row, k, b.load(self.places, row, k))

        b.loop(0, spec.k, 1, finish)

    def _visit_rest(self, row: Index) -> None:
        """Let the elements behind the first k into the heap: most registers have none."""
        b, spec = self.builder, self.spec
        lanes = b.target.lanes(spec.bits)
        whole = spec.extent - (spec.extent - spec.k) % lanes

        def visit(place: Index) -> None:
            key = self.key(row, place)
            # Of equal keys the place that is there comes before this one.
            b.if_(
                b.cmpi("ult", key, b.load(self.values, row, 0)),
                lambda: self._sink(row, 0, Entry(key, self.as_place(place)), spec.k),
            )

        def visit_register(first: Index) -> None:
            keys = self.key_of(b.vector_load(lanes, self.data, row, first))
            root = b.broadcast(b.load(self.values, row, 0), (lanes,))
            b.if_(
                b.reduction("or", b.cmpi("ult", keys, root)),
                lambda: b.loop(first, b.add(first, lanes), 1, visit),
            )

        b.loop(spec.k, whole, lanes, visit_register)
        b.loop(whole, spec.extent, 1, visit)

    def _settle(self, row: Index, position: Index) -> None:
        self._sink(row, position, self._at(row, position), self.spec.k)

    def _at(self, row: Index, position: Index) -> Entry:
        b = self.builder
        return Entry(
            b.load(self.values, row, position), b.load(self.places, row, position)
        )

    def _put(self, row: Index, position: Index, entry: Entry) -> None:
        self.builder.store(entry.key, self.values, row, position)
        self.builder.store(entry.place, self.places, row, position)

    def _comes_after(self, a: Entry, other: Entry) -> SSAValue:
        b = self.builder
        later = b.cmpi("sgt", a.place, other.place)
        tie = b.value(arith.AndIOp, (b.cmpi("eq", a.key, other.key), later), later.type)
        after = b.cmpi("ugt", a.key, other.key)
        return b.value(arith.OrIOp, (after, tie), after.type)

    def _sink(self, row: Index, position: Index, entry: Entry, size: Index) -> None:
        """Put an entry at a free position, or below it where others come after it."""
        b, last = self.builder, self.spec.k - 1

        def level(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (at,) = carried
            left = b.add(b.mul(at, 2), 1)
            right = b.add(left, 1)
            pair = [self._at(row, b.minimum(child, last)) for child in (left, right)]
            second = b.both(
                b.compare("slt", right, size), self._comes_after(pair[1], pair[0])
            )
            child = b.select_index(second, right, left)
            found = self._chosen(second, pair[1], pair[0])
            sinks = b.both(
                b.compare("slt", left, size), self._comes_after(found, entry)
            )
            b.if_(sinks, lambda: self._put(row, at, found))
            return [b.index(b.select_index(sinks, child, at))]

        levels = max(1, (self.spec.k - 1).bit_length())
        (at,) = b.carry(0, levels, 1, [b.index(position)], level)
        self._put(row, at, entry)

    def _chosen(self, condition: Condition, a: Entry, other: Entry) -> Entry:
        b = self.builder
        if isinstance(condition, bool):
            return a if condition else other
        return Entry(
            b.select(condition, a.key, other.key),
            b.select(condition, a.place, other.place),
        )
