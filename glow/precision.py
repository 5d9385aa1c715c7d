"""Which floats products multiply, as users ask for it: f32, or 16-bit ones with f32 sums.

bf16 is for speed: a product that the backend computes faster in f32 stays f32. fp16 is for
what it does to the results: all products multiply f16. Training in bf16 is for both: all of its
products multiply bf16, whether or not the processor has dot products of it, so that one training
goes the same way everywhere. Its weights are f32, and so is what an optimizer adds to them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp
from xdsl.ir import Operation

from glow.backends.backend import Backend
from glow.options import CompileOptions
from glow.tuning import choices


def apply_precision(
    module: ModuleOp, backend: Backend, options: CompileOptions
) -> None:
    """Let the products of a graph multiply floats of a precision."""
    precision = options.precision
    if precision == "f32":
        return
    from glow.passes.quantization.half.half_products import (
        convert_products,
        is_training,
    )
    from glow.passes.quantization.selection import check_keep, is_kept

    trains = is_training(module)
    keep = options.quantization.keep if options.quantization else ()
    check_keep(module, keep)
    choices.refresh()

    def stays(op: Operation) -> bool:
        return is_kept(op, keep) or (
            precision == "bf16" and not trains and backend.prefers_f32(op, options)
        )

    element = BFloat16Type() if precision == "bf16" else Float16Type()
    convert_products(module, element, stays)
