"""Reads and writes products of activations through the transpositions around them.

Attention splits heads by transposing what projections give, and joins them again. The
product's kernel takes any strides, so no such copy is needed: operands are read where
they lie, and the result is stored as its only reader wants it.

    %q = glow.transpose %0 permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
    %k = glow.transpose %1 permutation [0, 2, 1, 3] : tensor<1x12x128x64xf32>
    %s = cpu.batch_matmul %q, %k lhs_axes [0, 1, 2, 3] rhs_axes [0, 1, 3, 2]
        result_axes [0, 1, 2, 3] : tensor<1x12x128x128xf32>
  becomes
    %s = cpu.batch_matmul %0, %1 lhs_axes [0, 2, 1, 3] rhs_axes [0, 2, 3, 1]
        result_axes [0, 1, 2, 3] : tensor<1x12x128x128xf32>

The stored last axis must remain one of the matrix's two, so that reads stay vectors. Where a reader
wants the columns of a result as its rows, the operands change places: `(A B)^T` is `B^T A^T`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.matching import number_of
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    NodeRewrite,
    attributes_of,
    erase,
    erase_dead_nodes,
    rewrite_nodes,
)

Axes = list[int]


def stored_operand(
    reader: Operation, value: SSAValue, swapped: bool, *, rows: bool = False
) -> tuple[SSAValue, Axes]:
    """Where an operand's elements lie: a value, and its axis for each of the operand's.

    A transposition in front of the loop that the reader is in is left, as it is done once.

    `rows`: only if the columns remain its last axis.
    """
    source, axes = value, list(range(len(shape_of(value))))
    owner = value.owner
    if isinstance(owner, glow.TransposeOp) and owner.parent is reader.parent:
        permutation = list(owner.attributes_view().ints("permutation"))
        if len(axes) - 1 in permutation[-1 if rows else -2 :]:
            source, axes = owner.input, permutation
    if swapped:
        axes[-2:] = axes[:-3:-1]
    return source, axes


def stored_result(
    result: SSAValue, axes: Axes, *, fixed: bool = False
) -> tuple[SSAValue, Axes]:
    """What is stored of a product with axes `axes`: its result, or a transpose of it if that is
    its only reader and keeps the last axis; `fixed`: the result itself.
    """
    user = result.get_user_of_unique_use()
    if isinstance(user, glow.TransposeOp) and not fixed:
        moved = [axes[axis] for axis in user.attributes_view().ints("permutation")]
        if moved[-1] == len(axes) - 1:
            return user.result, moved
    return result, axes


def exchange(op: Operation) -> None:
    """Exchange the operands of a product whose only reader has its rows as the last axis."""
    assert isinstance(op, cpu.BatchMatmulOp)
    user = op.result.get_user_of_unique_use()
    lhs, rhs, *others = op.inputs
    if not isinstance(user, glow.TransposeOp) or others or op.epilogue:
        return
    rank = len(shape_of(lhs))
    attributes = op.attributes_view()
    axes = attributes.ints("result_axes")
    moved = [axes[axis] for axis in user.attributes_view().ints("permutation")]
    if len(shape_of(rhs)) != rank or moved[-1] != rank - 2:
        return
    columns = {rank - 2: rank - 1, rank - 1: rank - 2}
    builder = NodeBuilder(user)
    result = builder.create(
        cpu.BatchMatmulOp,
        [rhs, lhs],
        {
            **attributes_of(op),
            "lhs_axes": exchanged(attributes.ints("rhs_axes")),
            "rhs_axes": exchanged(attributes.ints("lhs_axes")),
            "result_axes": [columns.get(axis, axis) for axis in moved],
        },
        types=[tensor_of(user.result)],
    )
    assert isinstance(result.owner, Operation)
    result.owner.location = op.location
    builder.replace(result)
    erase(op)


def exchanged(axes: Sequence[int]) -> Axes:
    """The axes of a transposed matrix."""
    return [*axes[:-2], axes[-1], axes[-2]]


def absorb(op: Operation) -> None:
    """Replace a product, whose axes and epilogue are known, and what is around it.

    A residual lies as the result does: then that stays where it is. So do rows that one matrix
    multiplies.
    """
    assert isinstance(op, cpu.BatchMatmulOp | cpu.Int8BatchMatmulOp)
    attributes = op.attributes_view()
    lhs, rhs = op.inputs[:2]
    repeats = len(shape_of(rhs)) < len(shape_of(lhs))
    left, right = (
        (lhs, list(attributes.ints("lhs_axes"))),
        permuted_source(op, rhs, attributes.ints("rhs_axes")),
    )
    if not repeats:
        left = permuted_source(op, *left)
    fixed = repeats or any(
        shape_of(operand) == shape_of(op.result) for operand in op.epilogue_operands
    )
    stored, axes = stored_result(
        op.result, list(attributes.ints("result_axes")), fixed=fixed
    )
    if left[0] is lhs and right[0] is rhs and stored is op.result:
        return
    last = stored.owner
    assert isinstance(last, Operation)
    builder = NodeBuilder(last)
    result = builder.create(
        type(op),
        [left[0], right[0], *op.inputs[2:]],
        {
            **attributes_of(op),
            "lhs_axes": left[1],
            "rhs_axes": right[1],
            "result_axes": axes,
        },
        types=[tensor_of(stored)],
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    assert isinstance(result.owner, Operation)
    result.owner.location = op.location
    builder.replace(result)
    if last is not op:
        erase(op)


def permuted_source(
    reader: Operation, value: SSAValue, axes: Sequence[int]
) -> tuple[SSAValue, Axes]:
    """As `stored_operand`, of an operand that is read through `axes` already."""
    source, inner = stored_operand(reader, value, swapped=False)
    return source, [inner[axis] for axis in axes]


def absorb_into_attention(op: Operation) -> None:
    """Replace an attention and the transpositions around it."""
    assert isinstance(op, glow.AttentionOp)
    queries, query_axes = stored_operand(op, op.queries, False)
    keys, key_axes = stored_operand(op, op.keys, True)
    values, value_axes = stored_operand(op, op.values, False, rows=True)
    rank = len(shape_of(op.result))
    guarded = guarded_result(op.result)
    stored, result_axes = stored_result(guarded or op.result, list(range(rank)))
    assert isinstance(stored.owner, Operation)
    builder = NodeBuilder(stored.owner)
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
        **({} if guarded is None else {"zero_nans": True}),
    )
    assert isinstance(result.owner, Operation)
    result.owner.location = op.location
    builder.replace(result)


def guarded_result(value: SSAValue) -> SSAValue | None:
    """The select that is all that is made of a value: 0 where it is NaN."""
    readers = [use.operation for use in value.uses]
    choices = [one for one in readers if isinstance(one, glow.SelectOp)]
    tests = [one for one in readers if isinstance(one, glow.IsNanOp)]
    if len(readers) != len(choices) + len(tests) or not len(choices) == len(tests) == 1:
        return None
    condition, zero, other = choices[0].inputs
    is_guard = condition is tests[0].result and other is value
    only = is_guard and condition.has_one_use() and number_of(zero) == 0
    return choices[0].result if only else None


ABSORPTIONS: Mapping[type[Operation], NodeRewrite] = {
    glow.AttentionOp: absorb_into_attention,
    cpu.BatchMatmulOp: absorb,
    cpu.Int8BatchMatmulOp: absorb,
}


class AbsorbTransposesPass(ModulePass):
    """Absorb transpositions into products of activations."""

    name = "absorb-transposes"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {cpu.BatchMatmulOp: exchange})
        rewrite_nodes(op, ABSORPTIONS)
        erase_dead_nodes(op)
