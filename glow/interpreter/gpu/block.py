"""A block of threads while it runs: values, shared memory, which threads are active."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.gpu import gpu
from glow.dialects.gpu.shared_memory import WARP
from glow.interpreter.arrays import Array
from glow.interpreter.gpu.memory import (
    Access,
    Memory,
    Report,
    count,
    misalignment,
    read_problem,
    write_problem,
)
from glow.interpreter.gpu.order import Order

Rule = Callable[["ThreadBlock", Any], Any]
"""Runs an operation: its one result, or the list of its results; or a generator of these, which
yields where its threads wait for others.
"""
Steps = Generator[None, None, list[Any]]
"""A run that yields where it waits."""


class ThreadBlock:
    """A block of a kernel while it runs."""

    def __init__(
        self,
        kernel: gpu.FuncOp,
        number: Sequence[int],
        rules: Mapping[type[Operation], Rule],
        report: Report,
    ) -> None:
        self.kernel, self.number = kernel, number
        self.rules, self.report = rules, report
        self.size = sizes_of(kernel.known_block_size)
        self.threads = prod(self.size)
        self.active = np.ones(self.threads, np.bool_)
        self.values: dict[SSAValue, Any] = {}
        self.shared: dict[str, Memory] = {}
        self.begun: list[tuple[Access, Array]] = []
        self.groups: list[list[tuple[Access, Array]]] = []
        self.order = Order(-(-self.threads // WARP))
        self.unfenced: list[Any] = []
        """Barriers with phases that are ready, and copies may not see."""
        self.issued: dict[int, list[Any]] = {}
        """Of each warpgroup, by its first thread, the products that are in no group."""
        self.products: dict[int, list[list[Any]]] = {}
        """The same, the groups of products that may not be done."""
        self.fenced: set[int] = set()
        """The warpgroups whose registers a fence has ordered before products."""
        self.progress = 0
        """What has happened that threads may wait for."""
        self.op: Operation = kernel

    def fail(self, text: str) -> GlowError:
        """An error at the operation that runs."""
        number = list(self.kernel.walk()).index(self.op)
        where = f"@{self.kernel.sym_name.data}, operation {number}, {self.op.name}"
        return GlowError(f"{where}: {text}")

    def touch(self, access: Access, is_write: bool = False) -> Access:
        """Check an access, note who it is, and count what it costs."""
        problem = misalignment(access)
        if problem is None and access.memory.is_shared:
            problem = (write_problem if is_write else read_problem)(access)
        if problem is not None:
            raise self.fail(problem)
        if is_write and access.memory.products:
            warps = np.unique(access.threads // WARP)
            self.check_products(access.memory, access.places, warps)
        count(self.report, access, self.threads)
        return access

    def check_products(self, memory: Memory, places: Array, warps: Array) -> None:
        """Raise GlowError where a warp writes what a product may read, for all it knows."""
        for entry in list(memory.products):
            product, reads = entry
            if reads[places].any():
                if not all(product.is_known(self.order, warp) for warp in warps):
                    raise self.fail("race: writes what a product may still read")
                memory.products.remove(entry)

    def run(self, block: Block) -> Steps:
        """What the last operation of a block hands on."""
        for op in block.ops:
            self.op = op
            if type(op) not in self.rules:
                raise self.fail("is no operation of kernels that is simulated")
            rule = self.rules[type(op)]
            result = rule(self, op)
            if isinstance(result, Generator):
                result = yield from cast("Steps", result)
            results = cast(
                "list[Any]", result if isinstance(result, list) else [result]
            )
            if op.results:
                self.values.update(zip(op.results, results, strict=True))
        last = block.last_op
        return [] if last is None else [self.values[value] for value in last.operands]

    def region(self, region: Region, active: Array) -> Steps:
        """What a region hands on that some threads run."""
        return self._region(region, active, self.active)

    def _region(self, region: Region, active: Array, outer: Array) -> Steps:
        self.active = active
        results = yield from self.run(region.blocks[0])
        self.active = outer
        return results

    def by_turns(self, sides: Sequence[Steps]) -> Steps:
        """What runs of different threads hand on: where one waits, another one goes on."""
        results: dict[int, Any] = {}
        while len(results) < len(sides):
            before = self.progress, len(results)
            for number, side in enumerate(sides):
                if number not in results:
                    try:
                        next(side)
                    except StopIteration as end:
                        results[number] = end.value
            if before == (self.progress, len(results)):
                yield
        return [results[number] for number in range(len(sides))]

    def together(self, by: int) -> None:
        """Raise GlowError unless each `by` threads run this, or none of them."""
        groups = self.active.reshape(-1, min(by, self.threads))
        if (groups.any(1) != groups.all(1)).any():
            raise self.fail("is in divergent code, where some threads do not run it")

    def places(
        self,
        memory: Memory,
        indices: Sequence[SSAValue],
        spans: Sequence[int],
        active: Array,
    ) -> tuple[Array, Array]:
        """The active threads, and the first element of what each touches along the axes."""
        threads = np.flatnonzero(active)
        first = np.zeros(threads.size, np.int64)
        for axis, (index, span) in enumerate(zip(indices, spans, strict=True)):
            position = np.broadcast_to(self.values[index], self.threads)[threads]
            outside = (position < 0) | (position + span > memory.shape[axis])
            if outside.any():
                raise self.fail(
                    f"index {position[outside][0]} of axis {axis}, {span} elements, is outside "
                    f"of {memory.type} (thread {threads[outside][0]} of block {self.number})"
                )
            first += position * memory.strides[axis]
        return threads, first

    def row(
        self, memory: Memory, indices: Sequence[SSAValue], width: int, active: Array
    ) -> Access:
        """The access of elements in a row by some threads."""
        spans = [*(1,) * (len(memory.shape) - 1), width]
        threads, first = self.places(memory, indices, spans, active)
        return Access(memory, threads, first[:, None] + np.arange(width), width)


def sizes_of(attribute: DenseArrayBase[IntegerType] | None) -> tuple[int, ...]:
    """The extents of a block or a grid."""
    return (1, 1, 1) if attribute is None else tuple(map(int, attribute.iter_values()))
