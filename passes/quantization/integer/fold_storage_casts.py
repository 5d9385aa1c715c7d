"""Casts between quantized elements and their integers cancel (`quant.scast`, `glow.scast`).

ONNX moves and pools the integers; so do we, under their quantized type.

    %1 = glow.scast %0 : tensor<4x!a> to tensor<4xui8>
    %2 = glow.scast %1 : tensor<4xui8> to tensor<4x!a>       is %0
    %3 = glow.reshape %1                                      is a cast of the reshaped %0
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.quant import StorageCastOp, storage_cast
from glow.dialects.quantized import quantized_type, stored_type
from glow.passes.quantization.casts import element, tensor_of
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, erase
from glow.passes.rewriting.operations import all_operations

MOVED: tuple[type[NodeOp], ...] = (
    glow.ReshapeOp, glow.TransposeOp, glow.ConcatOp, glow.SliceOp, glow.BroadcastOp,
    glow.TileOp, glow.MaxPool2dOp,
)  # fmt: skip
"""Nodes whose result on integers is that on quantized elements."""


def behind(value: SSAValue) -> SSAValue | None:
    """The quantized value whose stored integers a value is, or None."""
    owner = value.owner
    if not isinstance(owner, StorageCastOp) or element(owner.input) is None:
        return None
    return owner.input


def cancel(op: StorageCastOp) -> bool:
    """A cast there and back is nothing."""
    first = op.input.owner
    if not isinstance(first, StorageCastOp) or first.input.type != op.result.type:
        return False
    op.result.replace_all_uses_with(first.input)
    erase(op)
    return True


def sink(op: NodeOp) -> bool:
    """Move quantized elements instead of their integers."""
    sources = [behind(value) for value in op.inputs]
    found = [source for source in sources if source is not None]
    types = {element(source) for source in found}
    if len(found) != len(sources) or len(types) != 1:
        return False
    (data,) = types
    if data is None or data.axis is not None:
        return False
    builder = NodeBuilder(op)
    kinds = [quantized_type(tensor_of(op.results[0]), data)]
    moved = builder.create(type(op), found, attributes_of(op), types=kinds)
    stored = storage_cast(moved, stored_type(tensor_of(moved)))
    builder.replace(builder.insert(stored).results[0])
    return True


def fold(op: Operation) -> bool:
    """Fold one operation."""
    if isinstance(op, StorageCastOp):
        return cancel(op)
    return isinstance(op, MOVED) and bool(op.inputs) and sink(op)


def fold_storage_casts(module: ModuleOp) -> None:
    """Fold in program order: results are seen before their readers."""
    for op in all_operations(module):
        if op.parent is not None:
            fold(op)
    erase_dead_storage_casts(module)


def cancel_storage_casts(module: ModuleOp) -> None:
    """Cancel casts there and back; nodes stay as they are."""
    for op in all_operations(module):
        if isinstance(op, StorageCastOp):
            cancel(op)
    erase_dead_storage_casts(module)


def erase_dead_storage_casts(module: ModuleOp) -> None:
    """Erase casts that nothing reads."""
    for op in reversed(all_operations(module)):
        if isinstance(op, StorageCastOp) and not op.result.uses:
            erase(op)


class FoldStorageCastsPass(ModulePass):
    """Cancel casts between quantized elements and their integers."""

    name = "fold-storage-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        fold_storage_casts(op)
