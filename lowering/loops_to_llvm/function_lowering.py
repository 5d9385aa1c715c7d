"""The state of the walk over one function: values, scopes, pending loads.

A value of the loops level is one of three things: an affine form (index), a memory
(memref: pointer, strides and affine offset in bytes) or registers (everything else).
Scopes are the nested regions; each keeps its open block, so that an address term can
still be appended to an outer loop while an inner one is being lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.dialects.llvm import LLVMFunctionType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.append import operations_of
from glow.lowering.llvm_ir.function import BasicBlock
from glow.lowering.loops_to_llvm.affine import ZERO, AffineForm, variable
from glow.lowering.loops_to_llvm.builder import LlvmBuilder
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    byte_strides,
    layout_of,
)
from glow.lowering.loops_to_llvm.lazy import LazyRegisters, is_lazy
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_memref

Registers = Sequence[SSAValue]
Rule = Callable[["FunctionLowering", Operation], None]
OpT = TypeVar("OpT", bound=Operation)
WalkT = TypeVar("WalkT")


def entry(
    op_class: type[OpT], rule: Callable[[WalkT, OpT], None]
) -> tuple[type[Operation], Callable[[WalkT, Operation], None]]:
    """Returns one line of a rule table; ties the rule's op type to the key."""
    return op_class, cast("Callable[[WalkT, Operation], None]", rule)


RuleT = TypeVar("RuleT")


def with_upstream(
    own: Mapping[type[Operation], RuleT],
) -> Mapping[type[Operation], RuleT]:
    """Returns a rule table for xDSL's own `arith` classes too: its rewrites make them
    where ours are loaded.
    """
    by_name = {op_class.name: rule for op_class, rule in own.items()}
    upstream = {op: by_name[op.name] for op in Arith.operations if op.name in by_name}
    return {**upstream, **own}


class Memory(NamedTuple):
    """Where a memref lies: strides and offsets in bytes from the pointer."""

    pointer: SSAValue
    strides: tuple[int, ...]
    offset: AffineForm = ZERO
    """Of the first element."""
    origin: AffineForm = ZERO
    """Of the buffer that the memref is a view of."""


class Address(NamedTuple):
    """A pointer and a constant distance in bytes."""

    pointer: SSAValue
    distance: int


@dataclass(slots=True)
class Scope:
    """A region that is being lowered: its open block and the addresses made in it."""

    block: BasicBlock
    addresses: dict[tuple[SSAValue, SSAValue, int], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, SSAValue, int], SSAValue]
    )


