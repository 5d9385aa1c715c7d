"""Makes a function fit into `limit` bytes: another order, and values computed again.

Runs right before `plan-memory`, when the instructions are what they will be. While too
much is alive, it first asks for the best order of instructions, then looks for a buffer
that waits through the peak: if its instruction is cheap, and what that reads is there
still, a copy of the instruction runs again right before the readers after the peak. So
activations of the forward graph are made again for the backward one. The function says which
were (`glow.recomputed`).

    instr.relu @out %a, @in %x              instr.relu @out %a, @in %x
    instr.pool @out %b, @in %a              instr.pool @out %b, @in %a
    ... (much is alive)               ->    ... (less by the size of %a)
    instr.add @out %y, @in %a, @in %c       instr.relu @out %a2, @in %x
                                            instr.add @out %y, @in %a2, @in %c

What still does not fit is left to `plan-memory{limit=...}`, which names the peak.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.dialects.function_attributes import RECOMPUTED
from glow.dialects.locations import node_name
from glow.passes.instr.accesses import Access, AccessTable, functions_of
from glow.passes.instr.arrange import arrange, working_ops
from glow.passes.instr.dependencies import allocations, dependencies_of
from glow.passes.instr.schedule_for_memory import best_order

Integers: TypeAlias = npt.NDArray[np.int64]

CHEAP = {
    f"instr.{name}"
    for name in (
        "copy", "splat", "transpose", "slice", "pad", "tile", "broadcast", "gather",
        "cpu.pack", "cpu.unpack",
    )
}  # fmt: skip
"""Instructions that only move, besides those that work element by element."""

MOST_RECOMPUTED = 100

TARGETS = (1.0, 0.9, 0.8, 0.65, 0.5)
"""Shares of the limit that are aimed at, one after the other."""


@dataclass(frozen=True)
class Recomputation:
    """Run the instruction at `made` again before `again`, the first of some accesses.

    The one before is at `before`.
    """

    buffer: SSAValue
    made: int
    before: int
    again: int


@dataclass(frozen=True)
class Lives:
    """The instructions that touch each buffer first and last, and its bytes."""

    first: Integers
    last: Integers
    sizes: Integers
    count: int
    """Of instructions."""

    @classmethod
    def of(cls, uses: Sequence[Sequence[int]], sizes: Sequence[int]) -> Self:
        """Those of buffers that instructions use."""
        first = np.zeros(len(sizes), np.int64)
        last = np.zeros(len(sizes), np.int64)
        for at in reversed(range(len(uses))):
            first[uses[at]] = at
        for at, used in enumerate(uses):
            last[used] = at
        return cls(first, last, np.array(sizes, np.int64), len(uses))

    def live(self) -> Integers:
        """The bytes alive at each instruction."""
        change = np.zeros(self.count + 1, np.int64)
        np.add.at(change, self.first, self.sizes)
        np.subtract.at(change, self.last + 1, self.sizes)
        return np.cumsum(change[:-1])

    def excess(self, limit: int) -> int:
        """How much is over the limit, summed over the instructions."""
        return int(np.maximum(self.live() - limit, 0).sum())

    def after(self, new: Recomputation, number: int, read: Sequence[int]) -> Lives:
        """The lives once a buffer of that number is made again of what is `read`."""
        first = self.first + (self.first >= new.again)
        last = self.last + (self.last >= new.again)
        end = last[number]
        last[number] = new.before
        last[list(read)] = np.maximum(last[list(read)], new.again)
        return Lives(
            np.append(first, new.again),
            np.append(last, end),
            np.append(self.sizes, self.sizes[number]),
            self.count + 1,
        )


class MemoryFitter:
    """Lowers the peak of one function's block."""

    def __init__(self, function: func.FuncOp, limit: int) -> None:
        self.block = function.body.block
        self.limit = limit
        self.recomputed: list[str] = []
        """The names of the buffers that are made again."""
        arrange(self.block)  # no buffer lives longer than it is used
        self._look()

    def _look(self) -> None:
        self.table = AccessTable(self.block, working_ops(self.block))
        self.numbers, uses, sizes = allocations(self.table)
        self.lives = Lives.of(uses, sizes)

    def run(self) -> None:
        """Reorder, then compute again, until it fits or nothing helps.

        A lower target shows what helps where no single step does, and other orders are good
        when less waits.
        """
        for share in TARGETS:
            if self._fits():
                return
            order = best_order(dependencies_of(self.table))
            arrange(self.block, [self.table.ops[number] for number in order])
            self._look()
            target = int(self.limit * share)
            while not self._fits() and len(self.recomputed) < MOST_RECOMPUTED:
                best = self._best(target)
                if best is None:
                    break
                self._recompute(best)

    def _fits(self) -> bool:
        return not self.lives.excess(self.limit)

    def _best(self, target: int) -> Recomputation | None:
        """What lowers the excess over a target most."""
        least, best = self.lives.excess(target), None
        for candidate in self._candidates(target):
            number = self.numbers[candidate.buffer]
            read = self._read(candidate.made)
            after = self.lives.after(candidate, number, read).excess(target)
            if after < least:
                least, best = after, candidate
        return best

    def _read(self, at: int) -> list[int]:
        """The numbers of the buffers that an instruction reads."""
        accesses = self.table.by_op[self.table.ops[at]]
        roots = dict.fromkeys(access.place.root for access in accesses if access.reads)
        return [self.numbers[root] for root in roots if root in self.numbers]

    def _candidates(self, target: int) -> Iterator[Recomputation]:
        peaks = np.flatnonzero(self.lives.live() > target)
        for root, accesses in self.table.by_root.items():
            made = self._maker(root, accesses)
            if made is None:
                continue
            written = min(
                (a.at for a in accesses if a.writes and a.at != made), default=None
            )
            places = sorted({access.at for access in accesses} - {made})
            for before, after in zip([made, *places], places, strict=False):
                if written is not None and before >= written:
                    break
                waits = np.any((peaks > before) & (peaks < after))
                if waits and self._may_run(made, after):
                    yield Recomputation(root, made, before, after)

    def _maker(self, root: SSAValue, accesses: Sequence[Access]) -> int | None:
        """The cheap instruction that writes all of a buffer, before others do."""
        if not isinstance(root.owner, instr.AllocOp):
            return None
        writer = min(accesses, key=lambda access: access.at)
        others = [a for a in accesses if a.at == writer.at and a is not writer]
        is_first = writer.writes and not writer.reads and not others
        op = self.table.ops[writer.at]
        if (
            not is_first
            or writer.place != self.table.place(root)
            or op is not writer.op
        ):
            return None
        assert isinstance(op, instr.InstructionOp)
        is_cheap = op.is_data_parallel or op.name in CHEAP
        is_alone = len(op.outs) == 1 and not op.inouts
        return writer.at if is_cheap and is_alone else None

    def _may_run(self, made: int, again: int) -> bool:
        """Whether what the instruction reads is the same later."""
        reads = [a for a in self.table.by_op[self.table.ops[made]] if a.reads]
        return not any(
            other.writes
            and made < other.at < again
            and other.place.overlaps(read.place)
            for read in reads
            for other in self.table.by_root[read.place.root]
        )

    def _recompute(self, new: Recomputation) -> None:
        maker, reader = self.table.ops[new.made], self.table.ops[new.again]
        buffer = instr.AllocOp.build_memory(
            [], cast("MemRefType[Attribute]", new.buffer.type)
        )
        buffer.location = maker.location
        buffer.result.name_hint = new.buffer.name_hint
        dealloc = instr.DeallocOp.create(operands=[buffer.result])
        copy = maker.clone()
        copy.location = maker.location
        self.block.insert_ops_before([buffer, copy], reader)
        assert self.block.last_op is not None
        self.block.insert_op_before(dealloc, self.block.last_op)
        renamed = Renaming(new.buffer, buffer.result)
        renamed.apply(copy)
        for op in self.table.ops[new.again :]:
            for inner in op.walk():
                renamed.apply(inner)
        arrange(self.block)
        name = new.buffer.name_hint or node_name(maker) or maker.name
        self.recomputed.append(name)
        self._look()


