"""Makes the program of a planned instr function: bindings of buffers, kernels of instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from glow.backends.backend import loaded_backends
from glow.backends.cpu.program.guard import guarded
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.cpu.program.program import (
    ADDRESS_BYTES,
    Branch,
    BufferBinding,
    Index,
    Invocation,
    KernelCall,
    Load,
    Loaded,
    Loop,
    MemorySpace,
    Program,
    Repetition,
    Row,
    Scratch,
    Step,
    Variable,
    While,
)
from glow.dialects import arith, instr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import ARENA_BYTES
from glow.dialects.node import node_name, shape_of
from glow.dialects.weight_table import Array, DeferredArray
from glow.dialects.weights import check_held, dense_to_numpy, weights_of
from glow.lowering.target.target import Target
from glow.passes.instr.buffers import aligned, byte_size, item_size
from glow.passes.rewriting.operations import all_operations

ANY_INDEX = (-(1 << 62), 1 << 62)

PAGE_BYTES = 4096
"""Weights that fill a page begin one: prefetchers of processors do not look beyond a page."""


class ProgramBuilder:
    """Walks a planned function."""

    def __init__(
        self,
        function: func.FuncOp,
        target: Target,
        table: KernelTable,
    ) -> None:
        self.function = function
        self.target = target
        self.table = table
        self.selected: dict[Operation, Sequence[Invocation | Repetition]] = {}
        self.bindings: dict[SSAValue, BufferBinding] = {}
        self.indices: dict[SSAValue, Index] = {}
        self.within: dict[int, tuple[int, int]] = {}
        """The indices that buffers have, of each loop whose bounds are data."""
        self.loaded: dict[SSAValue, Loaded] = {}
        self.loops = 0
        self.sizes: dict[MemorySpace, int] = {
            "constants": 0,
            "mutables": 0,
            "activations": 0,
        }
        self.constants: list[tuple[int, Array | DeferredArray]] = []
        self.weight_bindings: dict[object, BufferBinding] = {}
        self.variables: list[Variable] = []
        self.reports: list[tuple[str, str]] = []
        self.next_report = 0
        self.node = ""

    def run(self) -> Program:
        """The program of the function."""
        block = self.function.body.block
        self._select_kernels()
        for op in block.ops:
            if isinstance(op, instr.VariableOp):
                self._add_variable(op)
        table = len(block.args) * ADDRESS_BYTES
        self.next_report = self.sizes["mutables"] + table
        self._reserve("mutables", table + self._count_reports())
        for argument in block.args:
            self.bindings[argument] = self._reserve("mutables", byte_size(argument))
        arguments = [self.bindings[argument] for argument in block.args]
        end = sum(aligned(variable.binding.size) for variable in self.variables)
        steps = guarded(self._steps(block), end)
        name = self.function.sym_name.data
        return Program(
            name,
            steps,
            self.constants,
            arguments,
            self.sizes,
            self.reports,
            self.table.version,
            self.variables,
        )

    def _add_variable(self, op: instr.VariableOp) -> None:
        """Reserve the memory of a variable."""
        binding = self._reserve("mutables", byte_size(op.result))
        self.bindings[op.result] = binding
        value = None if op.value is None else weight_value(op)
        self.variables.append(Variable(op.variable_name, binding, value))

    def _select_kernels(self) -> None:
        """Asks for the kernels of all instructions that write anything."""
        for op in all_operations(self.function):
            if isinstance(op, instr.InstructionOp):
                if any(map(byte_size, (*op.outs, *op.inouts))):
                    self.selected[op] = self._kernels(op)

    def _kernels(self, op: instr.InstructionOp) -> Sequence[Invocation | Repetition]:
        selector = self.table.selectors.get(type(op))
        if selector is None:
            raise GlowError(
                f"the {self.table.backend} backend has no kernel for {op.name}",
                node=node_name(op),
                hint=_others_with(op),
            )
        return selector(op, self.target)

    def _count_reports(self) -> int:
        """How many calls note errors."""
        kernels = (kernel for found in self.selected.values() for kernel in found)
        return sum(bool(part.report) for kernel in kernels for part in parts_of(kernel))

    def _reserve(self, space: MemorySpace, size: int) -> BufferBinding:
        """A binding in a space; large weights begin a page."""
        if space == "constants" and size >= PAGE_BYTES:
            pages = -(-self.sizes[space] // PAGE_BYTES)
            self.sizes[space] = pages * PAGE_BYTES
        binding = BufferBinding(space, self.sizes[space], size)
        self.sizes[space] += aligned(size)
        return binding

    def _steps(self, block: Block) -> tuple[Step, ...]:
        steps: list[Step] = []
        for op in block.ops:
            handler = _HANDLERS.get(type(op))
            if handler is not None:
                handler(self, op)
            elif step := _STEPS.get(type(op)):
                steps.append(step(self, op))
            elif isinstance(op, instr.InstructionOp):
                steps.extend(self._instruction(op))
            else:
                raise GlowError(f"no code for {op.name}", node=node_name(op))
        return tuple(steps)

    def _instruction(self, op: instr.InstructionOp) -> Iterator[Step]:
        self.node = node_name(op) or op.name.removeprefix("instr.")
        for invocation in self.selected.get(op, ()):  # None where nothing is written.
            if isinstance(invocation, Repetition):
                number, self.loops = self.loops, self.loops + 1
                body = tuple(self._call(part, number) for part in invocation.body)
                yield Loop(number, 0, invocation.trip_count, 1, body)
            else:
                yield replace(
                    self._call(invocation), feeds_prologue=_feeds_prologue(op)
                )

    def _call(self, invocation: Invocation, loop: int = 0) -> KernelCall:
        bindings = tuple(self._binding(buffer, loop) for buffer in invocation.buffers)
        if invocation.report:
            bindings += (BufferBinding("mutables", self.next_report, 1),)
            self.next_report += 1
            self.reports.append((self.node, invocation.report))
        kernel, writes = invocation.kernel, invocation.writes
        notes_error = bool(invocation.report)
        return KernelCall(
            kernel, bindings, writes, notes_error=notes_error, node=self.node
        )

    def _binding(self, buffer: SSAValue | Row | Scratch, loop: int) -> BufferBinding:
        """Where a buffer is, or the row that trip number `loop` has."""
        if isinstance(buffer, SSAValue):
            return self.bindings[buffer]
        if isinstance(buffer, Scratch):
            return self._behind_arena(buffer.size)
        whole = self.bindings[buffer.buffer]
        size = whole.size // shape_of(buffer.buffer)[0]
        dynamic_offset = ((loop, buffer.step * size),) if buffer.step else ()
        offset = whole.offset + buffer.start * size
        return BufferBinding(
            whole.space, offset, size, whole.dynamic_offset + dynamic_offset
        )

    def _behind_arena(self, size: int) -> BufferBinding:
        """Bytes behind all that is planned."""
        arena = self.function.attributes[ARENA_BYTES]
        assert isinstance(arena, IntegerAttr)
        start, most = aligned(arena.value.data), self.sizes["activations"]
        self.sizes["activations"] = max(most, start + aligned(size))
        return BufferBinding("activations", start, size)

    # -- operations that run others

    def loop(self, op: Operation) -> Step:
        """A loop over an index."""
        assert isinstance(op, scf.ForOp)
        body = op.body.block
        number, self.loops = self.loops, self.loops + 1
        self.indices[body.args[0]] = Index(0, ((number, 1),))
        lower, upper, step = (self._bound(bound) for bound in (op.lb, op.ub, op.step))
        if isinstance(step, Loaded):
            raise GlowError("the step of a loop must be a constant")
        if isinstance(lower, int) and isinstance(upper, int):
            return Loop(number, lower, upper, step, self._steps(body))
        self.within[number] = ANY_INDEX
        steps = self._steps(body)
        return Loop(number, lower, upper, step, steps, self.within[number])

    def branch(self, op: Operation) -> Step:
        """One of two blocks."""
        assert isinstance(op, scf.IfOp)
        then, *otherwise = (
            self._steps(region.block) for region in op.regions if region.blocks
        )
        return Branch(self.loaded[op.cond], then, otherwise[0] if otherwise else ())

    def while_loop(self, op: Operation) -> Step:
        """A loop by a condition that its first region finds."""
        assert isinstance(op, scf.WhileOp)
        before = self._steps(op.before_region.block)
        condition = op.before_region.block.last_op
        assert isinstance(condition, scf.ConditionOp)
        flag = self.loaded[condition.condition]
        return While(flag, before, self._steps(op.after_region.block))

    def _bound(self, value: SSAValue) -> int | Loaded:
        """A constant, or what was loaded."""
        owner = value.owner
        if isinstance(owner, arith.IndexCastOp):
            return self.loaded[owner.input]
        index = self.indices[value]
        if index.terms:
            raise GlowError("loop bounds must not be computed from indices")
        return index.constant

    def load(self, op: Operation) -> Step:
        """What all threads read: a condition, or a number of iterations."""
        assert isinstance(op, memref.LoadOp)
        loaded = self.loaded[op.res] = Loaded(len(self.loaded))
        return Load(loaded.number, self.bindings[op.memref])

    # -- operations that name memory

    def alloc(self, op: Operation) -> None:
        """An allocation stands at its planned offset of the arena."""
        assert isinstance(op, instr.AllocOp)
        if op.offset is None:
            raise GlowError("allocations have no place yet; run plan-memory first")
        binding = BufferBinding(
            "activations", op.offset.value.data, byte_size(op.result)
        )
        self.bindings[op.result] = binding
        end = binding.offset + aligned(binding.size)
        self.sizes["activations"] = max(self.sizes["activations"], end)

    def weight(self, op: Operation) -> None:
        """Each weight is stored once, however often it is named."""
        assert isinstance(op, instr.WeightOp)
        key, array = op.value, weight_value(op)
        if key not in self.weight_bindings:
            binding = self._reserve("constants", byte_size(op.result))
            self.constants.append((binding.offset, array))
            self.weight_bindings[key] = binding
        self.bindings[op.result] = self.weight_bindings[key]

    def tensorview(self, op: Operation) -> None:
        """A view is its source moved by a constant."""
        assert isinstance(op, instr.TensorviewOp)
        source = self.bindings[op.source]
        offset = source.offset + op.offset.value.data * item_size(op.source)
        self.bindings[op.result] = BufferBinding(
            source.space, offset, byte_size(op.result), source.dynamic_offset
        )

    def dynamic_view(self, op: Operation) -> None:
        """An element of the first axis is its source moved by a loop index."""
        assert isinstance(op, instr.DynamicViewOp)
        source = self.bindings[op.source]
        index, size = self.indices[op.index], byte_size(op.result)
        self._keep_within(index, shape_of(op.source)[0])
        dynamic_offset = tuple((loop, factor * size) for loop, factor in index.terms)
        self.bindings[op.result] = BufferBinding(
            source.space,
            source.offset + index.constant * size,
            size,
            source.dynamic_offset + dynamic_offset,
        )

    def _keep_within(self, index: Index, extent: int) -> None:
        """Note which indices of loops of unknown length an axis has."""
        for loop, factor in index.terms:
            if loop not in self.within:
                continue
            if len(index.terms) > 1 or abs(factor) != 1:
                raise GlowError(
                    "the index of a loop of unknown length must be used as it is, or "
                    "counted down from a constant"
                )
            first, end = -index.constant, extent - index.constant
            if factor < 0:
                first, end = 1 - end, 1 - first
            low, high = self.within[loop]
            self.within[loop] = (max(low, first), min(high, end))

    def constant(self, op: Operation) -> None:
        """Index constants are loop bounds and parts of indices."""
        assert isinstance(op, arith.ConstantOp)
        if isinstance(op.value, IntegerAttr):
            self.indices[op.result] = Index(op.value.value.data)

    def add(self, op: Operation) -> None:
        """A sum of indices."""
        left, right = (self.indices[value] for value in op.operands)
        self.indices[op.results[0]] = left.plus(right, 1)

    def subtract(self, op: Operation) -> None:
        """A difference of indices: a loop that runs backwards."""
        left, right = (self.indices[value] for value in op.operands)
        self.indices[op.results[0]] = left.plus(right, -1)


def _others_with(op: Operation) -> str | None:
    """Which backends have the dialect of an instruction's node."""
    dialect = op.name.removeprefix("instr.").partition(".")[0]
    names = [each.name for each in loaded_backends() if dialect in each.dialects()]
    return f"it is of backend {', '.join(names)}" if names else None


