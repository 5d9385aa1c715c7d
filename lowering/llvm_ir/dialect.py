"""Between functions in memory and those of the llvm dialect, in both directions."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.append import append
from glow.lowering.llvm_ir.function import (
    VOID,
    BasicBlock,
    Function,
    Instruction,
    Register,
)

READ_PROPERTIES = {"sym_name", "function_type", "linkage", "arg_attrs"}

DEFAULTS: Mapping[str, Attribute] = {
    "CConv": xllvm.CallingConventionAttr("ccc"),
    "visibility_": IntegerAttr(0, 64),
    "unnamed_addr": IntegerAttr(0, 64),
}
"""Properties that need no text as long as they say this."""

# To the dialect ------------------------------------------------------------------------


def function_op(function: Function) -> xllvm.FuncOp:
    """Returns a function as an operation."""
    properties: dict[str, Attribute | None] = {}
    if function.argument_attributes is not None:
        properties["arg_attrs"] = function.argument_attributes
    return xllvm.FuncOp(
        function.name,
        function.type,
        linkage=xllvm.LinkageAttr(function.linkage),
        body=_body_region(function),
        other_props=properties,
    )


def _body_region(function: Function) -> Region:
    values: dict[Register, SSAValue] = {}
    blocks: dict[BasicBlock, Block] = {}
    for block in function.blocks:
        made = blocks[block] = Block(arg_types=[arg.type for arg in block.args])
        for before, after in zip(block.args, made.args, strict=True):
            after.name_hint = before.name_hint
            values[before] = after
    for block, made in blocks.items():
        for instruction in block.instructions:
            op = append(
                made,
                instruction.kind,
                [values[operand] for operand in instruction.operands],
                () if instruction.type is VOID else (instruction.type,),
                instruction.properties,
            )
            if instruction.successors:
                op.successors = [blocks[each] for each in instruction.successors]
            for result in op.results:
                values[instruction] = result
    return Region(blocks.values())


# From the dialect ----------------------------------------------------------------------


def verify_function(op: xllvm.FuncOp) -> None:
    """Raises DiagnosticException for a property that the text would not carry."""
    unknown = [
        name
        for name, value in op.properties.items()
        if name not in READ_PROPERTIES and DEFAULTS.get(name) != value
    ]
    if unknown or op.attributes:
        name = [*unknown, *op.attributes][0]
        raise DiagnosticException(
            f"llvm emission: unknown attribute {name} on @{op.sym_name.data}"
        )


def function_of(op: xllvm.FuncOp) -> Function:
    """Returns an operation as a function; raises DiagnosticException for what has no text."""
    verify_function(op)
    blocks = {
        block: BasicBlock([arg.type for arg in block.args]) for block in op.body.blocks
    }
    values: dict[SSAValue, Register] = {
        before: after
        for block, made in blocks.items()
        for before, after in zip(block.args, made.args, strict=True)
    }
    # All are there before one has operands, as blocks stand in any order.
    instructions = {each: _instruction(each) for block in blocks for each in block.ops}
    for each, instruction in instructions.items():
        values.update({result: instruction for result in each.results})
    for each, instruction in instructions.items():
        instruction.operands = [values[operand] for operand in each.operands]
        instruction.successors = [blocks[block] for block in each.successors]
        assert each.parent is not None
        blocks[each.parent].instructions.append(instruction)
    return Function(
        op.sym_name.data,
        op.function_type,
        list(blocks.values()),
        op.linkage.linkage.data,
        op.arg_attrs,
    )


def _instruction(op: Operation) -> Instruction:
    """An operation as an instruction whose operands are missing."""
    if op.attributes:
        names = ", ".join(op.attributes)
        raise DiagnosticException(
            f"llvm emission: unknown attribute {names} on {op.name}"
        )
    if op.regions or len(op.results) > 1:
        raise DiagnosticException(f"llvm emission: unknown op {op.name}")
    type_ = op.results[0].type if op.results else VOID
    return Instruction(type(op), (), type_, dict(op.properties))