class Renaming:
    """Puts a buffer, and views of it, in the place of another."""

    def __init__(self, old: SSAValue, new: SSAValue) -> None:
        self.known: dict[SSAValue, SSAValue] = {old: new}

    def apply(self, op: Operation) -> None:
        """Rename what an operation uses."""
        for number, operand in enumerate(op.operands):
            renamed = self._renamed(operand, op)
            if renamed is not operand:
                op.operands[number] = renamed

    def _renamed(self, value: SSAValue, user: Operation) -> SSAValue:
        owner = value.owner
        if value not in self.known and isinstance(owner, instr.TensorviewOp):
            source = self._renamed(owner.source, user)
            if source is not owner.source:
                view = owner.clone({owner.source: source})
                assert owner.parent is not None
                source_op = cast("Operation", source.owner)
                owner.parent.insert_op_after(view, source_op)
                self.known[value] = view.results[0]
        return self.known.get(value, value)


@dataclass(frozen=True)
class FitMemoryPass(ModulePass):
    """Reorder and compute again what otherwise takes more than `limit` bytes."""

    name = "fit-memory"
    limit: int

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fit each function."""
        for function in functions_of(op):
            fitter = MemoryFitter(function, self.limit)
            fitter.run()
            if fitter.recomputed:
                names = [StringAttr(name) for name in fitter.recomputed]
                function.attributes[RECOMPUTED] = ArrayAttr(names)
