"""Lets products multiply f16 and add in f32; see `half_products`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import Float16Type, ModuleOp
from xdsl.passes import ModulePass

from glow.passes.quantization.half.half_products import convert_products, kept_by_name
from glow.passes.quantization.selection import check_keep
from glow.passes.rewriting.contract import MEANING


@dataclass(frozen=True)
class ConvertToFp16Pass(ModulePass):
    """Let products multiply f16, except those that `keep` names."""

    name = "convert-to-fp16"
    preserves = MEANING

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        check_keep(op, self.keep)
        convert_products(op, Float16Type(), kept_by_name(self.keep))
