"""Handlers of operators that keep the elements in order and change the shape."""

from __future__ import annotations

from math import prod

import numpy as np

from glow.dialects.glow import AddOp, LessEqualOp, SelectOp, TransposeOp
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import fail_unless
from glow.frontends.onnx.graph import BUDGET
from glow.frontends.onnx.inputs import check_shape
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, Value, shape
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op, onnx_op


@onnx_op("Reshape")
def reshape(node: OnnxNode) -> Value:
    """0 keeps the input's size unless `allowzero`, -1 stands for the rest."""
    sizes, target = node.shape(0), node.integers(1, "shape")
    if not node.attr_int("allowzero", 0):
        fail_unless(
            all(size or axis < len(sizes) for axis, size in enumerate(target)),
            f"the shape {target} keeps an axis that the input {list(sizes)} lacks",
        )
        target = [size or sizes[axis] for axis, size in enumerate(target)]
    count = prod(sizes)
    if -1 in target:
        known = -prod(target)
        rest = count // known if known > 0 else 0
        target = [rest if size == -1 else size for size in target]
    fail_unless(
        min(target, default=0) >= 0 and prod(target) == count,
        f"the shape {node.integers(1, 'shape')} cannot hold the {count} elements of "
        f"{list(sizes)}",
    )
    return node.reshape(node.value(0), target)


@onnx_op("Flatten")
def flatten(node: OnnxNode) -> Value:
    """A matrix: the axes before `axis`, and those from it on."""
    sizes = node.shape(0)
    axis = node.positive(node.attr_int("axis", 1), len(sizes) + 1)
    if node.attr_int("axis", 1) < 0:
        axis -= 1
    return node.reshape(node.value(0), (prod(sizes[:axis]), prod(sizes[axis:])))


@onnx_op("Squeeze")
def squeeze(node: OnnxNode) -> Value:
    """Without the given axes of size 1, or without all of them."""
    sizes = node.shape(0)
    axes = node.axes(1, len(sizes))
    if axes is None:
        axes = [axis for axis, size in enumerate(sizes) if size == 1]
    fail_unless(
        all(sizes[axis] == 1 for axis in axes),
        f"axes {axes} of {list(sizes)} do not all have size 1",
    )
    kept = [size for axis, size in enumerate(sizes) if axis not in axes]
    return node.reshape(node.value(0), kept)


@onnx_op("Unsqueeze")
def unsqueeze(node: OnnxNode) -> Value:
    """With axes of size 1 at the given places of the result."""
    sizes = node.shape(0)
    given = node.attr_ints("axes")
    rank = len(sizes) + len(given if given is not None else node.integers(1, "axes"))
    axes = node.axes(1, rank) or []
    fail_unless(len(set(axes)) == len(axes), f"axes {axes} repeat")
    rest = iter(sizes)
    target = [1 if axis in axes else next(rest) for axis in range(rank)]
    return node.reshape(node.value(0), target)


@onnx_op("Transpose")
def transpose(node: OnnxNode) -> Value:
    """The axes in the order `perm`, by default reversed."""
    rank = node.rank(0)
    permutation = node.attr_ints("perm") or list(range(rank))[::-1]
    fail_unless(
        sorted(permutation) == list(range(rank)),
        f"perm {permutation} does not permute {rank} axes",
    )
    return node.transpose(node.value(0), permutation)


@onnx_op("Expand")
def expand(node: OnnxNode) -> Value:
    """Broadcast to the broadcast of both shapes."""
    target = broadcast_shape([node.shape(0), node.integers(1, "shape")])
    check_shape(target)
    return node.broadcast(node.value(0), target)


@onnx_op("DepthToSpace")
def depth_to_space(node: OnnxNode) -> Value:
    """Blocks of channels become blocks of the plane."""
    batch, channels, height, width = node.shape(0)
    block = node.attr_int("blocksize", 1)
    fail_unless(
        block > 0 and channels % (block * block) == 0,
        f"blocksize {block} does not suit {channels} channels",
    )
    outputs = channels // (block * block)
    if node.attr_string("mode", "DCR") == "DCR":
        split, permutation = (block, block, outputs), [0, 3, 4, 1, 5, 2]
    else:
        split, permutation = (outputs, block, block), [0, 1, 4, 2, 5, 3]
    blocks = node.reshape(node.value(0), (batch, *split, height, width))
    moved = node.emit(TransposeOp, blocks, permutation=permutation)
    return node.reshape(moved, (batch, outputs, height * block, width * block))


@onnx_op("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> Value:
    """Blocks of the plane become blocks of channels."""
    batch, channels, height, width = node.shape(0)
    block = node.attr_int("blocksize", 1)
    fail_unless(
        block > 0 and height % block == 0 and width % block == 0,
        f"blocksize {block} does not divide the plane {height}x{width}",
    )
    rows, columns = height // block, width // block
    split = (batch, channels, rows, block, columns, block)
    blocks = node.reshape(node.value(0), split)
    by_block = node.attr_string("mode", "DCR") == "DCR"
    permutation = [0, 3, 5, 1, 2, 4] if by_block else [0, 1, 3, 5, 2, 4]
    moved = node.emit(TransposeOp, blocks, permutation=permutation)
    return node.reshape(moved, (batch, channels * block * block, rows, columns))


@onnx_op("Trilu")
@contrib_op("Trilu")
def trilu(node: OnnxNode) -> Value:
    """The upper or lower triangle, zero elsewhere."""
    value = node.value(0)
    offset: Operand = Constant(np.zeros((), np.int64), "k")
    if node.has(1):
        fail_unless(prod(node.shape(1)) == 1, "k is not one number")
        offset = node.reshape(node.value(1), ())
    count, width = shape(value)[-2:]
    refuse_if(count + width > BUDGET, f"size {count}x{width}")
    rows: Operand = Constant(np.arange(count).reshape(-1, 1), "rows")
    columns = Constant(np.arange(width), "columns")
    if isinstance(offset, Constant):
        first = int(offset.array)
        rows = Constant(np.arange(first, first + count).reshape(-1, 1), "rows")
    else:
        rows = node.emit(AddOp, rows, offset)
    bounds = (rows, columns) if node.attr_int("upper", 1) else (columns, rows)
    mask: Operand
    if isinstance(rows, Constant) and count * width <= BUDGET:
        arrays = [bound.array for bound in bounds if isinstance(bound, Constant)]
        mask = Constant(np.less_equal(*arrays), "triangle")
    else:
        mask = node.emit(LessEqualOp, *bounds)
    return node.emit(SelectOp, mask, value, node.number(0, value))
