"""Makes a function fit into `limit` bytes: another order, and values computed again.

Runs right before `plan-memory`, when the instructions are what they will be. While too
much is alive, it first asks for the best order of instructions, then looks for a buffer
that waits through the peak: if its instruction is cheap, and what that reads is there
still, a copy of the instruction runs again right before the readers after the peak.

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
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import Access, AccessTable, functions_of
from glow.passes.instr.arrange import arrange, working_ops
from glow.passes.instr.dependencies import dependencies_of
from glow.passes.instr.schedule_for_memory import best_order

CHEAP = {
    f"instr.{name}"
    for name in (
        "copy", "splat", "transpose", "slice", "pad", "tile", "broadcast", "gather",
        "cpu.pack", "cpu.unpack",
    )
}  # fmt: skip
"""Instructions that only move, besides those that work element by element."""

MOST_RECOMPUTED = 100


@dataclass(frozen=True)
class Recomputation:
    """Run the instruction at `made` again before `again`, the first of some readers."""

    buffer: SSAValue
    made: int
    again: int


class MemoryFitter:
    """Lowers the peak of one function's block."""

    def __init__(self, function: func.FuncOp, limit: int) -> None:
        self.block = function.body.block
        self.limit = limit
        arrange(self.block)  # no buffer lives longer than it is used
        self._look()

    def _look(self) -> None:
        self.table = AccessTable(self.block, working_ops(self.block))
        self.graph = dependencies_of(self.table)

    def run(self) -> None:
        """Reorder, then compute again, until it fits or nothing helps."""
        if not excess(self.graph.uses, self.graph.sizes, self.limit):
            return
        self._arrange(best_order(self.graph))
        for _ in range(MOST_RECOMPUTED):
            best = self._best()
            if best is None:
                return
            self._recompute(best)

    def _arrange(self, order: Sequence[int]) -> None:
        arrange(self.block, [self.table.ops[number] for number in order])
        self._look()

    def _best(self) -> Recomputation | None:
        """What lowers the excess most."""
        least, best = excess(self.graph.uses, self.graph.sizes, self.limit), None
        for candidate in self._candidates() if least else ():
            after = excess(*self._uses_after(candidate), self.limit)
            if after < least:
                least, best = after, candidate
        return best

    def _candidates(self) -> Iterator[Recomputation]:
        live = live_bytes(self.graph.uses, self.graph.sizes)
        peaks = [at for at, size in enumerate(live) if size > self.limit]
        for root, accesses in self.table.by_root.items():
            made = self._maker(root, accesses)
            if made is None:
                continue
            readers = sorted({access.at for access in accesses} - {made})
            for before, after in zip([made, *readers], readers, strict=False):
                waits = any(before < peak < after for peak in peaks)
                if waits and self._may_run(made, after):
                    yield Recomputation(root, made, after)

    def _maker(self, root: SSAValue, accesses: Sequence[Access]) -> int | None:
        """The one cheap instruction that writes all of a buffer."""
        writers = [access for access in accesses if access.writes]
        if not isinstance(root.owner, instr.AllocOp) or len(writers) != 1:
            return None
        (writer,) = writers
        is_first = not writer.reads and writer.place == self.table.place(root)
        op = self.table.ops[writer.at]
        if not is_first or op is not writer.op:
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

    def _uses_after(self, new: Recomputation) -> tuple[list[list[int]], list[int]]:
        """The buffers of each instruction, and their sizes, after a recomputation."""
        made = self.graph.uses[new.made]
        (written,) = (a for a in self.table.by_root[new.buffer] if a.writes)
        old = self._number(written)
        again = len(self.graph.sizes)
        uses = [
            [again if at >= new.again and buffer == old else buffer for buffer in used]
            for at, used in enumerate(self.graph.uses)
        ]
        uses.insert(new.again, [again if buffer == old else buffer for buffer in made])
        return uses, [*self.graph.sizes, self.graph.sizes[old]]

    def _number(self, access: Access) -> int:
        """The number of an access's buffer in the graph."""
        roots = dict.fromkeys(
            root.place.root
            for op in self.table.ops
            for root in self.table.by_op.get(op, ())
            if isinstance(root.place.root.owner, instr.AllocOp)
        )
        return list(roots).index(access.place.root)

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


def live_bytes(uses: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """The bytes alive at each instruction."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, used in enumerate(uses):
        for buffer in used:
            first.setdefault(buffer, at)
            last[buffer] = at
    change = [0] * (len(uses) + 1)
    for buffer, at in first.items():
        change[at] += sizes[buffer]
        change[last[buffer] + 1] -= sizes[buffer]
    live = 0
    found: list[int] = []
    for number in change[:-1]:
        live += number
        found.append(live)
    return found


def excess(uses: Sequence[Sequence[int]], sizes: Sequence[int], limit: int) -> int:
    """How much is over the limit, summed over the instructions."""
    return sum(max(live - limit, 0) for live in live_bytes(uses, sizes))


@dataclass(frozen=True)
class FitMemoryPass(ModulePass):
    """Reorder and compute again what otherwise takes more than `limit` bytes."""

    name = "fit-memory"
    limit: int

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fit each function."""
        for function in functions_of(op):
            MemoryFitter(function, self.limit).run()
