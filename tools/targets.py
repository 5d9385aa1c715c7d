"""The targets `llvm` and `asm` of `glow-opt`: text for a program of any level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target


@dataclass(frozen=True)
class LLVMTarget(Target):
    """LLVM IR; a program above the llvm dialect is lowered on the way."""

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from glow.compiler import emit_text

        output.write(emit_text(module, "llvm"))


@dataclass(frozen=True)
class AssemblyTarget(Target):
    """Assembly for this machine; any level."""

    name = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from glow.compiler import emit_text

        output.write(emit_text(module, "asm"))
