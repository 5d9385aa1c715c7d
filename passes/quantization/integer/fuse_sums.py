"""`fidelity=fused`: a product that a sum alone reads stays float, in imported networks too.

    %1 = glow.conv2d %x, %w : tensor<1x8x4x4xf32>
    %2 = quant.qcast %1; %3 = quant.dcast %2
    %4 = glow.add %3, %y
  becomes
    %4 = glow.add %1, %y

One rounding less than the program asks for, so it is done only where a user says so.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.quant import DequantizeCastOp, QuantizeCastOp
from glow.passes.quantization.integer.fold_casts import erase_dead_casts
from glow.passes.rewriting.operations import all_operations


def only_reader(value: SSAValue) -> Operation | None:
    """The one operation that reads a value, or None."""
    return next(iter(value.uses)).operation if value.has_one_use() else None


def rounded_summand(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """A product's result, and what a sum reads in its place; None for anything else."""
    if not isinstance(op, tuple(PRODUCTS)):
        return None
    stored = only_reader(op.results[0])
    floats = only_reader(stored.result) if isinstance(stored, QuantizeCastOp) else None
    if not isinstance(floats, DequantizeCastOp):
        return None
    is_summand = isinstance(only_reader(floats.result), glow.AddOp)
    return (op.results[0], floats.result) if is_summand else None


def fuse_sums(module: ModuleOp) -> None:
    """Let sums read products unrounded."""
    for op in all_operations(module):
        found = rounded_summand(op)
        if found is not None:
            product, floats = found
            floats.replace_all_uses_with(product)
    erase_dead_casts(module)
