"""A planned function as a list of kernel calls on places in three memory segments.

The segments are Glow's: `constants` (weights), `mutables` (inputs and outputs) and
`activations` (the arena). A program says which kernel runs on which bytes; it is made
from an instr function after `plan-memory`, and `main_function.py` turns it into the
function `main`. Its text is the cache key of that function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Literal

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, node_name, shape_of
from glow.dialects.weight_table import Array, DeferredArray, dtype_of
from glow.dialects.weights import dense_to_numpy, weights_of
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.target import Target
from glow.passes.instr.buffers import aligned, byte_size, item_size

Segment = Literal["constants", "mutables", "activations"]


@dataclass(frozen=True)
class Place:
    """`size` bytes of a segment from `offset` on, moved by loop indices.

    `moves` holds pairs of a loop's number and the bytes that its index counts for.
    """

    segment: Segment
    offset: int
    size: int
    moves: tuple[tuple[int, int], ...] = ()

    def overlaps(self, other: Place) -> bool:
        """Whether both may name a common byte."""
        if self.segment != other.segment:
            return False
        if self.moves or other.moves:
            return True
        return (
            self.offset < other.offset + other.size
            and other.offset < self.offset + self.size
        )


@dataclass(frozen=True)
class Index:
    """An index: a constant plus multiples of loop indices (loop number, factor)."""

    constant: int
    terms: tuple[tuple[int, int], ...] = ()

    def plus(self, other: Index, sign: int) -> Index:
        """The sum with `sign` times another index."""
        factors = dict(self.terms)
        for loop, factor in other.terms:
            factors[loop] = factors.get(loop, 0) + sign * factor
        terms = tuple(item for item in factors.items() if item[1])
        return Index(self.constant + sign * other.constant, terms)


@dataclass(frozen=True)
class KernelRequest:
    """A kernel that some instruction needs: equal requests share one function.

    `spec` is everything that the code depends on besides the target; `build` takes the
    function's name and the target.
    """

    label: str
    spec: Hashable
    build: Callable[[str, Target], Kernel] = field(compare=False, repr=False)

    @cached_property
    def name(self) -> str:
        """A name that depends on the content only: `label_digest`."""
        digest = sha256(repr(self.spec).encode()).hexdigest()[:12]
        return f"{self.label}_{digest}"


@dataclass(frozen=True)
class KernelCall:
    """One kernel on its operands' places; the first `writes` of them are written."""

    kernel: KernelRequest
    places: tuple[Place, ...]
    writes: int = 1
    passes_on: bool = False
    """Whether one other instruction reads what this one alone writes, and nobody else does."""

    def conflicting(self, other: KernelCall) -> Iterator[tuple[int, int]]:
        """The operands of both, by number, because of which the order of the calls matters."""
        for number, mine in enumerate(self.places):
            for position, theirs in enumerate(other.places):
                if number < self.writes or position < other.writes:
                    if mine.overlaps(theirs):
                        yield number, position


@dataclass(frozen=True)
class Loop:
    """Steps that repeat for each index in `range(lower, upper, step)`."""

    number: int
    lower: int
    upper: int
    step: int
    body: tuple[Step, ...]


Step = KernelCall | Loop


@dataclass
class Program:
    """The steps of a function and what its segments hold."""

    name: str
    steps: tuple[Step, ...]
    constants: list[tuple[int, Array | DeferredArray]]
    arguments: list[Place]
    sizes: dict[Segment, int]

    def calls(self) -> Iterator[KernelCall]:
        """All kernel calls, those of loops once."""
        yield from _calls(self.steps)

    def traffic(self) -> int:
        """The bytes that all calls name, each time that they run."""
        return _traffic(self.steps)

    def requests(self) -> dict[str, KernelRequest]:
        """The distinct kernels by name."""
        return {call.kernel.name: call.kernel for call in self.calls()}

    def text(self) -> str:
        """The steps and sizes as text, the content of `main`."""
        lines = [f"{self.name} {sorted(self.sizes.items())}"]
        lines.extend(_describe(self.steps))
        return "\n".join(lines)


def _calls(steps: Sequence[Step]) -> Iterator[KernelCall]:
    for step in steps:
        if isinstance(step, Loop):
            yield from _calls(step.body)
        else:
            yield step


