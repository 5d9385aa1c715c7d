"""Takes out the reshapes that products, gathers and reductions of other dialects need.

    %1 = glow.reshape %x : tensor<1x8x16xf32>             // of tensor<2x4x16xf32>
    %2 = glow.matmul %1, %w : tensor<1x8x32xf32>
    %3 = glow.reshape %2 : tensor<2x4x32xf32>
  becomes
    %3 = glow.matmul %x, %w : tensor<2x4x32xf32>

    %1 = glow.gather %table, (glow.reshape %i : tensor<8xi64>) axis 0
    %2 = glow.reshape %1 : tensor<2x4x16xf32>
  becomes
    %2 = glow.gather %table, %i axis 0

    %1 = glow.reduce_sum %x axes [1] keepdims : tensor<2x1xf32>
    %2 = glow.reshape %1 : tensor<2xf32>
  becomes
    %2 = glow.reduce_sum %x axes [1] : tensor<2xf32>

TOSA multiplies tensors of three axes, gathers rows in one list and keeps axes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of

MATRIX = 2

Reduction = glow.ReduceOp | glow.ArgMaxOp | glow.ArgMinOp
REDUCTIONS = (glow.ReduceOp, glow.ArgMaxOp, glow.ArgMinOp)


def fold_reshapes(module: ModuleOp) -> None:
    """Let nodes have the shapes that their readers want."""
    for op in list(module.walk()):
        if isinstance(op, glow.ReshapeOp) and op.input.has_one_use():
            made = op.input.owner
            if isinstance(made, glow.MatmulOp):
                _fold_product(op, made)
            elif isinstance(made, glow.GatherOp):
                _fold_gather(op, made)
            elif isinstance(made, REDUCTIONS):
                _fold_reduction(op, made)


def _fold_product(op: glow.ReshapeOp, product: glow.MatmulOp) -> None:
    """Both operands lose their batch, or the first has its rows in the reader's shape."""
    wanted, inner = shape_of(op.result), shape_of(product.lhs)[-1]
    lhs, rhs = _before(product.lhs), product.rhs
    is_plain = not (product.transpose_lhs or product.transpose_rhs)
    if not is_plain or len(wanted) < MATRIX or wanted[-1] != shape_of(rhs)[-1]:
        return
    if len(shape_of(rhs)) > MATRIX:
        rhs = _before(rhs)
    if lhs is product.lhs or (rhs is product.rhs and len(shape_of(rhs)) > MATRIX):
        return
    builder = NodeBuilder(op)
    if len(shape_of(product.rhs)) > MATRIX:
        rhs = builder.reshape(rhs, [*wanted[:-2], inner, wanted[-1]])
    rows = builder.reshape(lhs, [*wanted[:-1], inner])
    attributes = attributes_of(product)
    builder.replace(builder.create(glow.MatmulOp, [rows, rhs], attributes))


def _fold_gather(op: glow.ReshapeOp, gather: glow.GatherOp) -> None:
    table, indices = gather.inputs
    indices = _before(indices)
    axis = gather.attributes_view().int("axis")
    sizes = shape_of(table)
    if _joined(sizes[:axis], shape_of(indices), sizes[axis + 1 :]) == shape_of(
        op.result
    ):
        builder = NodeBuilder(op)
        operands = [table, indices]
        builder.replace(builder.create(glow.GatherOp, operands, attributes_of(gather)))


def _fold_reduction(op: glow.ReshapeOp, made: Reduction) -> None:
    attributes = attributes_of(made)
    if attributes.pop("keepdims", None) is None:
        return
    view = made.attributes_view()
    rank = len(shape_of(made.input))
    axes = view.ints("axes") if isinstance(made, glow.ReduceOp) else [view.int("axis")]
    dropped = {axis % rank for axis in axes}
    kept = [n for axis, n in enumerate(shape_of(made.input)) if axis not in dropped]
    if shape_of(op.result) == tuple(kept):
        builder = NodeBuilder(op)
        builder.replace(builder.create(type(made), [made.input], attributes))


def _before(value: SSAValue) -> SSAValue:
    """A value before it was reshaped."""
    owner = value.owner
    return owner.input if isinstance(owner, glow.ReshapeOp) else value


def _joined(*parts: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for part in parts for size in part)
