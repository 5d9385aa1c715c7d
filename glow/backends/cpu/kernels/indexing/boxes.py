"""Non-maximum suppression: of boxes in the order of their scores, those that none before them
covers.

A work item is a class of an image. A candidate is compared with all boxes that are selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i1, i8, i64
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class BoxesSpec:
    """selected [images, classes, limit], count [images, classes].

    Arguments of the kernel: selected, count, boxes [images, boxes, 4], order and valid
    [images, classes, candidates], threshold.
    """

    images: int
    boxes: int
    classes: int
    candidates: int
    limit: int
    center_point_box: bool = False


@dataclass(frozen=True)
class Box:
    """The corners of a box, and its area."""

    low: tuple[SSAValue, SSAValue]
    high: tuple[SSAValue, SSAValue]
    area: SSAValue


def build_boxes(spec: BoxesSpec, target: Target, name: str = "boxes") -> Kernel:
    """The kernel f(selected, count, boxes, order, valid, threshold, lo, hi)."""
    builder, count = LoopBuilder(target), spec.images * spec.classes
    buffers = [
        types.memref_type((count, spec.limit), i64),
        types.memref_type((count,), i64),
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
        self.selected, self.count, self.boxes, self.order, self.valid, limit = memrefs
        self.threshold = builder.load(limit, 0)

    def select(self, row: Index) -> None:
        """Select the boxes of one class."""
        b, spec = self.builder, self.spec
        image = b.floordiv(row, spec.classes)
        zero = b.constant(0, i64)
        b.loop(0, spec.limit, 1, lambda k: b.store(zero, self.selected, row, k))

        def visit(k: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number = b.value(
                arith.IndexCastOp, (b.load(self.order, row, k),), types.INDEX
            )
            place = b.clamp(number, 0, spec.boxes - 1)
            box = self._box(image, place)
            flag = b.load(self.valid, row, k)
            is_open = b.both(
                b.cmpi("ne", flag, b.like(0, flag)),
                b.compare("slt", found[0], spec.limit),
            )
            # Nothing is compared with a candidate that cannot be selected.
            end = b.select_index(is_open, found[0], 0)
            (covered,) = b.carry(
                0,
                end,
                1,
                [b.constant(0, i1)],
                lambda s, so_far: [
                    self._or(so_far[0], self._covers(row, image, s, box))
                ],
            )
            free = b.value(arith.XOrIOp, (covered, b.constant(1, i1)), i1)
            taken = b.both(is_open, free)
            stored = b.value(arith.IndexCastOp, (b.index(place),), i64)
            b.if_(taken, lambda: b.store(stored, self.selected, row, found[0]))
            return [b.index(b.select_index(taken, b.add(found[0], 1), found[0]))]

        (total,) = b.carry(0, spec.candidates, 1, [b.index(0)], visit)
        b.store(b.value(arith.IndexCastOp, (total,), i64), self.count, row)

    def _or(self, a: SSAValue, other: SSAValue) -> SSAValue:
        return self.builder.value(arith.OrIOp, (a, other), i1)

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

    def _covers(self, row: Index, image: Index, number: Index, box: Box) -> SSAValue:
        """Whether a selected box overlaps with another by more than the threshold."""
        b = self.builder
        place = b.value(
            arith.IndexCastOp, (b.load(self.selected, row, number),), types.INDEX
        )
        other, zero = self._box(image, place), b.constant(0.0, f32)
        sides = [
            b.subf(
                b.binary(arith.MinimumfOp, box.high[axis], other.high[axis]),
                b.binary(arith.MaximumfOp, box.low[axis], other.low[axis]),
            )
            for axis in range(2)
        ]
        common = b.mulf(*sides)
        union = b.subf(b.addf(box.area, other.area), common)
        result = b.cmpf("ogt", b.divf(common, union), self.threshold)
        for size in (*sides, box.area, other.area, union):
            result = b.value(arith.AndIOp, (result, b.cmpf("ogt", size, zero)), i1)
        return result
