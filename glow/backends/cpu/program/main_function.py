"""`main`: one native call per inference.

All threads run the whole program; each takes its part of the work items of a kernel, and a barrier
separates calls whose order matters. There is none where each thread would wait for itself
alone: between calls that the first thread makes, and where a thread's work items of all buffers
that matter are the same in both calls. They are if the number of threads divides the work items,
which the first lines of `main` find out; else the barrier's threads are all of them.

Branches and loops are those of the program. All threads take the same way: before one reads
a condition there is a barrier behind which nobody writes it, and who writes it next waits until
all have read it.

Where an argument is, or a shared constant, `main` reads in a table. Small kernels run on the
first thread alone, since sharing them costs more than it saves. Results do not depend on the
number of threads.

    func.func @main(%constants: memref<Cxi8>, %mutables: memref<Mxi8>,
                    %activations: memref<Axi8>, %thread: index, %threads: index,
                    %barrier: memref<64xi8>)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from xdsl.builder import Builder
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i8,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from glow.backends.cpu.program.call_order import SharedCall, serial_bytes
from glow.backends.cpu.program.externals import (
    BARRIER,
    BARRIER_BYTES,
    TICK,
    TraceRegion,
)
from glow.backends.cpu.program.guard import insert_test
from glow.backends.cpu.program.program import (
    Branch,
    BufferBinding,
    Guard,
    KernelCall,
    Load,
    Loaded,
    Loop,
    MemorySpace,
    Program,
    Step,
    While,
)
from glow.backends.cpu.program.tables import TableEntry, entry_of
from glow.dialects import arith
from glow.dialects.errors import GlowError
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.core import Core
from glow.passes.instr.buffers import byte_size

MEMORY_SPACES: Sequence[MemorySpace] = ("constants", "mutables", "activations")
MOST_PENDING = 64
"""After so many calls that no barrier for all threads followed there is one: each later call
is compared with all of them."""

INDEX = IndexType()


class MainBuilder:
    """Builds the function; see the module's docstring."""

    def __init__(
        self,
        program: Program,
        kernels: Mapping[str, Kernel],
        core: Core,
        trace: TraceRegion | None = None,
    ) -> None:
        self.program = program
        self.kernels = kernels
        self.serial_bytes = serial_bytes(core)
        self.trace = trace
        types: list[Attribute] = [
            MemRefType(i8, [max(program.sizes[space], 1)]) for space in MEMORY_SPACES
        ]
        types += [INDEX, INDEX, MemRefType(i8, [BARRIER_BYTES])]
        self.types = types
        self.block = Block(arg_types=types)
        names = (*MEMORY_SPACES, "thread", "threads", "barrier")
        for argument, name in zip(self.block.args, names, strict=True):
            argument.name_hint = name
        self.spaces: dict[MemorySpace, SSAValue] = dict(
            zip(MEMORY_SPACES, self.block.args, strict=False)
        )
        self.thread, self.threads, self.barrier = self.block.args[3:]
        self.prologue = Block()
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.hoisted = Builder(InsertPoint.at_end(self.prologue))
        self.constants: dict[int, SSAValue] = {}
        self.work_items: dict[tuple[int, bool], tuple[SSAValue, SSAValue]] = {}
        self.views: dict[tuple[BufferBinding, Attribute], SSAValue] = {}
        self.indices: dict[int, SSAValue] = {}
        self.own_trace: SSAValue | None = None
        self.tables: dict[int, SSAValue] = {}
        """By where they are in the mutables."""
        self.entries: dict[tuple[int, int], SSAValue] = {}
        self.shared: list[SharedCall] = []
        """The calls since the last barrier for all threads that threads share."""
        self.serial: list[SharedCall] = []
        """Those of the first thread alone, of which none waits for another."""
        self.loaded: dict[int, SSAValue] = {}
        self.read: list[BufferBinding] = []
        """What all threads have read themselves since that barrier."""
        self.waiting: dict[int, SSAValue] = {}

    def run(self) -> func.FuncOp:
        """The function `main` of the program."""
        self._steps(self.program.steps)
        self.builder.insert(func.ReturnOp())
        for op in reversed(list(self.prologue.ops)):
            op.detach()
            first = self.block.first_op
            assert first is not None
            self.block.insert_op_before(op, first)
        return func.FuncOp(
            self.program.name,
            FunctionType.from_lists(self.types, []),
            Region(self.block),
        )

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Loop):
                self._loop(step)
            elif isinstance(step, Load):
                self._load(step)
            elif isinstance(step, Branch):
                self._branch(step)
            elif isinstance(step, While):
                self._while(step)
            elif isinstance(step, Guard):
                self._guard(step)
            else:
                self._call(step)

    def _loop(self, loop: Loop) -> None:
        """A loop stands between barriers, as its trips depend on each other."""
        self._synchronize()
        lower, upper, step = map(self._bound, (loop.lower, loop.upper, loop.step))
        if loop.within is not None:
            first, end = map(self._constant, loop.within)
            lower = self._select("slt", lower, first, (first, lower))
            upper = self._select("sgt", upper, end, (end, upper))
        body = Block(arg_types=[INDEX])
        self.indices[loop.number] = body.args[0]
        self.builder.insert(scf.ForOp(lower, upper, step, [], body))
        self._block(body, loop.body)

    def _branch(self, branch: Branch) -> None:
        """One of two blocks, both of which end in a barrier if they call anything."""
        self._synchronize()
        condition = self._condition(branch.condition)
        blocks = (Block(), Block())
        then, otherwise = map(Region, blocks)
        self.builder.insert(scf.IfOp(condition, [], then, otherwise))
        for block, part in zip(blocks, branch.parts, strict=True):
            self._block(block, part)

    def _guard(self, guard: Guard) -> None:
        """Steps that all threads leave out where a byte of an error is set."""
        self._synchronize()
        view = self._view(guard.reports, MemRefType(i8, [guard.reports.size]))
        numbers = map(self._constant, range(guard.reports.size))
        is_right = insert_test(self.builder, view, list(numbers))
        body, other = Block(), Block()
        self.builder.insert(scf.IfOp(is_right, [], Region(body), Region(other)))
        self._block(body, guard.body)
        self._block(other, ())

    def _while(self, loop: While) -> None:
        """A barrier stands before the condition is read, and at the end of the body."""
        self._synchronize()
        before, body = Block(), Block()
        self.builder.insert(scf.WhileOp([], [], Region(before), Region(body)))
        outer, self.builder = self.builder, Builder(InsertPoint.at_end(before))
        self._steps(loop.before)
        self._synchronize()
        self.builder.insert(scf.ConditionOp(self._condition(loop.condition)))
        self.builder = outer
        self._block(body, loop.body, repeats=True)

    def _block(
        self, block: Block, steps: Sequence[Step], *, repeats: bool = False
    ) -> None:
        """Fill the block of a region, which may not run; no call is pending at its end.

        Where what comes before it `repeats`, all must have read the last condition.
        """
        outer, self.builder = self.builder, Builder(InsertPoint.at_end(block))
        read = list(self.read)
        self._steps(steps)
        self._synchronize(must=repeats and bool(self.read))
        self.builder.insert(scf.YieldOp())
        self.builder, self.read = outer, read

    def _condition(self, loaded: Loaded) -> SSAValue:
        """Whether a byte is not 0."""
        byte = self.loaded[loaded.number]
        zero = self.builder.insert(arith.ConstantOp(IntegerAttr(0, i8))).result
        return self.builder.insert(arith.CmpiOp(byte, zero, "ne")).result

    def _bound(self, bound: int | Loaded) -> SSAValue:
        if isinstance(bound, int):
            return self._constant(bound)
        number = self.loaded[bound.number]
        return self.builder.insert(arith.IndexCastOp(number, INDEX)).result

    def _select(
        self,
        test: str,
        one: SSAValue,
        other: SSAValue,
        values: tuple[SSAValue, SSAValue],
    ) -> SSAValue:
        """The first of two values where a comparison holds, else the second."""
        holds = self.builder.insert(arith.CmpiOp(one, other, test)).result
        return self.builder.insert(arith.SelectOp(holds, *values)).result

    def _load(self, load: Load) -> None:
        """A number that all threads read when no call that writes it is pending."""
        self._synchronize()
        self.read.append(load.binding)
        element = IntegerType(8 * load.binding.size)
        view = self._view(load.binding, MemRefType(element, []))
        op = self.builder.insert(memref.LoadOp.get(view, []))
        self.loaded[load.number] = op.res

    def _synchronize(self, *, must: bool = False) -> None:
        if self.shared or self.serial or must:
            self.builder.insert(func.CallOp(BARRIER, [self.barrier, self.threads], []))
            self.shared.clear()
            self.serial.clear()
            self.read.clear()

    def _wait_for_earlier(self, call: SharedCall) -> None:
        """A barrier if the call must wait for other threads."""
        kind = self.shared if call.work_items else self.serial
        others = [*self.shared, *(self.serial if call.work_items else ())]
        parts = gcd(*(call.barrier_before(earlier) for earlier in others))
        written = call.call.bindings[: call.call.writes]
        overwrites = any(one.overlaps(read) for one in written for read in self.read)
        if parts == 1 or overwrites or len(kind) == MOST_PENDING:
            self._synchronize(must=True)
        elif parts:
            threads = self._waiting_threads(parts)
            self.builder.insert(func.CallOp(BARRIER, [self.barrier, threads], []))
            for earlier in (*self.shared, *self.serial):
                earlier.synchronized.add(parts)
        kind.append(call)

    def _waiting_threads(self, parts: int) -> SSAValue:
        """All threads, or one if they divide the parts."""
        if parts not in self.waiting:
            insert, count = self.hoisted.insert, self._constant(parts)
            share = insert(arith.DivUIOp(count, self.threads)).result
            shared = insert(arith.MuliOp(share, self.threads)).result
            is_even = insert(arith.CmpiOp(shared, count, "eq")).result
            one = self._constant(1)
            self.waiting[parts] = insert(
                arith.SelectOp(is_even, one, self.threads)
            ).result
        return self.waiting[parts]

    def _call(self, call: KernelCall) -> None:
        kernel = self.kernels[call.kernel.name]
        is_large = sum(binding.size for binding in call.bindings) >= self.serial_bytes
        is_shared = is_large and kernel.work_items > 1
        work_items = kernel.work_items if is_shared else 0
        self._wait_for_earlier(SharedCall(call, kernel, work_items))
        types = kernel.function.function_type.inputs.data
        operands = [
            self._view(binding, view_type)
            for binding, view_type in zip(call.bindings, types, strict=False)
        ]
        low, high = self._thread_items(kernel.work_items, is_shared)
        self._tick()
        self.builder.insert(func.CallOp(call.kernel.name, [*operands, low, high], []))
        self._tick()

    def _tick(self) -> None:
        """The time goes to the thread's part of the trace, if there is one."""
        if self.trace is not None:
            self.builder.insert(func.CallOp(TICK, [self._own_trace(self.trace)], []))

    def _own_trace(self, trace: TraceRegion) -> SSAValue:
        if self.own_trace is None:
            size = self._constant(trace.thread_bytes)
            moved = self.hoisted.insert(arith.MuliOp(self.thread, size)).result
            base = self._constant(trace.offset)
            offset = self.hoisted.insert(arith.AddiOp(moved, base)).result
            view = memref.ViewOp.build(
                operands=[self.spaces["activations"], offset, []],
                result_types=[MemRefType(i8, [trace.thread_bytes])],
            )
            self.own_trace = self.hoisted.insert(view).results[0]
        return self.own_trace

    # -- values

    def _constant(self, number: int) -> SSAValue:
        if number not in self.constants:
            op = arith.ConstantOp(IntegerAttr(number, INDEX))
            self.constants[number] = self.hoisted.insert(op).result
        return self.constants[number]

    def _thread_items(self, work_items: int, shared: bool) -> tuple[SSAValue, SSAValue]:
        """The running thread's part of `work_items`; all or nothing when it is not shared."""
        key = (work_items, shared)
        if key not in self.work_items:
            make = self._shared_items if shared else self._serial_items
            self.work_items[key] = make(work_items)
        return self.work_items[key]

    def _shared_items(self, work_items: int) -> tuple[SSAValue, SSAValue]:
        count = self._constant(work_items)
        next_thread = self.hoisted.insert(
            arith.AddiOp(self.thread, self._constant(1))
        ).result
        bounds: list[SSAValue] = []
        for thread in (self.thread, next_thread):
            scaled = self.hoisted.insert(arith.MuliOp(thread, count)).result
            bounds.append(
                self.hoisted.insert(arith.DivUIOp(scaled, self.threads)).result
            )
        return bounds[0], bounds[1]

    def _serial_items(self, work_items: int) -> tuple[SSAValue, SSAValue]:
        zero, count = self._constant(0), self._constant(work_items)
        first = self.hoisted.insert(arith.CmpiOp(self.thread, zero, "eq")).result
        high = self.hoisted.insert(arith.SelectOp(first, count, zero)).result
        return zero, high

    def _view(self, binding: BufferBinding, view_type: Attribute) -> SSAValue:
        """The typed buffer of a binding; views of constant bindings are made once."""
        key = (binding, view_type)
        if key in self.views:
            return self.views[key]
        if byte_size(view_type) > binding.size:
            raise GlowError(
                f"internal error: a kernel takes {view_type}, the buffer has "
                f"{binding.size} bytes"
            )
        builder = self.builder if binding.dynamic_offset else self.hoisted
        offset = self._offset(binding)
        for loop, stride in binding.dynamic_offset:
            moved = arith.MuliOp(self.indices[loop], self._constant(stride))
            builder.insert(moved)
            offset = builder.insert(arith.AddiOp(offset, moved.result)).result
        view = memref.ViewOp.build(
            operands=[self.spaces[binding.space], offset, []],
            result_types=[view_type],
        )
        result = builder.insert(view).results[0]
        if not binding.dynamic_offset:
            self.views[key] = result
        return result

    def _offset(self, binding: BufferBinding) -> SSAValue:
        """Where a binding is in its space, but for what loops move it by."""
        entry = entry_of(self.program, binding)
        if entry is None:
            return self._constant(binding.offset)
        start = self._entry(entry)
        if entry.distance == 0:
            return start
        added = arith.AddiOp(start, self._constant(entry.distance))
        return self.hoisted.insert(added).result

    def _entry(self, entry: TableEntry) -> SSAValue:
        """A number of a table of distances in the mutables."""
        key = (entry.table, entry.number)
        if key not in self.entries:
            if entry.table not in self.tables:
                start = self._constant(entry.table)
                view = memref.ViewOp.build(
                    operands=[self.spaces["mutables"], start, []],
                    result_types=[MemRefType(INDEX, [entry.size])],
                )
                self.tables[entry.table] = self.hoisted.insert(view).results[0]
            number = self._constant(entry.number)
            load = memref.LoadOp.get(self.tables[entry.table], [number])
            self.entries[key] = self.hoisted.insert(load).res
        return self.entries[key]
