"""The state of a bufferization: which buffer a value has, and where instructions go."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IndexType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from glow.dialects import instr
from glow.dialects.attributes import int_attr
from glow.dialects.function_attributes import INPUT_COUNT, OUTPUT_NAMES
from glow.dialects.glow.state import variables_of
from glow.dialects.node import memref_of
from glow.lowering.deallocations import insert_deallocations
from glow.passes.instr.buffers import root_of

Handler = Callable[["Bufferizer", Operation], None]


def buffer_type(value: SSAValue) -> MemRefType[Attribute]:
    """The memref type of a tensor value's buffer."""
    return memref_of(cast("TensorType[Attribute]", value.type))


class Bufferizer:
    """Rewrites one function; `lower_op` gives an operation its buffers and instructions."""

    def __init__(self, function: func.FuncOp, lower_op: Handler) -> None:
        self.function = function
        self.lower_op = lower_op
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.variables: dict[str, SSAValue] = {}
        """The memory of the function's variables, which its block begins with."""
        self.saves: list[tuple[str, SSAValue, Operation]] = []
        """What is saved: the variable, the value and the operation."""
        self.block = Block()
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.alloc_point: Operation | None = None
        """Inside a branch or loop: the outermost one, before which allocations go."""

    def run(self) -> func.FuncOp:
        """The bufferized function."""
        old = self.function.body.block
        self._add_arguments(old)
        self._add_variables()
        self.lower_block(old)
        insert_deallocations(self.block)
        types = [argument.type for argument in self.block.args]
        function = func.FuncOp(
            self.function.sym_name.data,
            FunctionType.from_lists(types, []),
            Region(self.block),
            visibility=self.function.sym_visibility,
        )
        function.attributes.update(self.function.attributes)
        function.attributes[INPUT_COUNT] = int_attr(len(old.args))
        function.location = self.function.location
        return function

    def _add_arguments(self, old: Block) -> None:
        for argument in old.args:
            is_index = isinstance(argument.type, IndexType)
            kind = argument.type if is_index else buffer_type(argument)
            new = self.block.insert_arg(kind, len(self.block.args))
            new.name_hint = argument.name_hint
            self.buffers[argument] = new
        terminator = old.last_op
        assert isinstance(terminator, func.ReturnOp)
        names = self.function.attributes.get(OUTPUT_NAMES)
        self.results: list[SSAValue] = []
        for number, value in enumerate(terminator.arguments):
            new = self.block.insert_arg(buffer_type(value), len(self.block.args))
            new.name_hint = f"result{number}"
            if isinstance(names, ArrayAttr):
                name = cast("ArrayAttr[Attribute]", names).data[number]
                new.name_hint = _safe_hint(str(name), new.name_hint)
            self.results.append(new)

    def _add_variables(self) -> None:
        for name, read in variables_of(self.function).items():
            memory = instr.VariableOp.create(
                result_types=[buffer_type(read.results[0])],
                properties=dict(read.properties),
            )
            self.emit(memory, read)
            memory.result.name_hint = read.results[0].name_hint
            self.variables[name] = memory.result

    # -- pieces that the handlers use

    def emit(self, op: Operation, source: Operation) -> Operation:
        """Insert an operation at the current place with its source's location."""
        op.location = source.location
        return self.builder.insert(op)

    def buffer(self, value: SSAValue) -> SSAValue:
        """The buffer of a value; index values stand for themselves."""
        return self.buffers.get(value, value)

    def alloc(self, value: SSAValue, source: Operation) -> SSAValue:
        """A new buffer for a tensor value."""
        buffer = self.alloc_memory(buffer_type(value), source)
        buffer.name_hint = value.name_hint
        return buffer

    def alloc_memory(
        self, memref: MemRefType[Attribute], source: Operation
    ) -> SSAValue:
        """A new buffer."""
        op = instr.AllocOp.build_memory([], memref)
        op.location = source.location
        if self.alloc_point is None:
            self.builder.insert(op)
        else:
            Builder(InsertPoint.before(self.alloc_point)).insert(op)
        return op.result

    @contextmanager
    def inside(self, op: Operation, block: Block) -> Generator[None]:
        """Emit into a region's block; the operation is emitted already."""
        builder, point = self.builder, self.alloc_point
        self.builder = Builder(InsertPoint.at_end(block))
        self.alloc_point = point or op
        yield
        self.builder, self.alloc_point = builder, point

    def view(
        self, source: SSAValue, offset: int, like: SSAValue, op: Operation
    ) -> SSAValue:
        """A view of `source` from element `offset` on with the shape of `like`."""
        view = instr.TensorviewOp.build_memory(
            [source], buffer_type(like), offset=offset
        )
        self.emit(view, op)
        view.result.name_hint = like.name_hint
        return view.result

    def copy(self, target: SSAValue, source: SSAValue, op: Operation) -> None:
        """Copy a buffer into another."""
        self.emit(instr.CopyOp.build_instruction([target], [source]), op)

    def copy_saves(self) -> None:
        """Copy what is saved into the variables, where nobody needs their old values.

        What is saved from the memory of a variable that changes is set aside first.
        """
        changing = {self.variables[name] for name, _, _ in self.saves}
        copies: list[tuple[SSAValue, SSAValue, Operation]] = []
        for name, value, op in self.saves:
            source, target = self.buffer(value), self.variables[name]
            if source is target:
                continue
            if root_of(source) in changing:
                aside = self.alloc(value, op)
                self.copy(aside, source, op)
                source = aside
            copies.append((target, source, op))
        for target, source, op in copies:
            self.copy(target, source, op)

    # -- structure

    def lower_block(self, block: Block) -> None:
        """Lower the operations of a block, its terminator last."""
        for op in block.ops:
            self.lower_op(self, op)


def _safe_hint(text: str, fallback: str) -> str:
    name = text.strip('"')
    return name if SSAValue.is_valid_name(name) else fallback
