"""The CPU backend's pipeline on one screen.

graph    typed nodes, optimized                       glow
lowered  few primitives and nodes of its own          glow + cpu
instr    instructions on one planned arena            instr
loops    a function a kernel, and main                scf, vector, memref, arith, math, func
llvm     LLVM IR text
asm      assembly text of the target
obj      an object file of the target
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glow.backends.pipeline import (
    INSTR,
    LOOPS,
    LOWERED,
    Passes,
    Phase,
    Pipeline,
    graph_phase,
    instr_phase,
)

if TYPE_CHECKING:
    from glow.options import CompileOptions


def cpu_pipeline(options: CompileOptions, alignment: int | None = None) -> Pipeline:
    """The phases for one target; what they import is loaded when they run.

    `alignment`: the bytes at multiples of which buffers have to begin.
    """

    def lowered() -> Passes:
        from glow.backends.cpu.lowered_passes import lowered_passes

        return lowered_passes(options)

    instructions = instr_phase(options, alignment)

    def instr() -> Passes:
        from glow.backends.cpu.passes.share_kernels import ShareKernelsPass

        return [*instructions.passes, ShareKernelsPass(options.target)]

    def loops() -> Passes:
        from glow.backends.cpu.passes.instr_to_loops import InstrToLoopsPass

        return [InstrToLoopsPass(backend=options.backend, target=options.target)]

    return Pipeline(
        [
            graph_phase(options),
            Phase(LOWERED, "few primitives, blocked layouts, fused nodes", lowered),
            Phase(INSTR, instructions.summary, instr),
            Phase(LOOPS, "a function a kernel, and main, which calls them", loops),
            Phase("llvm", "LLVM IR text", is_export=True),
            Phase("asm", "assembly text of the target", is_export=True),
            Phase("obj", "an object file of the target", is_export=True),
        ],
        compile_from=INSTR,
    )