def _traffic(steps: Sequence[Step]) -> int:
    total = 0
    for step in steps:
        if isinstance(step, Loop):
            turns = len(range(step.lower, step.upper, step.step))
            total += turns * _traffic(step.body)
        else:
            total += sum(place.size for place in step.places)
    return total


def _describe(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Loop):
            yield f"for {step.number} {step.lower} {step.upper} {step.step}"
            yield from _describe(step.body)
            yield "end"
        else:
            yield f"{step.kernel.name} {step.writes} {step.places}"


KernelSelector = Callable[
    [instr.InstructionOp, Target], Sequence["Invocation | Repetition"]
]
"""Gives the kernels of an instruction."""


@dataclass(frozen=True)
class Row:
    """Element `start` of a buffer's first axis; each turn of a repetition goes on by `step`."""

    buffer: SSAValue
    start: int
    step: int = 0


@dataclass(frozen=True)
class Invocation:
    """A kernel on buffers or rows of them, the first `writes` of which it writes."""

    kernel: KernelRequest
    buffers: Sequence[SSAValue | Row]
    writes: int = 1


@dataclass(frozen=True)
class Repetition:
    """Kernels that run again and again, each turn on other rows."""

    turns: int
    body: Sequence[Invocation]


class ProgramBuilder:
    """Walks a planned function; see the module's docstring."""

    def __init__(
        self,
        function: func.FuncOp,
        target: Target,
        select: Mapping[type[Operation], KernelSelector],
    ) -> None:
        self.function = function
        self.target = target
        self.select = select
        self.places: dict[SSAValue, Place] = {}
        self.indices: dict[SSAValue, Index] = {}
        self.loops = 0
        self.sizes: dict[Segment, int] = {
            "constants": 0,
            "mutables": 0,
            "activations": 0,
        }
        self.constants: list[tuple[int, Array | DeferredArray]] = []
        self.weight_places: dict[object, Place] = {}

    def run(self) -> Program:
        """The program of the function."""
        block = self.function.body.block
        for argument in block.args:
            self.places[argument] = self._reserve("mutables", byte_size(argument))
        arguments = [self.places[argument] for argument in block.args]
        steps = self._steps(block)
        return Program(
            self.function.sym_name.data, steps, self.constants, arguments, self.sizes
        )

    def _reserve(self, segment: Segment, size: int) -> Place:
        place = Place(segment, self.sizes[segment], size)
        self.sizes[segment] += aligned(size)
        return place

    def _steps(self, block: Block) -> tuple[Step, ...]:
        steps: list[Step] = []
        for op in block.ops:
            handler = _HANDLERS.get(type(op))
            if handler is not None:
                handler(self, op)
            elif isinstance(op, scf.ForOp):
                steps.append(self._loop(op))
            elif isinstance(op, instr.InstructionOp):
                steps.extend(self._instruction(op))
            else:
                raise GlowError(f"no code for {op.name}", node=node_name(op))
        return tuple(steps)

    def _instruction(self, op: instr.InstructionOp) -> Iterator[Step]:
        if not any(map(byte_size, (*op.outs, *op.inouts))):
            return  # Nothing is written, so there is nothing to do.
        selector = self.select.get(type(op))
        if selector is None:
            raise GlowError(
                f"the cpu backend has no kernel for {op.name}", node=node_name(op)
            )
        for invocation in selector(op, self.target):
            if isinstance(invocation, Repetition):
                number, self.loops = self.loops, self.loops + 1
                body = tuple(self._call(part, number) for part in invocation.body)
                yield Loop(number, 0, invocation.turns, 1, body)
            else:
                yield replace(self._call(invocation), passes_on=_passes_on(op))

    def _call(self, invocation: Invocation, loop: int = 0) -> KernelCall:
        places = tuple(self._place(buffer, loop) for buffer in invocation.buffers)
        return KernelCall(invocation.kernel, places, invocation.writes)

    def _place(self, buffer: SSAValue | Row, loop: int) -> Place:
        """Where a buffer is, or the row that turn number `loop` has."""
        if isinstance(buffer, SSAValue):
            return self.places[buffer]
        whole = self.places[buffer.buffer]
        size = whole.size // shape_of(buffer.buffer)[0]
        moves = ((loop, buffer.step * size),) if buffer.step else ()
        offset = whole.offset + buffer.start * size
        return Place(whole.segment, offset, size, whole.moves + moves)

    def _loop(self, op: scf.ForOp) -> Loop:
        body = op.body.block
        number, self.loops = self.loops, self.loops + 1
        self.indices[body.args[0]] = Index(0, ((number, 1),))
        lower, upper, step = (self._bound(bound) for bound in (op.lb, op.ub, op.step))
        return Loop(number, lower, upper, step, self._steps(body))

    def _bound(self, value: SSAValue) -> int:
        index = self.indices[value]
        if index.terms:
            raise GlowError("loop bounds must be constants")
        return index.constant

    # -- operations that name memory

    def alloc(self, op: Operation) -> None:
        """An allocation stands at its planned offset of the arena."""
        assert isinstance(op, instr.AllocOp)
        if op.offset is None:
            raise GlowError("allocations have no place yet; run plan-memory first")
        place = Place("activations", op.offset.value.data, byte_size(op.result))
        self.places[op.result] = place
        end = place.offset + aligned(place.size)
        self.sizes["activations"] = max(self.sizes["activations"], end)

    def weight(self, op: Operation) -> None:
        """Each weight is stored once, however often it is named."""
        assert isinstance(op, instr.WeightOp)
        key = op.value
        if key not in self.weight_places:
            place = self._reserve("constants", byte_size(op.result))
            self.constants.append((place.offset, weight_value(op)))
            self.weight_places[key] = place
        self.places[op.result] = self.weight_places[key]

    def tensorview(self, op: Operation) -> None:
        """A view is its source moved by a constant."""
        assert isinstance(op, instr.TensorviewOp)
        source = self.places[op.source]
        offset = source.offset + op.offset.value.data * item_size(op.source)
        self.places[op.result] = Place(
            source.segment, offset, byte_size(op.result), source.moves
        )

    def dynamic_view(self, op: Operation) -> None:
        """An element of the first axis is its source moved by a loop index."""
        assert isinstance(op, instr.DynamicViewOp)
        source = self.places[op.source]
        index, size = self.indices[op.index], byte_size(op.result)
        moves = tuple((loop, factor * size) for loop, factor in index.terms)
        self.places[op.result] = Place(
            source.segment,
            source.offset + index.constant * size,
            size,
            source.moves + moves,
        )

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


