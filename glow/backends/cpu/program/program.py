"""A planned function as a list of kernel calls on buffer bindings in three memory spaces.

The spaces are Glow's: `constants` (weights), `mutables` (variables, inputs and outputs) and
`activations` (the arena). The mutables begin with the variables. Behind them is a table of
64-bit numbers, which says for each argument how far from the space's start it is: the caller may
have it elsewhere. Behind the table is a byte for each call that may find an error in its data,
as an index outside of its axis.
A program says which kernel runs on which bytes; it is made from an instr function after
`plan-memory`, and `main_function.py` turns it into the function `main`. Its text is the cache
key of that function.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import ClassVar, Literal

from xdsl.ir import SSAValue

from glow.dialects import instr
from glow.dialects.weight_table import Array, DeferredArray
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target
from glow.passes.instr.buffers import aligned

MemorySpace = Literal["constants", "mutables", "activations"]

ADDRESS_BYTES = 8
"""Of an entry of the table of arguments."""


@dataclass(frozen=True)
class BufferBinding:
    """`size` bytes of a space from `offset` on, moved by loop indices.

    `dynamic_offset` holds pairs of a loop's number and the bytes that its index counts for.
    """

    space: MemorySpace
    offset: int
    size: int
    dynamic_offset: tuple[tuple[int, int], ...] = ()

    def overlaps(self, other: BufferBinding) -> bool:
        """Whether both may name a common byte."""
        if self.space != other.space:
            return False
        if self.dynamic_offset or other.dynamic_offset:
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
    def content(self) -> str:
        """The spec as text, with the code of its epilogue."""
        return repr(self.spec)

    @cached_property
    def name(self) -> str:
        """A name that depends on the content only: `label_digest`."""
        digest = sha256(self.content.encode()).hexdigest()[:12]
        return f"{self.label}_{digest}"


@dataclass(frozen=True)
class KernelCall:
    """One kernel on its operands' bindings; the first `writes` of them are written."""

    kernel: KernelRequest
    bindings: tuple[BufferBinding, ...]
    writes: int = 1
    feeds_prologue: bool = False
    """Whether one other instruction reads what this one alone writes, and nobody else does."""
    notes_error: bool = False
    """Whether the last binding is the byte of an error."""
    node: str = field(default="", compare=False)
    """That the call is for, as people know it."""

    def conflicting(self, other: KernelCall) -> Iterator[tuple[int, int]]:
        """The operands of both, by number, because of which the order of the calls matters."""
        for number, mine in enumerate(self.bindings):
            for position, theirs in enumerate(other.bindings):
                if number < self.writes or position < other.writes:
                    if mine.overlaps(theirs):
                        yield number, position


@dataclass(frozen=True)
class Loaded:
    """What the load of a number reads."""

    number: int


@dataclass(frozen=True)
class Load:
    """All threads read an integer, which is as wide as the binding: a condition, a bound."""

    number: int
    binding: BufferBinding

    parts: ClassVar[Sequence[tuple[Step, ...]]] = ()
    trip_count: ClassVar[int | None] = 1

    def with_parts(self, parts: Sequence[tuple[Step, ...]]) -> Load:
        """The step itself, which runs no others."""
        return self


@dataclass(frozen=True)
class Loop:
    """Steps that repeat for each index in `range(lower, upper, step)`."""

    number: int
    lower: int | Loaded
    upper: int | Loaded
    step: int
    body: tuple[Step, ...]
    within: tuple[int, int] | None = None
    """Where a bound is data: the indices that the buffers of the body have, first and end."""

    @property
    def parts(self) -> Sequence[tuple[Step, ...]]:
        """The steps that are run by this one."""
        return (self.body,)

    @property
    def trip_count(self) -> int | None:
        """How often, if that is known."""
        if isinstance(self.lower, Loaded) or isinstance(self.upper, Loaded):
            return None
        return len(range(self.lower, self.upper, self.step))

    def with_parts(self, parts: Sequence[tuple[Step, ...]]) -> Loop:
        """The same step around other ones."""
        return replace(self, body=parts[0])


@dataclass(frozen=True)
class Branch:
    """Steps that run where what was loaded is not 0, and those that run else."""

    condition: Loaded
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]

    trip_count: ClassVar[int | None] = None

    @property
    def parts(self) -> Sequence[tuple[Step, ...]]:
        """The steps that are run by this one."""
        return (self.then, self.otherwise)

    def with_parts(self, parts: Sequence[tuple[Step, ...]]) -> Branch:
        """The same step around other ones."""
        return Branch(self.condition, *parts)


@dataclass(frozen=True)
class While:
    """`before`, then `body` where what that has loaded is not 0, and all of it again."""

    condition: Loaded
    before: tuple[Step, ...]
    body: tuple[Step, ...]

    trip_count: ClassVar[int | None] = None

    @property
    def parts(self) -> Sequence[tuple[Step, ...]]:
        """The steps that are run by this one."""
        return (self.before, self.body)

    def with_parts(self, parts: Sequence[tuple[Step, ...]]) -> While:
        """The same step around other ones."""
        return While(self.condition, *parts)


@dataclass(frozen=True)
class Guard:
    """Steps that run only if no call before them has noted an error in the bytes of a binding."""

    reports: BufferBinding
    body: tuple[Step, ...]

    trip_count: ClassVar[int | None] = 1

    @property
    def parts(self) -> Sequence[tuple[Step, ...]]:
        """The steps that are run by this one."""
        return (self.body,)

    def with_parts(self, parts: Sequence[tuple[Step, ...]]) -> Guard:
        """The same step around other ones."""
        return Guard(self.reports, *parts)


