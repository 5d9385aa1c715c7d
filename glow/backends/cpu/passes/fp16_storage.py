"""Large values that products read in 16 bits are stored in 16 bits only.

A residual stream of images is read by products, as bf16, and by sums, as f32. Both forms
together take more memory traffic than the product saves where they leave the second
cache; then sums read the 16 bits as well, and the first of two products that are added up
and then rounded waits in 16 bits. Small values, such as those of transformers, keep their
accuracy.

    %1 = glow.convert %0 : tensor<1x256x56x56xbf16>
    %2 = glow.conv2d %1, %w : tensor<1x256x56x56xf32>
    %3 = glow.add %2, %0 : tensor<1x256x56x56xf32>
  becomes
    %1 = glow.convert %0 : tensor<1x256x56x56xbf16>
    %2 = glow.conv2d %1, %w : tensor<1x256x56x56xf32>
    %4 = glow.convert %1 : tensor<1x256x56x56xf32>
    %3 = glow.add %2, %4 : tensor<1x256x56x56xf32>
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.half import is_half
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.lowering.target.program_target import settle_target
from glow.lowering.target.target import Target
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.contract import MEANING
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, rewrite_nodes
from glow.passes.rewriting.scalar_bodies import has_scalar_body

F32_BYTES = 4
PRODUCTS = (glow.Conv2dOp, glow.MatmulOp, glow.FullyConnectedOp)


def is_large(value: SSAValue, target: Target) -> bool:
    """Whether a value of f32 takes more than half of the second cache."""
    return F32_BYTES * prod(shape_of(value)) > target.l2_bytes // 2


def store_rounded(op: Operation, target: Target) -> None:
    """Let element-wise readers of what a node rounds read the rounded value."""
    assert isinstance(op, glow.ConvertOp)
    value, owner = op.operand, op.operand.owner
    rounds = element_type(value) == f32 and is_half(element_type(op.result))
    if not rounds or not is_large(value, target) or not isinstance(owner, NodeOp):
        return
    readers = {use.operation for use in value.uses} - {op}
    if not all(has_scalar_body(reader) for reader in readers):
        return
    _move_behind(op, owner)
    for reader in readers:
        builder = NodeBuilder(reader)
        wide = builder.create(glow.ConvertOp, [op.result], {}, types=[tensor_of(value)])
        for number, operand in enumerate(reader.operands):
            if operand is value:
                reader.operands[number] = wide


def store_addend(op: Operation, target: Target) -> None:
    """Round the earlier of two products' results, where their sum is rounded anyway.

    It waits in memory for the later product, which adds it before anything is stored.
    """
    (total,), products = op.results, [half_product(value) for value in op.operands]
    if None in products or not is_large(total, target) or not is_rounded(total):
        return
    first = min((p for p in products if p is not None), key=_position)
    (value,) = first.results
    element, builder = element_type(first.operands[0]), NodeBuilder(op)
    rounded = glow.ConvertOp.build_node(
        [value], [tensor_type(shape_of(value), element)]
    )
    builder.insert(rounded)
    _move_behind(rounded, first)
    wide = builder.create(
        glow.ConvertOp, [rounded.result], {}, types=[tensor_of(value)]
    )
    op.operands[op.operands.index(value)] = wide


def half_product(value: SSAValue) -> NodeOp | None:
    """The product of 16-bit floats whose f32 result has this one use."""
    owner = value.owner
    if not isinstance(owner, PRODUCTS) or not value.has_one_use():
        return None
    is_half_sum = is_half(element_type(owner.operands[0])) and (
        element_type(value) == f32
    )
    return owner if is_half_sum else None


def is_rounded(value: SSAValue) -> bool:
    """Whether a value is only ever read in 16 bits, after element-wise nodes perhaps."""
    user = value.get_user_of_unique_use()
    if isinstance(user, glow.ConvertOp):
        return is_half(element_type(user.result))
    if not isinstance(user, NodeOp) or not has_scalar_body(user):
        return False
    return is_rounded(user.results[0])


def _position(op: Operation) -> int:
    block = op.parent
    assert block is not None
    return block.get_operation_index(op)


def _move_behind(op: Operation, owner: Operation) -> None:
    """Put a node right behind the one whose result it reads, before all other readers."""
    block = owner.parent
    assert block is not None
    op.detach()
    block.insert_op_after(op, owner)


@dataclass(frozen=True)
class Fp16StoragePass(ModulePass):
    """Store large values in the 16 bits that products read, for a target's caches."""

    name = "fp16-storage"
    preserves = MEANING

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        target = settle_target(op, self.target)
        rewrite_nodes(op, {glow.ConvertOp: partial(store_rounded, target=target)})
        rewrite_nodes(op, {glow.AddOp: partial(store_addend, target=target)})
