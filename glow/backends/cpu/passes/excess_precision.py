"""What 16-bit floats between nodes would round stays f32, where nodes compute in f32.

Networks of f16 are those of f32 whose weights take half of the file; the CPU computes them in f32
anyway. To round each value between two nodes costs a conversion and three digits, and values above
65504 become infinities that the network did not have when it was trained. Sums of a residual
stream do, in decoders of images and in T5; ONNX Runtime's CPU provider computes them in f32, too.
Element-wise nodes compute in f32, and nodes that move elements, or add some up, do if all that
they read is f32 that was rounded; then a value that is rounded and widened at once is what it was.
Inputs, results and constants are what they are, and conversions of the network itself round. bf16
has kernels of its own, and stays rounded.

    %1 = glow.convert %0 : tensor<4xf16>
    %2 = glow.add %1, %1 : tensor<4xf16>
    %3 = glow.convert %2 : tensor<4xf32>
    %4 = glow.softmax %3 axis 0 : tensor<4xf32>
  becomes
    %2 = glow.add %0, %0 : tensor<4xf32>
    %4 = glow.softmax %2 axis 0 : tensor<4xf32>

Source: C11 5.2.4.2.2, `FLT_EVAL_METHOD` 1. Under `numerics=exact` each node rounds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType, f16, f32
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu.passes.wider_nodes import compute_in
from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of
from glow.dialects.weights import constant_value
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.scalar_bodies import CASTS, is_scalar_node

MOVEMENTS = (
    glow.BroadcastOp,
    glow.ConcatOp,
    glow.GatherElementsOp,
    glow.GatherNDOp,
    glow.GatherOp,
    glow.PadOp,
    glow.ReshapeOp,
    glow.ScatterOp,
    glow.SliceOp,
    glow.TileOp,
    glow.TransposeOp,
)
"""Nodes whose results are elements of their operands, or sums of some."""


def _of_half(values: Sequence[SSAValue]) -> list[SSAValue]:
    """Those of 16-bit floats."""
    return [
        value
        for value in values
        if isinstance(value.type, TensorType) and element_of(value) == f16
    ]


def _rounded(value: SSAValue) -> SSAValue | None:
    """The f32 that a value is, rounded, if it is."""
    owner = value.owner
    if not isinstance(owner, glow.ConvertOp) or element_of(owner.operand) != f32:
        return None
    return owner.operand


def _is_rounded_or_known(value: SSAValue) -> bool:
    return _rounded(value) is not None or constant_value(value) is not None


def computes_in_f32(op: Operation) -> bool:
    """Whether a node on f16 is to compute in f32; not one that changes types or reads bits."""
    if not isinstance(op, NodeOp) or type(op) in CASTS:
        return False
    operands = _of_half(op.operands)
    if type(op) not in MOVEMENTS:
        return bool(operands) and is_scalar_node(type(op))
    has_rounded = any(_rounded(value) is not None for value in operands)
    return has_rounded and all(map(_is_rounded_or_known, operands))


def conversions(module: ModuleOp) -> list[glow.ConvertOp]:
    """All conversions of a module."""
    return [op for op in all_operations(module) if isinstance(op, glow.ConvertOp)]


def keep_excess_precision(
    module: ModuleOp, given: Collection[glow.ConvertOp] = ()
) -> None:
    """Compute in f32 in program order; `given` conversions round."""
    for op in list(all_operations(module)):
        if computes_in_f32(op):
            assert isinstance(op, NodeOp)
            compute_in(op, f16, f32)
    found = conversions(module)
    for op in found:
        source = _rounded(op.operand)
        if source is None or op.operand.owner in given or element_of(op.result) != f32:
            continue
        op.result.replace_all_uses_with(source)
    for op in reversed(found):
        if not op.result.uses:
            op.detach()
            op.erase()
