"""Non-maximum suppression: of boxes in the order of their scores, those that none before them
covers.

A work item is a class of an image. A candidate is compared with all boxes that are selected, a
register of them at a time, until one covers it. Their corners and areas stand in scratch memory,
a row each. Most boxes are far from each other, so that nothing is divided before a product says
that the quotient may be above the threshold: `common / union > threshold`, rounded, implies
`common >= threshold * union`, rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import f32, i1, i8, i64
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.dialects.glow.indexing import BOX_PARTS, padded_boxes
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

REGISTERS = 8
"""Registers of boxes between two looks at whether one of them covers the candidate."""


@dataclass(frozen=True)
class BoxesSpec:
    """selected [images, classes, limit], count [images, classes].

    Arguments of the kernel: selected, count, scratch (`SelectBoxesOp.scratch_types`), boxes
    [images, boxes, 4], order and valid [images, classes, candidates], threshold.
    """

    images: int
    boxes: int
    classes: int
    candidates: int
    limit: int
    center_point_box: bool = False


@dataclass(frozen=True)
class Box:
    """The corners of a box, and its area: numbers, or vectors of several boxes."""

    low: tuple[SSAValue, SSAValue]
    high: tuple[SSAValue, SSAValue]
    area: SSAValue

    @property
    def parts(self) -> tuple[SSAValue, ...]:
        """What stands in scratch memory, by row."""
        return (*self.low, *self.high, self.area)


@dataclass(frozen=True)
class Shared:
    """What two boxes have in common."""

    sides: tuple[SSAValue, SSAValue]
    area: SSAValue
    union: SSAValue


def build_boxes(spec: BoxesSpec, target: Target, name: str = "boxes") -> Kernel:
    """The kernel f(selected, count, scratch, boxes, order, valid, threshold, lo, hi)."""
    builder, count = LoopBuilder(target), spec.images * spec.classes
    buffers = [
        types.memref_type((count, spec.limit), i64),
        types.memref_type((count,), i64),
        types.memref_type((count, BOX_PARTS, padded_boxes(spec.limit)), f32),
        types.memref_type((spec.images, spec.boxes, 4), f32),
        types.memref_type((count, spec.candidates), i64),
        types.memref_type((count, spec.candidates), i8),
        types.memref_type((1,), f32),
    ]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        builder.loop(low, high, 1, _Selection(builder, spec, memrefs).select)

    return Kernel(builder.function(name, buffers, body), count)


class _Selection:
    def __init__(
        self, builder: LoopBuilder, spec: BoxesSpec, memrefs: Sequence[SSAValue]
    ) -> None:
        self.builder, self.spec = builder, spec
        self.selected, self.count, self.parts = memrefs[:3]
        self.boxes, self.order, self.valid, limit = memrefs[3:]
        self.lanes = builder.target.lanes(types.bit_width(f32))
        self.threshold = builder.broadcast(builder.load(limit, 0), (self.lanes,))

    def select(self, row: Index) -> None:
        """Select the boxes of one class."""
        b, spec = self.builder, self.spec
        image = b.floordiv(row, spec.classes)
        zero = b.constant(0, i64)
        b.loop(0, spec.limit, 1, lambda k: b.store(zero, self.selected, row, k))

        def visit(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (found,) = carried
            number = b.value(
                arith.IndexCastOp, (b.load(self.order, row, k),), types.INDEX
            )
            place = b.clamp(number, 0, spec.boxes - 1)
            box = self._box(image, place)
            flag = b.load(self.valid, row, k)
            is_open = b.both(
                b.cmpi("ne", flag, b.like(0, flag)),
                b.compare("slt", found, spec.limit),
            )
            # Nothing is compared with a candidate that cannot be selected.
            covered = self._is_covered(row, b.select_index(is_open, found, 0), box)
            free = b.value(arith.XOrIOp, (covered, b.constant(1, i1)), i1)
            taken = b.both(is_open, free)

            def take() -> None:
                stored = b.value(arith.IndexCastOp, (b.index(place),), i64)
                b.store(stored, self.selected, row, found)
                self._note(row, found, box)

            b.if_(taken, take)
            return [b.index(b.select_index(taken, b.add(found, 1), found))]

        (total,) = b.carry(0, spec.candidates, 1, [b.index(0)], visit)
        b.store(b.value(arith.IndexCastOp, (total,), i64), self.count, row)

    def _box(self, image: Index, place: Index) -> Box:
        b = self.builder
        first, second, third, fourth = (
            b.load(self.boxes, image, place, k) for k in range(4)
        )
        if self.spec.center_point_box:
            half = b.constant(0.5, f32)
            pairs = ((first, b.mulf(third, half)), (second, b.mulf(fourth, half)))
            low = tuple(b.subf(middle, size) for middle, size in pairs)
            high = tuple(b.addf(middle, size) for middle, size in pairs)
        else:
            corners = ((first, third), (second, fourth))
            low = tuple(b.binary(arith.MinimumfOp, *pair) for pair in corners)
            high = tuple(b.binary(arith.MaximumfOp, *pair) for pair in corners)
        width, height = (b.subf(h, l) for h, l in zip(high, low, strict=True))
        return Box((low[0], low[1]), (high[0], high[1]), b.mulf(width, height))

    def _note(self, row: Index, position: Index, box: Box) -> None:
        """Put a box into scratch memory, behind which the register is empty boxes."""
        b, lanes = self.builder, self.lanes
        nothing = b.broadcast(b.constant(0.0, f32), (lanes,))

        def clear() -> None:
            for part in range(BOX_PARTS):
                b.vector_store(nothing, self.parts, row, part, position)

        b.if_(b.compare("eq", b.remainder(position, lanes), 0), clear)
        for part, value in enumerate(box.parts):
            b.store(value, self.parts, row, part, position)

    def _is_covered(self, row: Index, count: Index, box: Box) -> SSAValue:
        """Whether one of the first boxes in scratch memory covers another box."""
        b, lanes = self.builder, self.lanes
        one = _as_box([b.broadcast(part, (lanes,)) for part in box.parts])

        def look(first: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self._with_register(row, first, one, so_far)

        def visit(first: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            last = b.minimum(b.add(first, lanes * REGISTERS), count)
            end = b.select_index(so_far[0], first, last)
            return b.carry(first, end, lanes, so_far, look)

        nothing = [b.constant(0, i1)]
        (covered,) = b.carry(0, count, lanes * REGISTERS, nothing, visit)
        return covered

    def _with_register(
        self, row: Index, first: Index, one: Box, so_far: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Whether a box is covered so far, or by one of a register of boxes."""
        b, parts = self.builder, range(BOX_PARTS)
        load = partial(b.vector_load, self.lanes, self.parts, row)
        other = _as_box([load(part, first) for part in parts])
        shared = self._shared(one, other)
        may_cover = self._all(
            b.cmpf("oge", shared.area, b.mulf(self.threshold, shared.union)),
            *self._are_positive(*shared.sides),
        )
        end = b.select_index(b.reduction("or", may_cover), 1, 0)

        def divide(_: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            covers = self._all(
                may_cover,
                b.cmpf("ogt", b.divf(shared.area, shared.union), self.threshold),
                *self._are_positive(one.area, other.area, shared.union),
            )
            return [self._or(so_far[0], b.reduction("or", covers))]

        return b.carry(0, end, 1, so_far, divide)

    def _shared(self, one: Box, other: Box) -> Shared:
        b = self.builder
        low = [
            self._chosen("ogt", *pair) for pair in zip(one.low, other.low, strict=True)
        ]
        high = [
            self._chosen("olt", *pair)
            for pair in zip(one.high, other.high, strict=True)
        ]
        width, height = (b.subf(h, l) for h, l in zip(high, low, strict=True))
        area = b.mulf(width, height)
        return Shared((width, height), area, b.subf(b.addf(one.area, other.area), area))

    def _chosen(self, predicate: str, a: SSAValue, other: SSAValue) -> SSAValue:
        """The first where it compares so, or else the second: one instruction on x86.

        With NaN among the corners of a box its area is NaN, and it covers nothing.
        """
        return self.builder.select(self.builder.cmpf(predicate, a, other), a, other)

    def _are_positive(self, *values: SSAValue) -> list[SSAValue]:
        b = self.builder
        return [b.cmpf("ogt", value, b.like(0.0, value)) for value in values]

    def _all(self, *flags: SSAValue) -> SSAValue:
        first, *others = flags
        for flag in others:
            first = self.builder.binary_integer(arith.AndIOp, first, flag)
        return first

    def _or(self, a: SSAValue, other: SSAValue) -> SSAValue:
        return self.builder.value(arith.OrIOp, (a, other), i1)


def _as_box(parts: Sequence[SSAValue]) -> Box:
    return Box((parts[0], parts[1]), (parts[2], parts[3]), parts[4])
