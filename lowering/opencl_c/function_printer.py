"""The state of the walk over one function: names, addresses, lines.

A value of the loops level is one of three things: an affine form (index), a memory (memref:
pointer, strides and affine offset in elements) or registers (everything else), which are
names of C variables or constants. Views, broadcasts and extracted rows print nothing.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from typing import NamedTuple

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.loops_to_llvm.affine import ZERO, AffineForm, variable
from glow.lowering.loops_to_llvm.lazy import LazyRegisters
from glow.lowering.opencl_c.c_types import (
    RegisterLayout,
    element_strides,
    layout_of,
    memory_name,
    type_name,
)
from glow.lowering.type_guards import is_memref

GLOBAL, PRIVATE = "__global", "__private"

Registers = Sequence[str]
Rule = Callable[["FunctionPrinter", Operation], None]


class Memory(NamedTuple):
    """Where a memref lies: strides and offsets in elements from the pointer."""

    pointer: str
    space: str
    element: Attribute
    strides: tuple[int, ...]
    offset: AffineForm = ZERO
    """Of the first element."""
    origin: AffineForm = ZERO
    """Of the buffer that the memref is a view of."""

    def at(self, indices: Iterable[AffineForm]) -> AffineForm:
        """How far an element is from the pointer."""
        offset = self.offset
        for stride, index in zip(self.strides, indices, strict=False):
            offset = offset.plus(index, stride)
        return offset


class FunctionPrinter:
    """Prints the blocks of one function by a table of rules."""

    def __init__(
        self,
        rules: Mapping[type[Operation], Rule],
        has_fma: bool,
        helpers: dict[tuple[str, int], None],
    ) -> None:
        """`has_fma` is whether a multiply-add of floats is one instruction."""
        self.rules = rules
        self.has_fma = has_fma
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.helpers = helpers
        """The functions that the text calls, and for how many lanes."""
        self.indices: dict[SSAValue, AffineForm] = {}
        self.names: dict[SSAValue, str] = {}
        """Of indices that are variables."""
        self.memories: dict[SSAValue, Memory] = {}
        self.vectors: dict[SSAValue, Registers] = {}
        self.pending: list[tuple[SSAValue, LazyRegisters[str]]] = []
        self.printed: set[Operation] = set()

    # Lines ---------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Adds a line."""
        self.lines.append("  " * self.depth + text)

    @contextmanager
    def braces(self, head: str) -> Generator[None]:
        """A block in braces."""
        self.line(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def new_name(self) -> str:
        """A name that nothing has."""
        self.count += 1
        return f"v{self.count}"

    def helper(self, name: str, lanes: int) -> str:
        """The name of a function that the text brings along."""
        self.helpers[name, lanes] = None
        return f"{name}{lanes}"

    # Values --------------------------------------------------------------------

    def layout(self, value: SSAValue) -> RegisterLayout:
        """The registers of a value's type."""
        return layout_of(value.type)

    def index(self, value: SSAValue) -> AffineForm:
        """The affine form of an index."""
        return self.indices[value]

    def form_text(self, form: AffineForm) -> str:
        """An affine form as an expression."""
        text = ""
        for value, factor in form.terms:
            name = self.names[value]
            term = name if abs(factor) == 1 else f"{abs(factor)} * {name}"
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {term}" if text else (f"-{term}" if factor < 0 else term)
        if not text:
            return (
                f"{form.constant}l" if form.constant >= 1 << 31 else str(form.constant)
            )
        if form.constant:
            text += f" {'-' if form.constant < 0 else '+'} {abs(form.constant)}"
        return text

    def index_text(self, value: SSAValue) -> str:
        """An index as an operand of any operator."""
        text = self.form_text(self.indices[value])
        return f"({text})" if " " in text or text.startswith("-") else text

    def registers(self, value: SSAValue) -> Registers:
        """The registers of a scalar or vector; an index is one expression."""
        found = self.vectors.get(value)
        if found is not None:
            return found
        form = self.indices[value]
        text = f"{form.constant}l" if form.is_constant else self.index_text(value)
        return (text,)

    def groups(self, op: Operation) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The registers of the operands of an element-wise op, side by side, with lanes."""
        lanes = self.layout(op.operands[0]).lanes
        return zip(
            lanes, zip(*map(self.registers, op.operands), strict=True), strict=True
        )

    def scalar(self, value: SSAValue) -> str:
        """The one register of a scalar."""
        return self.registers(value)[0]

    def set_registers(self, value: SSAValue, registers: Registers) -> None:
        """Records the registers of a result; lazy ones are printed at first use."""
        self.vectors[value] = registers
        if isinstance(registers, LazyRegisters):
            self.pending.append((value, registers))

    def set_index(self, value: SSAValue, name: str) -> None:
        """Records an index that is a variable of that name."""
        self.names[value] = name
        self.indices[value] = variable(value)

    def declare(self, layout: RegisterLayout) -> list[str]:
        """Declares variables for the registers of a layout, row by row."""
        base = self.new_name()
        columns: list[list[str]] = []
        for number, (_, lanes) in enumerate(layout.chunks):
            name = base if len(layout.chunks) == 1 else f"{base}_{number}"
            is_array = layout.rows > 1
            extent = f"[{layout.rows}]" if is_array else ""
            self.line(f"{type_name(layout.element, lanes)} {name}{extent};")
            rows = range(layout.rows)
            columns.append([f"{name}[{k}]" for k in rows] if is_array else [name])
        return [column[row] for row in range(layout.rows) for column in columns]

    def define(self, value: SSAValue, texts: Iterable[str]) -> None:
        """Prints the expressions of a result's registers.

        Each is asked for when the one before is printed, so that what is loaded for it
        stands beside it.
        """
        layout = self.layout(value)
        if len(layout.lanes) == 1:
            (text,) = texts
            name = self.new_name()
            lanes = layout.chunks[0][1]
            self.line(f"const {type_name(layout.element, lanes)} {name} = {text};")
            names = [name]
        else:
            names = self.declare(layout)
            for name, text in zip(names, texts, strict=True):
                self.line(f"{name} = {text};")
        if isinstance(value.type, IndexType):
            self.set_index(value, names[0])
        else:
            self.set_registers(value, names)

    def define_lazily(
        self, value: SSAValue, text: Callable[[int], str], slots: Sequence[int]
    ) -> None:
        """Records registers whose expressions are printed when they are first used."""
        layout = self.layout(value)
        lanes = layout.lanes
        base = self.new_name()

        def make(slot: int) -> str:
            name = f"{base}_{slot}" if len(lanes) > 1 else base
            type_ = type_name(layout.element, lanes[slot])
            self.line(f"const {type_} {name} = {text(slot)};")
            return name

        self.set_registers(value, LazyRegisters(make, slots))

    # What passes the borders of regions ------------------------------------------

    def flatten(self, values: Iterable[SSAValue]) -> list[str]:
        """What passes a border for values: pointers, indices and registers."""
        texts: list[str] = []
        for value in values:
            if is_memref(value.type):
                texts.append(self.pointer(self.memories[value]))
            else:
                texts.extend(self.registers(value))
        return texts

    def declare_all(self, values: Sequence[SSAValue]) -> list[str]:
        """Declares variables for what passes a border for values, which they stand for."""
        names: list[str] = []
        for value in values:
            names.extend(self.declare_value(value))
        return names

    def declare_value(self, value: SSAValue) -> list[str]:
        """Declares the variables of one value."""
        if is_memref(value.type):
            name = self.new_name()
            self.line(f"{self.pointer_type(value.type)}{name};")
            return [name]
        return self.declare(self.layout(value))

    def bind_all(self, values: Iterable[SSAValue], names: Sequence[str]) -> None:
        """Records the names that values have."""
        first = 0
        for value in values:
            if is_memref(value.type):
                self.bind_memory(value, names[first])
                first += 1
            elif isinstance(value.type, IndexType):
                self.set_index(value, names[first])
                first += 1
            else:
                count = len(self.layout(value).lanes)
                self.vectors[value] = names[first : first + count]
                first += count

    def bind_memory(self, value: SSAValue, name: str, space: str = GLOBAL) -> None:
        """Records the pointer of a memref."""
        assert is_memref(value.type)
        type_ = value.type
        self.memories[value] = Memory(
            name, space, type_.element_type, element_strides(type_)
        )

    def pointer_type(self, type_: MemRefType[Attribute]) -> str:
        """What points to the first element of a memref."""
        return f"{GLOBAL} {memory_name(type_.element_type)} *"

    def pointer(self, memory: Memory) -> str:
        """The address of the first element of a memref."""
        return self.address(memory, memory.offset)

    def address(self, memory: Memory, offset: AffineForm) -> str:
        """The address of an element."""
        if offset == ZERO:
            return memory.pointer
        return f"{memory.pointer} + {self.form_text(offset)}".replace("+ -", "- ")

    # Regions -------------------------------------------------------------------

    def print_block(self, block: Block) -> None:
        """Prints the ops of a block in order."""
        for op in block.ops:
            rule = self.rules.get(type(op))
            if rule is None:
                raise DiagnosticException(f"opencl-c: no rule for {op.name}")
            rule(self, op)
            self.printed.add(op)

    def load_pending(self) -> None:
        """Prints the loads that were put off and are still needed.

        Called before anything that writes memory and at the borders of regions.
        """
        for value, lazy in self.pending:
            if any(use.operation not in self.printed for use in value.uses):
                lazy.load_all()
        self.pending.clear()
