"""Instructions to loops: one function a distinct kernel, and `main` that calls them.

Comes in: functions on memrefs after `plan-memory`, whose plan is proven once more, since
text may have been edited. Goes out: upstream dialects only,
which mlir-opt accepts as they are. `main` keeps where variables, the table of arguments and
arguments lie in its segments, in attributes that upstream carries along:

    func.func @main(%constants, %mutables, %activations, %thread, %threads, %barrier)
      attributes {glow.arguments = [...], glow.constants_bytes = ..., ...}

A function with variables has `glow.variables = {name = offset}` and `glow.argument_table`, too.

The weight table stays behind: nothing here names a weight, their bytes are a segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.passes import ModulePass

from glow.backends.cpu.program.externals import (
    BARRIER,
    TraceRegion,
    barrier_declaration,
)
from glow.backends.cpu.program.kernel_table import KernelTable, kernel_table
from glow.backends.cpu.program.main_function import MainBuilder
from glow.backends.cpu.program.program import Program
from glow.backends.cpu.program.program_builder import ProgramBuilder
from glow.backends.cpu.program.prologue_fusion import fuse_prologues
from glow.dialects.attributes import int_attr, ints_attr
from glow.dialects.weight_table import WeightsAttr
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.program_target import settle_plain_target
from glow.lowering.target.target import Target
from glow.passes.instr.verify_instr import VerifyInstrPass


def build_program(
    function: func.FuncOp, target: Target, kernels: KernelTable
) -> Program:
    """The kernel calls of a planned instr function."""
    return fuse_prologues(ProgramBuilder(function, target, kernels).run(), target)


def build_main(
    program: Program,
    kernels: Mapping[str, Kernel],
    target: Target,
    trace: TraceRegion | None = None,
) -> func.FuncOp:
    """The main function of a program over its kernels."""
    main = MainBuilder(program, kernels, target.core, trace).run()
    for segment, size in program.sizes.items():
        main.attributes[f"glow.{segment}_bytes"] = int_attr(size)
    main.attributes["glow.arguments"] = ints_attr(
        *(place.offset for place in program.arguments)
    )
    if program.variables:
        offsets = {v.name: int_attr(v.binding.offset) for v in program.variables}
        main.attributes["glow.variables"] = DictionaryAttr(offsets)
        main.attributes["glow.argument_table"] = int_attr(program.table_offset)
    return main


def declaration(function: func.FuncOp) -> func.FuncOp:
    """The external declaration of a function."""
    types = function.function_type
    return func.FuncOp.external(
        function.sym_name.data, list(types.inputs), list(types.outputs)
    )


@dataclass(frozen=True)
class InstrToLoopsPass(ModulePass):
    """Replace instr functions by loops.

    Option `target` names the machine, `backend` the one whose kernels serve instructions.
    """

    name = "instr-to-loops"
    target: str = "host"
    backend: str = "cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower each function of the module."""
        target, table = settle_plain_target(op, self.target), kernel_table(self.backend)
        VerifyInstrPass().apply(ctx, op)
        functions = [f for f in op.ops if isinstance(f, func.FuncOp) and f.body.blocks]
        emitted: dict[str, Kernel] = {}
        for function in functions:
            program = build_program(function, target, table)
            kernels = {
                name: emitted.get(name) or request.build(name, target)
                for name, request in program.requests().items()
            }
            new = [k.function for n, k in kernels.items() if n not in emitted]
            emitted.update(kernels)
            main = build_main(program, kernels, target)
            op.body.block.insert_ops_before([*new, main], function)
            function.detach()
            function.erase(safe_erase=False)
        first = op.body.block.first_op
        if first is not None and not _declares_barrier(op):
            op.body.block.insert_op_before(barrier_declaration(), first)
        op.attributes.pop(WeightsAttr.name, None)


def _declares_barrier(module: ModuleOp) -> bool:
    return any(
        isinstance(function, func.FuncOp) and function.sym_name.data == BARRIER
        for function in module.ops
    )
