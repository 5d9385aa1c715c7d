"""Who reads and writes which bytes: the ground of all instruction passes."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseArrayBase, MemRefType
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import instr
from glow.dialects.node import SEGMENTS, shape_of
from glow.passes.instr.buffers import byte_size
from glow.passes.rewriting.operations import all_operations


class BufferRange(NamedTuple):
    """The memory that a buffer names: bytes [start, end) of its `root`.

    Where a loop's index selects an element, the range is all that may be meant and
    `path` says which: equal places are the same memory in the same iteration.
    """

    root: SSAValue
    start: int
    end: int
    path: tuple[SSAValue | int, ...] = ()

    def overlaps(self, other: BufferRange) -> bool:
        """Whether both may name a common byte."""
        return (
            self.root is other.root
            and self.start < other.end
            and other.start < self.end
        )

    def covers(self, other: BufferRange) -> bool:
        """Whether writing this place overwrites the other for certain."""
        return (
            self.root is other.root
            and not self.path
            and self.start <= other.start
            and other.end <= self.end
        )


def place_of(
    buffer: SSAValue, known: dict[SSAValue, BufferRange] | None = None
) -> BufferRange:
    """The memory that a buffer names; `known` remembers what was looked up."""
    known = {} if known is None else known
    place = known.get(buffer)
    if place is None:
        place = known[buffer] = _find_place(buffer, known)
    return place


def _find_place(buffer: SSAValue, known: dict[SSAValue, BufferRange]) -> BufferRange:
    owner, size = buffer.owner, byte_size(buffer)
    if isinstance(owner, instr.TensorviewOp):
        source = place_of(owner.source, known)
        offset = owner.offset.value.data * (size // _elements(buffer))
        if source.path:
            return source._replace(path=(*source.path, offset, size))
        start = source.start + offset
        return BufferRange(source.root, start, start + size)
    if isinstance(owner, instr.DynamicViewOp):
        source = place_of(owner.source, known)
        return source._replace(path=(*source.path, owner.index, size))
    return BufferRange(buffer, 0, size)


def _elements(buffer: SSAValue) -> int:
    return max(prod(shape_of(buffer)), 1)


class Access(NamedTuple):
    """A use of a place by an operation, at position `at` of the table's operations."""

    place: BufferRange
    at: int
    op: Operation
    value: SSAValue
    reads: bool
    writes: bool

    def conflicts(self, other: Access) -> bool:
        """Whether the order of the two matters."""
        return (self.writes or other.writes) and self.place.overlaps(other.place)


class AccessTable:
    """All accesses of a function's block, by root and in program order.

    Operations inside a loop count at the loop's position, with their own effects.
    """

    def __init__(self, block: Block, ops: Iterable[Operation] | None = None) -> None:
        self.ops = list(block.ops if ops is None else ops)
        self.position: dict[Operation, int] = {}
        self.by_root: dict[SSAValue, list[Access]] = {}
        self.by_op: dict[Operation, list[Access]] = {}
        """The accesses of each operation of the block, loops with all they hold."""
        self.places: dict[SSAValue, BufferRange] = {}
        for at, op in enumerate(self.ops):
            self.position[op] = at
            accesses: list[Access] = []
            for inner in all_operations(op) if op.regions else (op,):
                if isinstance(inner, instr.InstructionOp):
                    accesses.extend(self._accesses(inner, at))
                elif isinstance(inner, memref.LoadOp):
                    place = self.place(inner.memref)
                    accesses.append(Access(place, at, inner, inner.memref, True, False))
            if accesses:
                self.by_op[op] = accesses
            for access in accesses:
                self.by_root.setdefault(access.place.root, []).append(access)

    def _accesses(self, op: instr.InstructionOp, at: int) -> list[Access]:
        found: list[Access] = []
        outs, written = _written_operands(op)
        for number, value in enumerate(op.operands):
            if isinstance(value.type, MemRefType):
                place = self.place(value)
                reads, writes = number >= outs, number < written
                found.append(Access(place, at, op, value, reads, writes))
        return found

    def place(self, buffer: SSAValue) -> BufferRange:
        """The memory that a buffer names, looked up once."""
        return place_of(buffer, self.places)

    def forget(self, op: Operation) -> None:
        """Drop an operation that is removed; positions of the others stay."""
        self.by_op.pop(op, None)
        for root in {self.place(operand).root for operand in op.operands}:
            kept = [access for access in self.by_root[root] if access.op is not op]
            self.by_root[root] = kept

    def move(self, source: SSAValue, into: BufferRange) -> None:
        """Count the accesses of the root `source` as those of the place `into`."""
        moved = [
            access._replace(place=_shifted(access.place, into))
            for access in self.by_root.pop(source, [])
        ]
        for access in moved:
            # The value keeps its name but is a view of the target from now on.
            self.places[access.value] = access.place
        self.places[source] = into
        self.by_root.setdefault(into.root, []).extend(moved)

    def of(self, buffer: SSAValue) -> list[Access]:
        """The accesses to a buffer's root."""
        return self.by_root.get(self.place(buffer).root, [])


def _written_operands(op: instr.InstructionOp) -> tuple[int, int]:
    """How many operands come first as @out, and as @out or @inout."""
    sizes = op.properties[SEGMENTS]  # once, since each accessor would unpack it again
    assert isinstance(sizes, DenseArrayBase)
    outs, inouts, _ = sizes.get_values()
    return outs, outs + inouts


def _shifted(place: BufferRange, into: BufferRange) -> BufferRange:
    """The place in a whole buffer, once that buffer is the place `into`."""
    if into.path:
        offset = (place.start, place.end - place.start)
        return into._replace(path=(*into.path, *offset, *place.path))
    return BufferRange(
        into.root, into.start + place.start, into.start + place.end, place.path
    )


def functions_of(module: Operation) -> list[func.FuncOp]:
    """The functions of a module that have a body."""
    return [
        op
        for region in module.regions
        for op in region.block.ops
        if isinstance(op, func.FuncOp) and op.body.blocks
    ]
