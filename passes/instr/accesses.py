"""Who reads and writes which bytes: the ground of copy elimination and scheduling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import instr
from glow.dialects.node import shape_of
from glow.passes.instr.buffers import byte_size, root_of


@dataclass(frozen=True)
class Access:
    """A use of bytes [start, end) of the memory `root` at top-level position `at`."""

    root: SSAValue
    start: int
    end: int
    at: int
    op: Operation
    value: SSAValue
    reads: bool
    writes: bool

    def overlaps(self, other: Access) -> bool:
        """Whether both touch a common byte."""
        return (
            self.root is other.root
            and self.start < other.end
            and other.start < self.end
        )


def byte_range(buffer: SSAValue) -> tuple[int, int]:
    """The bytes of its root that a buffer may name."""
    offset, size = 0, byte_size(buffer)
    owner = buffer.owner
    while isinstance(owner, instr.TensorviewOp | instr.DynamicViewOp):
        if isinstance(owner, instr.DynamicViewOp):
            # Any element may be meant, so the whole source counts.
            offset, size = 0, byte_size(owner.source)
        else:
            item = byte_size(owner.source) // _elements(owner.source)
            offset += owner.offset.value.data * item
        owner = owner.source.owner
    return offset, offset + size


def _elements(buffer: SSAValue) -> int:
    return max(prod(shape_of(buffer)), 1)


class AccessTable:
    """All accesses of a function's block, by root and in program order.

    Operations inside a loop count at the loop's position, with their own effects.
    """

    def __init__(self, block: Block) -> None:
        self.ops = list(block.ops)
        self.position: dict[Operation, int] = {}
        self.by_root: dict[SSAValue, list[Access]] = {}
        for at, op in enumerate(self.ops):
            self.position[op] = at
            for inner in op.walk():
                if isinstance(inner, instr.InstructionOp):
                    self._add(inner, at)

    def _add(self, op: instr.InstructionOp, at: int) -> None:
        effects = (
            *((value, False, True) for value in op.outs),
            *((value, True, True) for value in op.inouts),
            *((value, True, False) for value in op.ins),
        )
        for value, reads, writes in effects:
            if not isinstance(value.type, MemRefType):
                continue
            root = root_of(value)
            start, end = byte_range(value)
            access = Access(root, start, end, at, op, value, reads, writes)
            self.by_root.setdefault(root, []).append(access)

    def forget(self, op: Operation) -> None:
        """Drop an operation that is removed; positions of the others stay."""
        for value in {root_of(operand) for operand in op.operands}:
            kept = [access for access in self.by_root[value] if access.op is not op]
            self.by_root[value] = kept

    def move(self, source: SSAValue, target: SSAValue) -> None:
        """Count the accesses of the root `source` as those of the buffer `target`."""
        root, (shift, _) = root_of(target), byte_range(target)
        moved = [
            replace(
                access, root=root, start=access.start + shift, end=access.end + shift
            )
            for access in self.by_root.pop(source, [])
        ]
        self.by_root.setdefault(root, []).extend(moved)

    def of(self, buffer: SSAValue) -> list[Access]:
        """The accesses to a buffer's root."""
        return self.by_root.get(root_of(buffer), [])


def functions_of(module: Operation) -> list[func.FuncOp]:
    """The functions of a module that have a body."""
    return [
        op
        for region in module.regions
        for op in region.block.ops
        if isinstance(op, func.FuncOp) and op.body.blocks
    ]
