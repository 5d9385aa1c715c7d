"""The pass `loops-to-llvm`: every `func.func` becomes an `llvm.func`.

A memref argument becomes a pointer to its first element and carries `llvm.noalias`
where the loops level flags it; an index becomes an integer of the width of the target's
addresses. A function without body becomes
a declaration, and so does every library function that is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, ModuleOp
from xdsl.dialects.llvm import LLVMFunctionType, LLVMVoidType
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.llvm_ir.function import BasicBlock, Function
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import RegisterLayout, layout_of
from glow.lowering.loops_to_llvm.rules import RULES
from glow.lowering.loops_to_llvm.x86.frozen_pointers import freeze_pointers
from glow.lowering.target.program_target import settle_plain_target
from glow.lowering.target.target import Target


@cache
def index_type(bits: int) -> IntegerType:
    """Returns the LLVM type of indices of so many bits."""
    return IntegerType(bits)


def flat_type(type_: Attribute, target: Target) -> Attribute:
    """Returns the LLVM type of an argument or result."""
    return only_register(type_, layout_of(type_, 16, index_type(target.index_bits)))


def only_register(type_: Attribute, layout: RegisterLayout) -> Attribute:
    """Returns the LLVM type of what a function takes or gives: one register."""
    if len(layout.types) != 1:
        raise DiagnosticException(
            f"loops-to-llvm: {type_} cannot be a function argument or result"
        )
    return layout.types[0]


def signature(function: func.FuncOp, target: Target) -> LLVMFunctionType:
    """Returns the LLVM function type of a function."""
    inputs = [flat_type(type_, target) for type_ in function.function_type.inputs]
    outputs = [flat_type(type_, target) for type_ in function.function_type.outputs]
    if len(outputs) > 1:
        name = function.sym_name.data
        raise DiagnosticException(f"loops-to-llvm: @{name} has more than one result")
    return LLVMFunctionType(inputs, outputs[0] if outputs else LLVMVoidType())


def lower_function(
    function: func.FuncOp, target: Target
) -> tuple[Function, dict[str, LLVMFunctionType]]:
    """Returns the llvm function and the types of the library functions that it calls.

    Raises DiagnosticException with the function's name for what cannot be lowered.
    """
    name = function.sym_name.data
    lowered = Function(name, signature(function, target), [])
    if function.arg_attrs is not None:
        kept = [keep_noalias(attributes) for attributes in function.arg_attrs]
        lowered.argument_attributes = ArrayAttr(kept)
    if not function.body.blocks:
        return lowered, {}
    low = FunctionLowering(RULES, target)
    try:
        lower_function_body(low, function.body.block)
    except DiagnosticException as error:
        raise DiagnosticException(f"{error} (in @{name})") from error
    if target.is_x86:
        freeze_pointers(low.blocks)
    lowered.blocks = low.blocks
    low.vectors.clear()  # Where loads that wait know the walk, and it knows them.
    return lowered, low.externals


def lower_function_body(low: FunctionLowering, block: Block) -> None:
    """Lowers the only block of a function."""
    types = [
        only_register(argument.type, low.layout_of(argument.type))
        for argument in block.args
    ]
    begin = BasicBlock(types)
    for argument, lowered in zip(block.args, begin.args, strict=True):
        lowered.name_hint = argument.name_hint
    low.open_scope(begin)
    low.bind_all(block.args, begin.args)
    low.lower_block(block)
    begin.instructions[:0] = low.builder.prologue.instructions


def keep_noalias(attributes: DictionaryAttr) -> DictionaryAttr:
    """Returns the argument attributes that mean something to LLVM."""
    data = attributes.data
    return DictionaryAttr({k: v for k, v in data.items() if k == "llvm.noalias"})


def lower_functions(functions: Iterable[func.FuncOp], target: Target) -> list[Function]:
    """Returns the llvm functions and, behind them, library declarations."""
    lowered: list[Function] = []
    externals: dict[str, LLVMFunctionType] = {}
    for function in functions:
        made, called = lower_function(function, target)
        lowered.append(made)
        externals |= called
    names = {function.name for function in lowered}
    missing = {name: type_ for name, type_ in externals.items() if name not in names}
    return [*lowered, *(Function(name, type_, []) for name, type_ in missing.items())]


def lower_module(module: ModuleOp, target: Target) -> ModuleOp:
    """Returns a new module with the functions of `module` in the llvm dialect."""
    functions: list[func.FuncOp] = []
    others: list[Operation] = []
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            functions.append(op)
        elif isinstance(op, xllvm.FuncOp):
            others.append(op.clone())
        else:
            raise DiagnosticException(f"loops-to-llvm: {op.name} is not a function")
    from glow.lowering.llvm_ir.dialect import function_op

    lowered = map(function_op, lower_functions(functions, target))
    return ModuleOp([*others, *lowered])


@dataclass(frozen=True)
class ConvertLoopsToLlvmPass(ModulePass):
    """Lowers the loops level to the llvm dialect; `target` as `Target.from_string`."""

    name = "loops-to-llvm"
    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowered = lower_module(op, settle_plain_target(op, self.target))
        op.detach_region(op.body)
        op.add_region(lowered.detach_region(lowered.body))