@dataclass(frozen=True)
class Variable:
    """A variable's place in the mutables, and its initial value."""

    name: str
    binding: BufferBinding
    value: Array | DeferredArray | None
    """None for zeros."""


Step = KernelCall | Load | Loop | Branch | While | Guard


@dataclass
class Program:
    """The steps of a function and what its spaces hold."""

    name: str
    steps: tuple[Step, ...]
    constants: list[tuple[int, Array | DeferredArray]]
    arguments: list[BufferBinding]
    sizes: dict[MemorySpace, int]
    reports: Sequence[tuple[str, str]] = ()
    """The errors that calls note, a byte each: the node, and what is wrong."""
    version: str = ""
    """Of the code that builds the kernels; see `KernelTable`."""
    variables: Sequence[Variable] = ()
    pieces: Sequence[tuple[int, int]] = ()
    """Constants that may be elsewhere, each an offset and a size, in order: their distances
    from the start of their space are a table at the end of the mutables."""
    has_fixed_arguments: bool = False
    """Whether arguments are where the bindings say, and there is no table of them."""

    @property
    def table_offset(self) -> int:
        """Where in the mutables the table of arguments is: behind the variables."""
        ends = (v.binding.offset + aligned(v.binding.size) for v in self.variables)
        return max(ends, default=0)

    @property
    def reports_offset(self) -> int:
        """Where in the mutables the first of those bytes is."""
        return self.table_offset + len(self.arguments) * ADDRESS_BYTES

    def calls(self) -> Iterator[KernelCall]:
        """All kernel calls, those of loops once."""
        yield from calls_of(self.steps)

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [argument.offset for argument in self.arguments]

    def argument_at(self, binding: BufferBinding) -> int:
        """The number of the argument that a binding in the mutables is a part of.

        Negative for what is before all of them.
        """
        return bisect_right(self._starts, binding.offset) - 1

    def share(self, pieces: Sequence[tuple[int, int]]) -> None:
        """Let constants be elsewhere."""
        self.pieces = pieces
        self.sizes["mutables"] = aligned(self.sizes["mutables"])
        self.sizes["mutables"] += len(pieces) * ADDRESS_BYTES

    @property
    def piece_table_offset(self) -> int:
        """Where in the mutables the table of pieces is."""
        return self.sizes["mutables"] - len(self.pieces) * ADDRESS_BYTES

    def traffic(self) -> int:
        """The bytes that all calls name, each time that they run, as far as that is known."""
        return _traffic(self.steps)

    def requests(self) -> dict[str, KernelRequest]:
        """The distinct kernels by name."""
        return {call.kernel.name: call.kernel for call in self.calls()}

    def text(self) -> str:
        """The steps and sizes as text, the content of `main`."""
        head = f"{sorted(self.sizes.items())} {self.table_offset} {self.arguments}"
        head += f" {self.pieces}" if self.pieces else ""
        lines = [f"{self.name} {head}"]
        lines.extend(_describe(self.steps))
        return "\n".join(lines)


def calls_of(steps: Sequence[Step]) -> Iterator[KernelCall]:
    """The kernel calls of steps, those of loops once."""
    for step in steps:
        if isinstance(step, KernelCall):
            yield step
        else:
            for part in step.parts:
                yield from calls_of(part)


def _traffic(steps: Sequence[Step]) -> int:
    total = 0
    for step in steps:
        if isinstance(step, KernelCall):
            total += sum(binding.size for binding in step.bindings)
        else:
            trip_count = 1 if step.trip_count is None else step.trip_count
            total += trip_count * sum(map(_traffic, step.parts))
    return total


def _describe(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, KernelCall):
            yield f"{step.kernel.name} {step.writes} {step.bindings}"
            continue
        yield _heading(step)
        for part in step.parts:
            yield from _describe(part)
            yield "end"


def _heading(step: Load | Loop | Branch | While | Guard) -> str:
    if isinstance(step, Guard):
        return f"guard {step.reports}"
    if isinstance(step, Load):
        return f"load {step.number} {step.binding}"
    if isinstance(step, Loop):
        return f"for {step.number} {step.lower} {step.upper} {step.step} {step.within}"
    return f"{'if' if isinstance(step, Branch) else 'while'} {step.condition}"


KernelSelector = Callable[
    [instr.InstructionOp, Target], Sequence["Invocation | Repetition"]
]
"""Gives the kernels of an instruction."""


@dataclass(frozen=True)
class Row:
    """Element `start` of a buffer's first axis; each trip of a repetition goes on by `step`."""

    buffer: SSAValue
    start: int
    step: int = 0


@dataclass(frozen=True)
class Scratch:
    """Bytes that the kernels of an instruction hand over; those of the next one have the same."""

    size: int


@dataclass(frozen=True)
class Invocation:
    """A kernel on buffers or rows of them, the first `writes` of which it writes."""

    kernel: KernelRequest
    buffers: Sequence[SSAValue | Row | Scratch]
    writes: int = 1
    report: str = ""
    """The error that the kernel notes in a byte, its last argument; without one, no byte."""


@dataclass(frozen=True)
class Repetition:
    """Kernels that run again and again, each turn on other rows."""

    trip_count: int
    body: Sequence[Invocation]