def parts_of(kernel: Invocation | Repetition) -> Sequence[Invocation]:
    """The kernel itself, or those that are repeated."""
    return kernel.body if isinstance(kernel, Repetition) else (kernel,)


def _feeds_prologue(op: instr.InstructionOp) -> bool:
    """Whether an instruction writes one allocation, and one other reads it."""
    if len(op.outs) != 1 or op.inouts:
        return False
    (written,) = op.outs
    users = [use.operation for use in written.uses]
    users = [user for user in users if not isinstance(user, instr.DeallocOp)]
    alone = len(users) == 2 and {user.parent for user in users} == {op.parent}
    return alone and isinstance(written.owner, instr.AllocOp)


def weight_value(op: instr.WeightOp | instr.VariableOp) -> Array | DeferredArray:
    """The array of a weight or of an initial value, checked against its type."""
    name, value = op.weight_name, op.value
    array = (
        dense_to_numpy(value)
        if isinstance(value, DenseIntOrFPElementsAttr)
        else weights_of(op).entry(name or "")
    )
    check_held(name or "dense", array, op.result.type)
    return array


def _skip(builder: ProgramBuilder, op: Operation) -> None:
    """Lifetimes are planned, variables have their memory, terminators need no code."""


_HANDLERS: dict[type[Operation], Callable[[ProgramBuilder, Operation], None]] = {
    instr.AllocOp: ProgramBuilder.alloc,
    instr.DeallocOp: _skip,
    instr.VariableOp: _skip,
    instr.WeightOp: ProgramBuilder.weight,
    instr.TensorviewOp: ProgramBuilder.tensorview,
    instr.DynamicViewOp: ProgramBuilder.dynamic_view,
    arith.ConstantOp: ProgramBuilder.constant,
    arith.AddiOp: ProgramBuilder.add,
    arith.SubiOp: ProgramBuilder.subtract,
    arith.IndexCastOp: _skip,
    func.ReturnOp: _skip,
    scf.YieldOp: _skip,
    scf.ConditionOp: _skip,
}

_STEPS: dict[type[Operation], Callable[[ProgramBuilder, Operation], Step]] = {
    memref.LoadOp: ProgramBuilder.load,
    scf.ForOp: ProgramBuilder.loop,
    scf.IfOp: ProgramBuilder.branch,
    scf.WhileOp: ProgramBuilder.while_loop,
}
