"""Winograd convolutions take over the max pool that follows.

Their tiles hold whole squares of a pool whose windows do not overlap. Its maxima are taken of
sums in registers, so that only they are stored: the activation in between, which must not
decrease anywhere, comes after the pool instead.

    %0 = cpu.winograd_conv2d %f, %x, %w, %b ... tile 4 : tensor<1x4x8x8x16xf32>
    %1 = glow.relu %0 : tensor<1x4x8x8x16xf32>
    %2 = glow.max_pool2d %1 kernel [2, 2] strides [2, 2] : tensor<1x4x4x4x16xf32>
  becomes
    %0 = cpu.winograd_conv2d %f, %x, %w, %b ... tile 4 pool 2 : tensor<1x4x4x4x16xf32>
    %2 = glow.relu %0 : tensor<1x4x4x4x16xf32>
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.passes.graph.commute_pools import MONOTONE
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of
from glow.passes.rewriting.patterns import rewrite_until_stable
from glow.passes.rewriting.trace import fused

NEVER_DECREASING = (*MONOTONE, glow.ReluOp, glow.ClipOp)


def never_decreases(op: Operation) -> bool:
    """Whether a function of one number keeps the order of numbers."""
    if isinstance(op, glow.LeakyReluOp):
        return op.attributes_view().float("alpha") >= 0
    return isinstance(op, NEVER_DECREASING)


def square_of(op: NodeOp) -> int | None:
    """The side of the squares of which a pool takes the largest; None for other windows."""
    attributes = op.attributes_view()
    (height, width), strides = attributes.ints("kernel"), attributes.ints("strides")
    plain = not any(attributes.ints("pads")) and set(attributes.ints("dilations")) == {
        1
    }
    return height if plain and (height, height) == (width, height) == strides else None


def pool_in_tiles(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The activation of a convolution that pools, for a pool of its activation."""
    value, functions = op.inputs[0], list[NodeOp]()
    while isinstance(function := value.owner, NodeOp) and never_decreases(function):
        functions.append(function)
        value = function.inputs[0]
    root, size = value.owner, square_of(op)
    read = [value, *(function.results[0] for function in functions)]
    if not isinstance(root, cpu.WinogradConv2dOp) or size is None:
        return None
    if not all(each.has_one_use() for each in read) or not fits(root, size):
        return None
    fused(op, root)
    pooled = builder.create(
        cpu.WinogradConv2dOp, root.inputs, {**attributes_of(root), "pool": size}
    )
    assert isinstance(pooled.owner, Operation)
    pooled.owner.location = root.location
    for function in reversed(functions):
        pooled = builder.node(type(function), pooled, **attributes_of(function))
    return pooled


def fits(root: cpu.WinogradConv2dOp, size: int) -> bool:
    """Whether sums are pooled nowhere yet, and squares of that size divide all tiles."""
    attributes, plane = root.attributes_view(), shape_of(root.result)[2:4]
    whole = not any(extent % size for extent in (attributes.int("tile"), *plane))
    is_square = len(attributes.ints("axes")) == 2
    bare = root.epilogue is None and element_of(root.result) == f32
    return bare and whole and is_square and attributes.int("pool") == 1


class FusePoolPass(ModulePass):
    """Take maxima of sums before Winograd convolutions store them."""

    name = "fuse-pool"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_until_stable(op, {glow.MaxPool2dOp: (pool_in_tiles,)})
