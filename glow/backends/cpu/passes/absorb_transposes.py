"""Reads and writes products of activations through the transpositions around them.

Attention splits heads by transposing what projections give, and joins them again. The
product's kernel takes any strides, so no such copy is needed: operands are read where
they lie, and the result is stored as its only reader wants it.

    %q = glow.transpose %0 permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
    %k = glow.transpose %1 permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
    %s = glow.matmul %q, %k transpose_rhs : tensor<1x12x128x128xf32>
  becomes
    %s = cpu.batch_matmul %0, %1 lhs_axes [0, 2, 1, 3] rhs_axes [0, 2, 3, 1]
        result_axes [0, 1, 2, 3] : tensor<1x12x128x128xf32>

The stored last axis must remain one of the matrix's two, so that reads stay vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    NodeRewrite,
    attributes_of,
    element_type,
    erase,
    erase_dead_nodes,
    rewrite_nodes,
)

Axes = list[int]


def stored_operand(
    value: SSAValue, swapped: bool, *, rows: bool = False
) -> tuple[SSAValue, Axes]:
    """Where an operand's elements lie: a value, and its axis for each of the operand's.

    `rows`: only if the columns remain its last axis.
    """
    source, axes = value, list(range(len(shape_of(value))))
    owner = value.owner
    if isinstance(owner, glow.TransposeOp):
        permutation = list(owner.attributes_view().ints("permutation"))
        if len(axes) - 1 in permutation[-1 if rows else -2 :]:
            source, axes = owner.input, permutation
    if swapped:
        axes[-2:] = axes[:-3:-1]
    return source, axes


def stored_result(op: glow.MatmulOp | glow.AttentionOp) -> tuple[Operation, Axes]:
    """The node whose result the product is stored as, and the product's axes in it."""
    axes = list(range(len(shape_of(op.result))))
    user = op.result.get_user_of_unique_use()
    if isinstance(user, glow.TransposeOp):
        permutation = list(user.attributes_view().ints("permutation"))
        if permutation[-1] == axes[-1]:
            return user, permutation
    return op, axes


def is_plain(op: glow.MatmulOp) -> bool:
    """Whether it is a product of f32 tensors of equal rank, nothing repeated."""
    lhs, rhs = shape_of(op.lhs), shape_of(op.rhs)
    same = len(lhs) == len(rhs) > 2 and lhs[:-2] == rhs[:-2]
    return same and element_type(op.lhs) == f32 and element_type(op.result) == f32


def absorb_into_bytes(op: Operation) -> None:
    """Replace an int8 product, whose axes and epilogue are known, and what is around it.

    A residual lies as the result does: then that stays where it is.
    """
    assert isinstance(op, cpu.Int8BatchMatmulOp)
    attributes = op.attributes_view()
    lhs, rhs = (
        permuted_source(value, attributes.ints(axes))
        for value, axes in ((op.lhs, "lhs_axes"), (op.rhs, "rhs_axes"))
    )
    axes, last = (
        list(attributes.ints("result_axes")),
        op.result.get_user_of_unique_use(),
    )
    has_residual = any(
        shape_of(operand) == shape_of(op.result) for operand in op.epilogue_operands
    )
    if not isinstance(last, glow.TransposeOp) or has_residual:
        last = op
    else:
        permutation = last.attributes_view().ints("permutation")
        moved = [axes[axis] for axis in permutation]
        axes, last = (moved, last) if moved[-1] == axes[-1] else (axes, op)
    if lhs[0] is op.lhs and rhs[0] is op.rhs and last is op:
        return
    builder = NodeBuilder(last)
    result = builder.create(
        cpu.Int8BatchMatmulOp,
        [lhs[0], rhs[0], op.points, *op.epilogue_operands],
        {
            **attributes_of(op),
            "lhs_axes": lhs[1],
            "rhs_axes": rhs[1],
            "result_axes": axes,
        },
        types=[tensor_of(last.results[0])],
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    assert isinstance(result.owner, Operation)
    result.owner.location = op.location
    builder.replace(result)
    if last is not op:
        erase(op)


def permuted_source(value: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, Axes]:
    """As `stored_operand`, of an operand that is read through `axes` already."""
    source, inner = stored_operand(value, swapped=False)
    return source, [inner[axis] for axis in axes]


def absorb(op: Operation) -> None:
    """Replace a product and the transpositions around it."""
    assert isinstance(op, glow.MatmulOp)
    if not is_plain(op) or op.predicate is not None:
        return
    lhs, lhs_axes = stored_operand(op.lhs, op.transpose_lhs is not None)
    rhs, rhs_axes = stored_operand(op.rhs, op.transpose_rhs is not None)
    last, result_axes = stored_result(op)
    if lhs is op.lhs and rhs is op.rhs and last is op:
        return
    builder = NodeBuilder(last)
    result = builder.node(
        cpu.BatchMatmulOp,
        lhs,
        rhs,
        lhs_axes=lhs_axes,
        rhs_axes=rhs_axes,
        result_axes=result_axes,
    )
    assert isinstance(result.owner, Operation)
    result.owner.location = op.location
    builder.replace(result)


def absorb_into_attention(op: Operation) -> None:
    """Replace an attention and the transpositions around it."""
    assert isinstance(op, glow.AttentionOp)
    queries, query_axes = stored_operand(op.queries, False)
    keys, key_axes = stored_operand(op.keys, True)
    values, value_axes = stored_operand(op.values, False, rows=True)
    last, result_axes = stored_result(op)
    builder = NodeBuilder(last)
    operands = [queries, keys, values]
    if op.mask is not None:
        rank, shape = len(query_axes), shape_of(op.mask)
        full = (1,) * (rank - len(shape)) + tuple(shape)
        operands.append(builder.reshape(op.mask, full))
    result = builder.node(
        cpu.AttentionOp,
        *operands,
        query_axes=query_axes,
        key_axes=key_axes,
        value_axes=value_axes,
        result_axes=result_axes,
        scale=op.attributes_view().float("scale"),
    )
    assert isinstance(result.owner, Operation)
    result.owner.location = op.location
    builder.replace(result)


ABSORPTIONS: Mapping[type[Operation], NodeRewrite] = {
    glow.MatmulOp: absorb,
    glow.AttentionOp: absorb_into_attention,
    cpu.Int8BatchMatmulOp: absorb_into_bytes,
}


class AbsorbTransposesPass(ModulePass):
    """Absorb transpositions into products of activations."""

    name = "absorb-transposes"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, ABSORPTIONS)
        erase_dead_nodes(op)