class FunctionLowering:
    """Lowers the blocks of one function with a table of rules."""

    has_intrinsics = True
    """Whether LLVM knows the target's own intrinsics: code is for the machine that it names."""

    def __init__(self, rules: Mapping[type[Operation], Rule], target: Target):
        self.rules = rules
        self.target = target
        self.lanes = target.lanes(32)
        self.index_type = IntegerType(target.index_bits)
        self.builder = LlvmBuilder(self.index_type)
        self.layouts: dict[int, RegisterLayout] = {}
        self.blocks: list[BasicBlock] = []
        self.scopes: list[Scope] = []
        self.depths: dict[SSAValue, int] = {}
        self.indices: dict[SSAValue, AffineForm] = {}
        self.memories: dict[SSAValue, Memory] = {}
        self.vectors: dict[SSAValue, Registers] = {}
        self.pending: list[tuple[SSAValue, LazyRegisters[SSAValue]]] = []
        self.lowered: set[int] = set()
        """The identities of operations, as hashing them takes longer."""
        self.externals: dict[str, LLVMFunctionType] = {}

    # Values --------------------------------------------------------------------

    def layout(self, value: SSAValue) -> RegisterLayout:
        """Returns the register layout of a value's type; found by identity, as hashing
        a type is dear.
        """
        type_ = value.type
        found = self.layouts.get(id(type_))
        if found is None:
            found = self.layouts[id(type_)] = self.layout_of(type_)
        return found

    def layout_of(self, type_: Attribute) -> RegisterLayout:
        """Returns the register layout of a type."""
        return layout_of(type_, self.lanes, self.index_type)

    def alignment(self, layout: RegisterLayout, type_: Attribute) -> int:
        """Returns the alignment in memory of a register of a layout: that of an element."""
        return layout.element_bytes

    def index(self, value: SSAValue) -> AffineForm:
        """Returns the affine form of an index value."""
        return self.indices[value]

    def registers(self, value: SSAValue) -> Registers:
        """Returns the registers of a scalar or vector; an index becomes one integer."""
        found = self.vectors.get(value)
        if found is None:
            found = (self.materialize(self.indices[value]),)
        return found

    def scalar(self, value: SSAValue) -> SSAValue:
        """Returns the one register of a scalar."""
        return self.registers(value)[0]

    def set_registers(self, value: SSAValue, registers: Registers) -> None:
        """Records the registers of a result; lazy ones are loaded at first use."""
        if type(value.type) is IndexType:
            self.set_opaque_index(value, registers[0])
            return
        self.vectors[value] = registers
        if is_lazy(registers):
            self.pending.append((value, registers))

    def set_opaque_index(self, value: SSAValue, result: SSAValue) -> None:
        """Records an index that is no affine form of others: a variable from here on."""
        self.depths[result] = len(self.scopes) - 1
        self.indices[value] = variable(result)

    def materialize(self, form: AffineForm) -> SSAValue:
        """Returns the integer of an affine form."""
        builder = self.builder
        total: SSAValue | None = None
        for value, coefficient in form.terms:
            term = builder.scale(value, coefficient)
            total = term if total is None else builder.add(total, term)
        if total is None:
            return builder.integer(form.constant)
        if form.constant:
            return builder.add(total, builder.integer(form.constant))
        return total

    def flatten(self, value: SSAValue) -> Registers:
        """Returns what passes a block border for a value: pointer, integer or registers."""
        if is_memref(value.type):
            return (self.pointer(self.memories[value]),)
        return self.registers(value)

    def flatten_all(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        """Returns the flattened registers of several values, one after the other."""
        return [register for value in values for register in self.flatten(value)]

    def flat_types(self, values: Iterable[SSAValue]) -> list[Attribute]:
        """Returns the LLVM types of `flatten_all`."""
        return [type_ for value in values for type_ in self.layout(value).types]

    def bind(self, value: SSAValue, registers: Registers) -> None:
        """Records what arrived over a block border for a value."""
        if is_memref(value.type):
            pointer = registers[0]
            self.depths[pointer] = len(self.scopes) - 1
            self.memories[value] = Memory(pointer, byte_strides(value.type))
        else:
            self.set_registers(value, registers)

    def bind_all(self, values: Iterable[SSAValue], registers: Registers) -> None:
        """Records a flat list of registers for several values."""
        first = 0
        for value in values:
            count = len(self.layout(value).types)
            self.bind(value, registers[first : first + count])
            first += count

    # Addresses -----------------------------------------------------------------

    def address(self, memory: Memory, indices: Iterable[SSAValue]) -> Address:
        """Returns the address of an element of a memref."""
        offset = memory.offset
        for stride, index in zip(memory.strides, indices, strict=False):
            form = self.indices[index]
            if form != ZERO:
                offset = offset.plus(form, stride)
        return Address(self.variable_part(memory.pointer, offset), offset.constant)

    def pointer(self, memory: Memory) -> SSAValue:
        """Returns the address of the first element of a memref as one pointer."""
        pointer = self.variable_part(memory.pointer, memory.offset)
        return self.builder.offset_constant(pointer, memory.offset.constant)

    def variable_part(self, pointer: SSAValue, offset: AffineForm) -> SSAValue:
        """Returns the pointer advanced by the variable terms of an offset.

        Each term is emitted once, in the scope that defines its variable: outer terms
        first, so that inner loops add only what changes in them.
        """
        depths = self.depths
        terms = offset.terms
        if len(terms) > 1:
            terms = sorted(terms, key=lambda term: depths.get(term[0], 0))
        for value, coefficient in terms:
            depth = max(depths.get(value, 0), depths.get(pointer, 0))
            scope = self.scopes[depth]
            key = (pointer, value, coefficient)
            found = scope.addresses.get(key)
            if found is None:
                found = self.advance(scope, pointer, value, coefficient)
                scope.addresses[key] = found
                depths[found] = depth
            pointer = found
        return pointer

    def advance(
        self, scope: Scope, pointer: SSAValue, value: SSAValue, coefficient: int
    ) -> SSAValue:
        """Returns `pointer + coefficient * value`, emitted in a scope's open block."""
        builder = self.builder
        here, builder.block = builder.block, scope.block
        advanced = builder.offset(pointer, builder.scale(value, coefficient))
        builder.block = here
        return advanced

    def call_external(
        self, name: str, operands: Sequence[SSAValue], type_: Attribute
    ) -> SSAValue:
        """Returns the call of a library function, which the module then declares."""
        types = [operand.type for operand in operands]
        self.externals[name] = LLVMFunctionType(types, type_)
        return self.builder.call(name, operands, type_)[0]

    # Regions -------------------------------------------------------------------

    def open_scope(self, block: BasicBlock) -> None:
        """Starts a nested region whose code begins in `block`."""
        self.blocks.append(block)
        self.scopes.append(Scope(block))
        self.builder.block = block

    def close_scope(self) -> None:
        """Ends the innermost region; code goes on in the block that it left open."""
        self.scopes.pop()
        self.builder.block = self.scopes[-1].block

    def continue_in(self, block: BasicBlock) -> None:
        """Makes `block` the open block of the innermost region."""
        self.blocks.append(block)
        self.scopes[-1].block = block
        self.builder.block = block

    def lower_block(self, block: Block) -> None:
        """Lowers the ops of a block in order."""
        rules, lowered = self.rules, self.lowered.add
        for op in operations_of(block):
            rule = rules.get(type(op))
            if rule is None:
                raise DiagnosticException(f"loops-to-llvm: no lowering for {op.name}")
            rule(self, op)
            lowered(id(op))

    def load_pending(self) -> None:
        """Emits the loads that were put off and are still needed.

        Called before anything that writes memory and at the borders of regions.
        """
        for value, lazy in self.pending:
            if any(id(use.operation) not in self.lowered for use in value.uses):
                lazy.load_all()
            else:
                lazy.source = None
        self.pending.clear()
