"""Cancels borders between plain and blocked tensors.

`assign-layout` leaves few; other passes may bring borders together:

| from                                         | to          |
|----------------------------------------------|-------------|
| `cpu.pack` of `cpu.unpack`                   | the blocks  |
| `cpu.unpack` of `cpu.pack`                   | the plain   |
| either on a 1x1 plane with full last block   | `glow.reshape` |
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.backends.cpu import dialect as cpu
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    erase_dead_nodes,
    rewrite_nodes,
)


def cancel_pack(op: Operation) -> None:
    """Cancel a pack against the unpack before it, or make it a reshape."""
    assert isinstance(op, cpu.PackOp)
    builder, producer = NodeBuilder(op), op.input.owner
    if isinstance(producer, cpu.UnpackOp) and producer.input.type == op.result.type:
        builder.replace(producer.input)
        return
    _, channels, height, width = shape_of(op.input)
    if height * width == 1 and channels % shape_of(op.result)[4] == 0:
        builder.replace(builder.reshape(op.input, shape_of(op.result)))


def cancel_unpack(op: Operation) -> None:
    """Cancel an unpack against the pack before it, or make it a reshape."""
    assert isinstance(op, cpu.UnpackOp)
    builder, producer = NodeBuilder(op), op.input.owner
    if isinstance(producer, cpu.PackOp) and producer.input.type == op.result.type:
        builder.replace(producer.input)
        return
    _, blocks, height, width, lanes = shape_of(op.input)
    if height * width == 1 and shape_of(op.result)[1] == blocks * lanes:
        builder.replace(builder.reshape(op.input, shape_of(op.result)))


class CancelPacksPass(ModulePass):
    """Cancel `cpu.pack` and `cpu.unpack` where they meet."""

    name = "cancel-packs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {cpu.PackOp: cancel_pack, cpu.UnpackOp: cancel_unpack})
        erase_dead_nodes(op)
