"""Which floats products multiply, as users ask for it: f32, or 16-bit ones with f32 sums.

bf16 is for speed: a product that the backend computes faster in f32 stays f32. fp16 is for
what it does to the results: all products multiply f16.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp
from xdsl.ir import Operation

from glow.backends.backend import Backend
from glow.dialects.errors import GlowError

PRECISIONS = ("f32", "bf16", "fp16")


def check_precision(precision: str) -> None:
    """Raise GlowError listing the precisions unless this is one."""
    if precision not in PRECISIONS:
        raise GlowError(
            f"unknown precision '{precision}'", hint=f"one of {', '.join(PRECISIONS)}"
        )


def apply_precision(
    module: ModuleOp,
    precision: str,
    backend: Backend,
    target: str,
    numerics: str,
    keep: Collection[str] = (),
) -> None:
    """Let the products of a graph multiply floats of a precision."""
    check_precision(precision)
    if precision == "f32":
        return
    from glow.passes.quantization.half.half_products import convert_products
    from glow.passes.quantization.selection import check_keep, is_kept

    check_keep(module, keep)
    prefers = partial(backend.prefers_f32, target=target, numerics=numerics)

    def stays(op: Operation) -> bool:
        return is_kept(op, keep) or (precision == "bf16" and prefers(op))

    element = BFloat16Type() if precision == "bf16" else Float16Type()
    convert_products(module, element, stays)
