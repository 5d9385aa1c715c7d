"""How threads share a kernel call, and which barrier two calls need between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from glow.backends.cpu.program.program import KernelCall
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.core import Core
from glow.passes.instr.buffers import byte_size

TOUCHED_PER_CYCLE = 4
"""Bytes that a small kernel reads or writes in a cycle."""


def serial_bytes(core: Core) -> int:
    """A call that touches fewer bytes is not shared between threads: it takes less time than
    a barrier.
    """
    return 1 << (TOUCHED_PER_CYCLE * core.barrier_cycles - 1).bit_length()


@dataclass(frozen=True)
class SharedCall:
    """A call and how threads share it; `work_items` is 0 if the first thread does it alone."""

    call: KernelCall
    kernel: Kernel
    work_items: int
    synchronized: set[int] = field(default_factory=set)
    """Threads whose number does not divide one of these have synchronized since."""

    def barrier_before(self, earlier: SharedCall) -> int:
        """The barrier between the calls: 0 if there is none, 1 if it is for all threads.

        n > 1: only if their number does not divide n. Else each touches those of n parts
        that it has touched before.
        """
        pairs = list(self.call.conflicting(earlier.call))
        if not pairs or not (self.work_items or earlier.work_items):
            return 0
        if not all(self._cuts_alike(mine, earlier, theirs) for mine, theirs in pairs):
            return 1
        parts = gcd(self.work_items, earlier.work_items)
        return (
            0
            if any(parts % synchronized == 0 for synchronized in earlier.synchronized)
            else parts
        )

    def _cuts_alike(self, mine: int, earlier: SharedCall, theirs: int) -> bool:
        """Whether equal parts of the work items touch equal parts of a buffer."""
        runs = self._runs(mine)
        same = self.call.bindings[mine] == earlier.call.bindings[theirs]
        return same and runs > 0 and runs == earlier._runs(theirs)

    def _runs(self, buffer: int) -> int:
        """The runs of a buffer; 0 of one that is not the whole binding."""
        view = self.kernel.function.function_type.inputs.data[buffer]
        whole = byte_size(view) == self.call.bindings[buffer].size
        return self.kernel.runs_of(buffer) if whole and self.work_items else 0
