"""The targets `llvm` and `asm` of `glow-opt`, text for a program of any level, and `onnx`.

`-t 'asm{machine=avx2}'` generates for another machine; the default is this one. `-t onnx`
writes a graph as an ONNX file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from glow.backends.backend import DEFAULT_BACKEND
from glow.dialects.errors import GlowError
from glow.lowering.llvm_text.emit import emit_module
from glow.lowering.target.target import Target as Machine

DIALECTS_ABOVE_LOOPS = ("glow", "instr")
"""Programs that use these have to go through the compiler's pipeline first."""


def llvm_text(module: ModuleOp, target: str, backend: str = DEFAULT_BACKEND) -> str:
    """The LLVM IR of a program, which is lowered from whatever level it has."""
    if any(op.dialect_name() in DIALECTS_ABOVE_LOOPS for op in module.walk()):
        from glow.compiler import lower_to

        return cast(str, lower_to(module, "llvm", target=target, backend=backend))
    machine = Machine.from_string(target)
    if not all(isinstance(op, llvm.FuncOp) for op in module.ops):
        from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_module
        from glow.lowering.target.program_target import check_target

        check_target(module, target)
        module = lower_module(module, machine)
    return emit_module(module.ops, machine)


@dataclass(frozen=True)
class LLVMTarget(Target):
    """LLVM IR; a program above the llvm dialect is lowered on the way."""

    name = "llvm"

    machine: str = "host"
    backend: str = DEFAULT_BACKEND

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(llvm_text(module, self.machine, self.backend))


@dataclass(frozen=True)
class AssemblyTarget(Target):
    """Assembly of a program of any level."""

    name = "asm"

    machine: str = "host"
    backend: str = DEFAULT_BACKEND

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from glow.runtime.native_code import assembly

        text = llvm_text(module, self.machine, self.backend)
        output.write(assembly(text, Machine.from_string(self.machine)))


@dataclass(frozen=True)
class ONNXTarget(Target):
    """A graph as an ONNX file, which is no text: the tool writes it itself."""

    name = "onnx"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        raise GlowError("an ONNX file is written by glow-opt only")


@dataclass(frozen=True)
class DotTarget(Target):
    """A picture of a program in Graphviz's language."""

    name = "dot"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from glow.exporters.dot import dot_text

        output.write(dot_text(module))


class ProgramTarget(Target):
    """A graph in the dialect of another compiler, which the tool writes with its weights."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        raise GlowError(f"'{self.name}' is written by glow-opt only")


def program_target(name: str) -> type[Target]:
    """The target of a format."""
    return dataclass(frozen=True)(
        type("ProgramTarget", (ProgramTarget,), {"name": name})
    )
