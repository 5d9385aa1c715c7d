"""Barriers with phases in the simulator (`nvgpu.mbarrier`).

A phase ends when all threads have arrived and all bytes are there that were expected; copies land
at that moment. A wait lets other threads of the block run. What the hardware leaves open is an
error: a barrier that is not ready, or whose making ready a warp does not know of; a phase that
never ends; more arrivals than there may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects.gpu import bulk_copies, nvvm
from glow.dialects.gpu.shared_memory import WARP
from glow.interpreter.arrays import Array
from glow.interpreter.gpu.block import Rule, ThreadBlock
from glow.interpreter.gpu.order import Order, Stamp


class Barrier:
    """A barrier in shared memory."""

    def __init__(self, order: Order) -> None:
        self.order, self.clock = order, order.add()
        self.count = self.missing = self.phases = self.bytes = 0
        self.init: Stamp | None = None
        self.is_fenced = False
        self.landings: list[Callable[[Stamp], None]] = []
        """What happens when the phase ends."""
        self.ended = order.known[self.clock].copy()
        """What was known when the last phase ended."""

    def advance(self) -> bool:
        """Ends the phase if all and everything is there."""
        if self.missing or self.bytes:
            return False
        for land in self.landings:
            land(self.order.now(self.clock))
        self.ended = self.order.known[self.clock].copy()
        self.order.known[self.clock, self.clock] += 1
        self.phases, self.missing, self.landings = self.phases + 1, self.count, []
        return True

    def has_ended(self, parity: bool) -> bool:
        """Whether the last phase of a parity is over; before the first one an odd one is."""
        return bool(self.phases & 1) != parity


def threads_of(
    run: ThreadBlock, barriers: SSAValue, number: SSAValue
) -> Iterator[tuple[Barrier, Array]]:
    """Each barrier that is used, with its threads; raises GlowError for one that is not ready."""
    numbers = np.broadcast_to(run.values[number], run.threads)
    for each in np.unique(numbers[run.active]):
        if not 0 <= each < len(run.values[barriers]):
            raise run.fail(f"there is no barrier {each}")
        barrier: Barrier = run.values[barriers][each]
        threads = np.flatnonzero(run.active & (numbers == each))
        if barrier.init is None:
            raise run.fail(f"barrier {each} is not ready: nobody gave it a count")
        for warp in np.unique(threads // WARP):
            if not run.order.knows(warp, barrier.init):
                raise run.fail(f"race: barrier {each} may not be ready yet")
        yield barrier, threads


def only_thread(run: ThreadBlock) -> int:
    """The thread that does what one thread does; raises GlowError for several."""
    threads = np.flatnonzero(run.active)
    if len(threads) != 1:
        raise run.fail(f"{len(threads)} threads do what one does")
    return int(threads[0])


def create(run: ThreadBlock, op: bulk_copies.CreateOp) -> list[list[Barrier]]:
    count = bulk_copies.group_of(op.barriers).count.data
    return [[Barrier(run.order) for _ in range(count)]]


def init(run: ThreadBlock, op: bulk_copies.InitOp) -> None:
    thread = only_thread(run)
    barrier: Barrier = run.values[op.barriers][int(run.values[op.number].flat[0])]
    if barrier.init is not None:
        raise run.fail("makes a barrier ready a second time")
    barrier.count = barrier.missing = int(run.values[op.count].flat[0])
    barrier.init = run.order.now(thread // WARP)
    run.unfenced.append(barrier)


def fence(run: ThreadBlock, op: Operation) -> None:
    """Shows barriers to copies that the active warps have made ready."""
    warps = set(np.flatnonzero(run.active) // WARP)
    for barrier in run.unfenced:
        barrier.is_fenced = barrier.init is not None and barrier.init.clock in warps


def arrive(
    run: ThreadBlock, op: bulk_copies.ArriveOp | bulk_copies.ExpectOp
) -> list[None]:
    for barrier, threads in threads_of(run, op.barriers, op.number):
        if isinstance(op, bulk_copies.ExpectOp):
            sizes = np.broadcast_to(run.values[op.bytes_], run.threads)
            barrier.bytes += int(sizes[threads].sum())
        barrier.missing -= len(threads)
        if barrier.missing < 0:
            raise run.fail(f"more than {barrier.count} threads arrive in a phase")
        for warp in np.unique(threads // WARP):
            run.order.tell(warp, barrier.clock)
        run.progress += 1
        barrier.advance()
    return [None] * len(op.results)


def await_phase(run: ThreadBlock, op: bulk_copies.TryWaitOp) -> Iterator[None]:
    active, parities = run.active, np.broadcast_to(run.values[op.parity], run.threads)
    for barrier, threads in list(threads_of(run, op.barriers, op.number)):
        for parity in np.unique(parities[threads]):
            while not barrier.has_ended(bool(parity)):
                yield
                run.active, run.op = active, op
        for warp in np.unique(threads // WARP):
            run.order.learn(warp, barrier.ended)


RULES: dict[type[Operation], Rule] = {
    bulk_copies.CreateOp: create,
    bulk_copies.InitOp: init,
    bulk_copies.ArriveOp: arrive,
    bulk_copies.ExpectOp: arrive,
    bulk_copies.TryWaitOp: await_phase,
    nvvm.FenceBarriersOp: fence,
}