def _passes_on(op: instr.InstructionOp) -> bool:
    """Whether an instruction writes one allocation, and one other reads it."""
    if len(op.outs) != 1 or op.inouts:
        return False
    (written,) = op.outs
    users = [use.operation for use in written.uses]
    users = [user for user in users if not isinstance(user, instr.DeallocOp)]
    alone = len(users) == 2 and {user.parent for user in users} == {op.parent}
    return alone and isinstance(written.owner, instr.AllocOp)


def weight_value(op: instr.WeightOp) -> Array | DeferredArray:
    """The array of a weight, checked against its type."""
    name = op.weight_name
    value = op.value
    array = (
        weights_of(op).entry(value.string_value())
        if isinstance(value, SymbolRefAttr)
        else dense_to_numpy(value)
    )
    expected = dtype_of(element_of(op.result))
    if array.shape != shape_of(op.result) or array.dtype != expected:
        raise GlowError(
            f"weight '{name}' is {array.dtype}{list(array.shape)}, the program says "
            f"{op.result.type}"
        )
    return array


def _skip(builder: ProgramBuilder, op: Operation) -> None:
    """Lifetimes are planned already, and terminators need no code."""


_HANDLERS: dict[type[Operation], Callable[[ProgramBuilder, Operation], None]] = {
    instr.AllocOp: ProgramBuilder.alloc,
    instr.DeallocOp: _skip,
    instr.WeightOp: ProgramBuilder.weight,
    instr.TensorviewOp: ProgramBuilder.tensorview,
    instr.DynamicViewOp: ProgramBuilder.dynamic_view,
    arith.ConstantOp: ProgramBuilder.constant,
    arith.AddiOp: ProgramBuilder.add,
    arith.SubiOp: ProgramBuilder.subtract,
    func.ReturnOp: _skip,
    scf.YieldOp: _skip,
}
