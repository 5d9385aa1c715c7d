"""Kernels that read, write or go along an axis in an order of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.backends.cpu.kernels.indexing.boxes import BoxesSpec, build_boxes
from glow.backends.cpu.kernels.indexing.compact import CompactSpec, build_compact
from glow.backends.cpu.kernels.indexing.cumulative import (
    CumulativeSpec,
    build_cumulative,
)
from glow.backends.cpu.kernels.indexing.scatter import (
    GatherNDSpec,
    Positions,
    ScatterSpec,
    build_gather_nd,
    build_scatter,
)
from glow.backends.cpu.kernels.indexing.top_k import (
    MOST_ELEMENTS,
    TopKSpec,
    build_top_k,
)
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import (
    invoke,
    is_unsigned,
    reporting,
    stored_element,
)
from glow.backends.cpu.selection.plain import Step, region
from glow.dialects import glow, instr
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, node_name, shape_of
from glow.lowering.target.target import Target

SCATTER_STEPS: Mapping[str, Step] = {
    "add": lambda b, x: b.add(*x),
    "mul": lambda b, x: b.mul(*x),
    "max": lambda b, x: b.maximum(*x),
    "min": lambda b, x: b.minimum(*x),
}
"""What a scatter does with the element that is there and an update."""


def _positions(
    sizes: Sequence[int],
    indices: SSAValue,
    coordinates: Sequence[int],
    walked: Sequence[int],
) -> Positions:
    """Positions whose runs are the last axes that are walked whole, in order."""
    *index_shape, count = shape_of(indices)
    end, last = len(sizes), len(walked)
    while (
        end > 0
        and last > len(index_shape)
        and coordinates[end - 1] == last - 1
        and sizes[end - 1] == walked[last - 1]
    ):
        end, last = end - 1, last - 1
    return Positions(
        tuple(sizes[:end]),
        prod(sizes[end:]),
        tuple(coordinates[:end]),
        tuple(walked[:last]),
        len(index_shape),
        count,
        stored_element(indices),
        is_unsigned(indices),
    )


def _gather_nd(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    source, indices = op.ins
    batch = op.attributes_view().int("batch_dims")
    sizes, (*index_shape, count) = shape_of(source), shape_of(indices)
    left = len(sizes) - batch - count
    coordinates = [
        *range(batch),
        *(-1 - number for number in range(count)),
        *(len(index_shape) + number for number in range(left)),
    ]
    walked = shape_of(op.outs[0])
    positions = _positions(sizes, indices, coordinates, walked)
    spec = GatherNDSpec(positions, stored_element(source))
    operands = [op.outs[0], source, indices]
    return reporting("gather_nd", spec, build_gather_nd, operands)


def _scatter(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    data, indices, updates = op.ins
    attributes = op.attributes_view()
    coordinates = attributes.ints("coordinates")
    step = SCATTER_STEPS.get(attributes.string("reduction"))
    spec = ScatterSpec(
        _positions(shape_of(data), indices, coordinates, shape_of(updates)),
        stored_element(data),
        None if step is None else region(element_of(data), 2, step),
        in_place=op.outs[0] is data,
    )
    operands = [op.outs[0], data, indices, updates]
    return reporting("scatter", spec, build_scatter, operands)


CUMULATIVE_STEPS: Mapping[str, tuple[Step, float]] = {
    "sum": (lambda b, x: b.add(*x), 0.0),
    "prod": (lambda b, x: b.mul(*x), 1.0),
}
"""Kind to what it does with the result so far and an element, and to where it starts."""


def _cumulative(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), attributes = op.ins, op.attributes_view()
    shape, axis = shape_of(source), attributes.int("axis")
    step, initial = CUMULATIVE_STEPS[attributes.string("kind")]
    spec = CumulativeSpec(
        prod(shape[:axis]),
        shape[axis],
        prod(shape[axis + 1 :]),
        region(element_of(source), 2, step),
        initial,
        attributes.has("exclusive"),
        attributes.has("reverse"),
    )
    return invoke("cumulative", spec, build_cumulative, [op.outs[0], source])


def _top_k(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), attributes = op.ins, op.attributes_view()
    *outer, extent = shape_of(source)
    if extent > MOST_ELEMENTS:
        raise GlowError(
            f"the cpu backend sorts at most {MOST_ELEMENTS} elements, not {extent}",
            node=node_name(op),
        )
    spec = TopKSpec(
        prod(outer),
        extent,
        attributes.int("k"),
        stored_element(source),
        is_unsigned(source),
        attributes.has("smallest"),
    )
    return invoke("top_k", spec, build_top_k, [*op.outs, source], writes=2)


def _compact(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (flags,) = op.ins
    spec = CompactSpec(prod(shape_of(flags)))
    return invoke("compact", spec, build_compact, [*op.outs, flags], writes=2)


def _select_boxes(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    boxes, order, valid, threshold = op.ins
    attributes = op.attributes_view()
    images, classes, candidates = shape_of(order)
    spec = BoxesSpec(
        images,
        shape_of(boxes)[1],
        classes,
        candidates,
        attributes.int("limit"),
        attributes.has("center_point_box"),
    )
    operands = [*op.outs, *op.inouts, boxes, order, valid, threshold]
    return invoke("select_boxes", spec, build_boxes, operands, writes=3)


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    glow.GatherNDOp: _gather_nd,
    glow.ScatterOp: _scatter,
    glow.CumulativeOp: _cumulative,
    glow.TopKOp: _top_k,
    glow.CompactOp: _compact,
    glow.SelectBoxesOp: _select_boxes,
}
