"""The `instr` dialect: address-only instructions on memory (Glow's low-level IR).

A function works on memrefs; its results are `@out` arguments. Operands carry the
qualifiers `@out` (written), `@inout` (read and written) and `@in` (read), from which
memory effects, liveness, buffer sharing and dead-store elimination follow. Each
computing instruction has the mnemonic, attributes and shape rule of its node
(`instr.conv2d` of `glow.conv2d`, `instr.cpu.conv2d` of `cpu.conv2d`).

    %a = instr.alloc : memref<1x64x112x112xf32>
    instr.conv2d @out %a, @in %x, @in %w, @in %b strides [2, 2] pads [3, 3, 3, 3]
    instr.max @out %a, @in %a, @in %zero
    instr.dealloc %a

After `plan-memory` an `instr.alloc` carries its byte offset in the function's arena.

| file              | operations                                          |
|-------------------|-----------------------------------------------------|
| `memory.py`       | buffers, weights, variables, views                        |
| `instructions.py` | the base of all instructions; copy, splat, ...      |
| `table.py`        | the instructions that follow from nodes             |
"""

from glow.dialects.instr.instructions import (
    NODE_OF,
    QUALIFIERS,
    CopyOp,
    InsertOp,
    InstructionOp,
    QualifiedEffects,
    SplatOp,
    StackedOp,
)
from glow.dialects.instr.memory import (
    AllocOp,
    DeallocOp,
    DynamicViewOp,
    MemoryOp,
    TensorviewOp,
    VariableOp,
    WeightOp,
)
from glow.dialects.instr.table import find_instruction, instr_dialect, instruction_of
from glow.dialects.node import SEGMENTS, operand_segments_attr

__all__ = [
    "NODE_OF", "QUALIFIERS", "SEGMENTS", "AllocOp", "CopyOp",
    "DeallocOp", "DynamicViewOp", "InsertOp", "InstructionOp", "MemoryOp",
    "QualifiedEffects", "SplatOp", "StackedOp", "TensorviewOp", "VariableOp",
    "WeightOp", "find_instruction", "instr_dialect", "instruction_of", "operand_segments_attr",
]  # fmt: skip
