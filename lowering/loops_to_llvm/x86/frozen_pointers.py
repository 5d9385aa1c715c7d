"""Pointers with constant distances that LLVM's strength reduction shall leave alone.

    %p1 = getelementptr i8, ptr %p, i64 32           %q = freeze ptr %p
    %a = load <8 x float>, ptr %p1           ->      %p1 = getelementptr i8, ptr %q, i64 32
    ... dozens of these                              %a = load <8 x float>, ptr %p1

An unrolled body of a loop reads at dozens of constant distances from few pointers. The code
generator's loop strength reduction weighs each of them as a pointer of its own that could advance
with the loop, in the loops around it too: half of the time that code generation takes for such a
kernel. On x86 a constant distance costs nothing, so there is nothing to find. It does not look
through `freeze`, which is no instruction of the machine. Elsewhere distances have few bits: there
nothing is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import llvm as xllvm
from xdsl.ir import Attribute

from glow.dialects import llvm
from glow.lowering.llvm_ir.function import BasicBlock, Instruction, Register

NO_PROPERTIES: Mapping[str, Attribute] = {}


def freeze_pointers(blocks: Sequence[BasicBlock]) -> None:
    """Freezes the pointers from which blocks read and write at constant distances; one block
    by itself has no loop.
    """
    for block in blocks if len(blocks) > 1 else ():
        pointers = {
            each.operands[0] for each in block.instructions if _is_distance(each)
        }
        if pointers:
            _freeze(block, pointers)


def _is_distance(instruction: Instruction) -> bool:
    """Whether it is an address at a constant distance from another."""
    return instruction.kind is xllvm.GEPOp and len(instruction.operands) == 1


def _freeze(block: BasicBlock, pointers: set[Register]) -> None:
    """Puts a frozen pointer before its first use."""
    instructions: list[Instruction] = []
    frozen: dict[Register, Register] = {}
    for instruction in block.instructions:
        if _is_distance(instruction) and instruction.operands[0] in pointers:
            pointer = instruction.operands[0]
            if pointer not in frozen:
                made = Instruction(
                    llvm.FreezeOp, (pointer,), pointer.type, NO_PROPERTIES
                )
                instructions.append(made)
                frozen[pointer] = made
            instruction.operands = (frozen[pointer],)
        instructions.append(instruction)
    block.instructions = instructions
