"""Attention of f32 or 16-bit floats, with factors wherever transpositions left them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.kernels.attention.spec import AttentionSpec as Shapes
from glow.backends.cpu.program.program import Invocation
from glow.backends.cpu.selection.matmul import attention_spec
from glow.backends.cuda.attention_tiling import choose_tile
from glow.backends.cuda.kernels.attention import build_attention
from glow.backends.cuda.kernels.attention_spec import (
    LARGEST_HEAD,
    AttentionSpec,
    AttentionTile,
)
from glow.backends.cuda.kernels.gpu_builder import MOST_BLOCKS
from glow.backends.cuda.kernels.strided import StridedFactor, StridedResult
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import exchanged, launch
from glow.dialects import arith, instr
from glow.dialects.half import is_half
from glow.dialects.node import element_of
from glow.lowering.loop_builder.scalar_region import (
    RegionBuilder,
    RegionEpilogue,
    ScalarRegion,
)

SMALLEST = AttentionTile(32, 32)
"""Before one is chosen."""


def refusal(op: instr.InstructionOp, shapes: Shapes) -> str | None:
    """Why there is no kernel, if so."""
    elements = {element_of(value) for value in (*op.outs, *op.ins)}
    (element, *others) = elements
    if others or not (element == f32 or is_half(element)):
        return f"it computes in {' and '.join(map(str, elements))}"
    head = max(shapes.depth, shapes.columns)
    if head > LARGEST_HEAD:
        return f"a head has {head} numbers, and kernels have at most {LARGEST_HEAD}"
    if (heads := prod(shapes.batch)) > MOST_BLOCKS:
        return f"it has {heads} heads, and grids have at most {MOST_BLOCKS}"
    if shapes.value_strides.column != 1:
        return "the columns of its values are apart"
    for strides in (shapes.query_strides, shapes.key_strides):
        if 1 not in (strides.row, strides.column):
            return "its queries or keys are apart along both axes"
    return None


def rounding(element: Attribute) -> RegionEpilogue:
    """Results of f32 as 16-bit floats."""

    def rounded(b: RegionBuilder, x: SSAValue) -> SSAValue:
        return b.cast(arith.TruncFOp, x, element)

    return RegionEpilogue(ScalarRegion.trace(rounded, [f32]))


def _attention(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    shapes = attention_spec(op.attributes_view(), op.outs[0], op.ins)
    reason = refusal(op, shapes)
    if reason is not None:
        return reason
    batch, rows, keys = shapes.batch, shapes.rows, shapes.keys
    depth, columns, masks = shapes.depth, shapes.columns, shapes.mask_strides
    element: Attribute = element_of(op.outs[0])
    spec = AttentionSpec(
        StridedFactor(batch, rows, depth, shapes.query_strides, element),
        StridedFactor(batch, keys, depth, exchanged(shapes.key_strides), element),
        StridedFactor(batch, columns, keys, exchanged(shapes.value_strides), element),
        StridedResult(batch, rows, columns, shapes.result_strides),
        SMALLEST,
        scale=shapes.scale,
        mask=None
        if masks is None
        else StridedFactor(batch, rows, keys, masks, element),
        zero_nans=shapes.zero_nans,
        precision=choice.precision if element == f32 else "exact",
        epilogue=None if element == f32 else rounding(element),
    )
    spec = replace(spec, tile=choose_tile(spec, choice.machine))
    return launch("attention", spec, build_attention, [op.outs[0], *op.ins])


ROWS: Mapping[type[Operation], Row] = {cpu.AttentionOp: _attention}
