"""Kernels that move elements: copies, transposes, slices, pads, gathers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.kernels.movement.embedding_bags import BagsSpec, build_bags
from glow.backends.cpu.kernels.movement.embedding_lookup import (
    EmbeddingLookupSpec,
    build_embedding_lookup,
)
from glow.backends.cpu.kernels.movement.gather import (
    GatherElementsSpec,
    GatherSpec,
    RepeatSpec,
    build_gather,
    build_gather_elements,
    build_repeat,
    is_whole_table,
)
from glow.backends.cpu.kernels.movement.sample import SampleSpec, build_sample
from glow.backends.cpu.kernels.movement.transpose import (
    CopySpec,
    PadSpec,
    TransposeSpec,
    build_copy,
    build_pad,
    build_transpose,
)
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import (
    are_inside,
    invoke,
    is_unsigned,
    known_numbers,
    reporting,
    stored_element,
    stored_number,
)
from glow.dialects import glow, instr
from glow.dialects.errors import GlowError
from glow.dialects.glow.segments import wrong_lengths
from glow.dialects.node import node_name, shape_of
from glow.lowering.target.target import Target


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The element strides of a dense buffer."""
    strides: list[int] = []
    stride = 1
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride *= extent
    return tuple(strides)


def _copy(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), (out,) = op.ins, op.outs
    size = prod(shape_of(source))
    spec = CopySpec((size,), (1,), (1,), size, size, element=stored_element(source))
    return invoke("copy", spec, build_copy, [out, source])


def _insert(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), (out,) = op.ins, op.inouts
    shape, whole = shape_of(source), shape_of(out)
    strides = row_major(whole)
    offsets = op.attributes_view().ints("offsets")
    spec = CopySpec(
        shape,
        row_major(shape),
        strides,
        prod(shape),
        prod(whole),
        out_offset=_dot(offsets, strides),
        element=stored_element(source),
    )
    return invoke("insert", spec, build_copy, [out, source])


def _dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _slice(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), (out,) = op.ins, op.outs
    whole, shape = shape_of(source), shape_of(out)
    strides, attributes = row_major(whole), op.attributes_view()
    spec = CopySpec(
        shape,
        tuple(
            stride * step
            for stride, step in zip(strides, attributes.ints("steps"), strict=True)
        ),
        row_major(shape),
        prod(whole),
        prod(shape),
        in_offset=_dot(attributes.ints("starts"), strides),
        element=stored_element(source),
    )
    return invoke("slice", spec, build_copy, [out, source])


def _broadcast(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), (out,) = op.ins, op.outs
    own, shape = shape_of(source), shape_of(out)
    strides = [
        0 if extent == 1 else stride
        for extent, stride in zip(own, row_major(own), strict=True)
    ]
    spec = CopySpec(
        shape,
        (*[0] * (len(shape) - len(own)), *strides),
        row_major(shape),
        prod(own),
        prod(shape),
        element=stored_element(source),
    )
    return invoke("broadcast", spec, build_copy, [out, source])


def _transpose(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), (out,) = op.ins, op.outs
    permutation = op.attributes_view().ints("permutation")
    spec = TransposeSpec(shape_of(source), permutation, stored_element(source))
    return invoke("transpose", spec, build_transpose, [out, source])


def _pad(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (source,), (out,) = op.ins, op.outs
    attributes, rank = op.attributes_view(), len(shape_of(source))
    mode = attributes.string("mode")
    if mode != "constant":
        raise GlowError(
            f"the cpu backend pads with constants only, not '{mode}'",
            node=node_name(op),
        )
    pads = attributes.ints("pads")
    spec = PadSpec(
        shape_of(source),
        pads[:rank],
        pads[rank:],
        stored_number(source, attributes.float("value")),
        stored_element(source),
    )
    return invoke("pad", spec, build_pad, [out, source])


def _gather(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    source, indices = op.ins
    shape, axis = shape_of(source), op.attributes_view().int("axis")
    outer, extent, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    repeats = _repeats(indices, extent)
    if inner == 1 and 1 < repeats <= MAX_REPEATS:
        spec = RepeatSpec(outer, extent, repeats, stored_element(source))
        return invoke("repeat", spec, build_repeat, [op.outs[0], source])
    index, inside = stored_element(indices), are_inside(indices, extent)
    spec = GatherSpec(
        outer,
        extent,
        inner,
        prod(shape_of(indices)),
        stored_element(source),
        index,
        is_unsigned(indices),
        reports=not inside and not is_whole_table(index, extent),
        inside=inside,
    )
    operands = [op.outs[0], source, indices]
    return (reporting if spec.reports else invoke)(
        "gather", spec, build_gather, operands
    )


MAX_REPEATS = 8
"""Of an element, in the kernel that shuffles vectors."""


def _repeats(indices: SSAValue, extent: int) -> int:
    """How often indices that are known name each element of an axis, in order; or 0."""
    numbers = known_numbers(indices)
    if numbers is None or extent == 0 or numbers.size % extent:
        return 0
    count = numbers.size // extent
    return count * np.array_equal(numbers.ravel(), np.arange(extent).repeat(count))


def _embedding_lookup(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    table, indices = op.ins
    attributes = op.attributes_view()
    spec = EmbeddingLookupSpec(
        shape_of(table)[0],
        attributes.int("columns"),
        attributes.int("bits"),
        prod(shape_of(indices)),
        stored_element(indices),
        is_unsigned(indices),
        reports=True,
    )
    operands = [op.outs[0], table, indices]
    return reporting("embedding_lookup", spec, build_embedding_lookup, operands)


def _gather_elements(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    source, indices = op.ins
    spec = GatherElementsSpec(
        shape_of(source),
        shape_of(indices),
        op.attributes_view().int("axis"),
        stored_element(source),
        stored_element(indices),
        is_unsigned(indices),
        reports=True,
    )
    operands = [op.outs[0], source, indices]
    return reporting("gather_elements", spec, build_gather_elements, operands)


BAG_REDUCTIONS: Mapping[type[Operation], str] = {
    glow.LengthsSumOp: "sum",
    glow.LengthsMaxOp: "max",
}


def _bags(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    rows, lengths = op.ins
    count, *inner = shape_of(rows)
    spec = BagsSpec(
        count,
        shape_of(lengths)[0],
        prod(inner),
        BAG_REDUCTIONS[instr.NODE_OF[type(op)]],
        stored_element(lengths),
        is_unsigned(lengths),
    )
    operands = [op.outs[0], rows, lengths]
    report = wrong_lengths(count)
    return reporting("bags", spec, build_bags, operands, report)


def _sample(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    source, places, _ = op.ins
    attributes = op.attributes_view()
    axis, shape, table = attributes.int("axis"), shape_of(source), shape_of(places)
    spec = SampleSpec(
        prod(shape[:axis]),
        shape[axis],
        prod(shape[axis + 1 :]),
        *table[-2:],
        shared=len(table) == MATRIX_AXES,
        largest=attributes.has("largest"),
        inside=are_inside(places, shape[axis]),
        element=stored_element(source),
        place=stored_element(places),
    )
    return invoke("sample", spec, build_sample, [op.outs[0], *op.ins])


MATRIX_AXES = 2


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    instr.CopyOp: _copy,
    instr.InsertOp: _insert,
    glow.SliceOp: _slice,
    glow.BroadcastOp: _broadcast,
    glow.TransposeOp: _transpose,
    glow.PadOp: _pad,
    glow.GatherOp: _gather,
    glow.SampleOp: _sample,
    glow.GatherElementsOp: _gather_elements,
    cpu.EmbeddingLookupOp: _embedding_lookup,
    **dict.fromkeys(BAG_REDUCTIONS, _bags),
}
