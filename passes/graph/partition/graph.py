"""The graph that is divided: units that move as one, and the bytes that flow between them.

A unit is a node, with its regions, or several that must be on one device: all reads of a
variable and its save, what gives a value that is no tensor with what reads it, and whatever
lies between two of them. Constants are no units: each part gets a copy of those it reads.

Units are numbered in an order in which each stands behind those that it reads from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from glow.backends.refusals import COPIED, unit_name
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import INPUT_NAMES, OUTPUT_NAMES
from glow.dialects.glow.state import StateOp, VariableBase
from glow.dialects.node import element_of, node_name, shape_of
from glow.dialects.quantized import (
    constant_type,
    is_quantized,
    parameters_of,
)
from glow.dialects.weight_table import dtype_of

SMALLEST_CROSSING_BITS = 8
"""Quantized values cross as stored integers; fewer bits stay on their device."""


@dataclass(frozen=True)
class Flow:
    """A value that other units, or the caller, read: who gives it, and its bytes."""

    value: SSAValue
    source: int | None
    """The unit; None for an input of the network."""
    readers: tuple[int, ...]
    """The other units."""
    nbytes: int
    is_returned: bool = False


@dataclass(frozen=True)
class Unit:
    """Operations that move together, in the order of the text."""

    ops: tuple[Operation, ...]
    together: str = ""
    """Why, where there are several."""

    @property
    def name(self) -> str:
        """For messages: the first node's."""
        return unit_name(self.ops[0])

    @cached_property
    def constants(self) -> Mapping[object, int]:
        """The constants that it reads, each by what it holds, with its bytes."""
        found: dict[object, int] = {}
        for op in self.ops:
            for inner in op.walk():
                if isinstance(inner, VariableBase):
                    found[inner.variable] = value_bytes(inner.results[0])
                elif isinstance(inner, COPIED):
                    found[_content(inner)] = value_bytes(inner.results[0])
            for value in read_values(op):
                if isinstance(value.owner, COPIED):
                    found[_content(value.owner)] = value_bytes(value)
        return found


class UnitGraph:
    """The units of a function; it must be at the graph level."""

    def __init__(self, function: FuncOp) -> None:
        self.function = function
        self.block = function.body.block
        ops = [op for op in self.block.ops if not isinstance(op, (*COPIED, ReturnOp))]
        self.ops = ops
        self.units = _units(ops)
        self.unit_of = {op: n for n, unit in enumerate(self.units) for op in unit.ops}
        self.flows = list(self._flows())
        self.predecessors = [set[int]() for _ in self.units]
        self.successors = [set[int]() for _ in self.units]
        self.reads: list[list[int]] = [[] for _ in self.units]
        """The flows that each unit reads, and those that it gives."""
        self.gives: list[list[int]] = [[] for _ in self.units]
        for number, flow in enumerate(self.flows):
            for reader in flow.readers:
                self.reads[reader].append(number)
            if flow.source is not None:
                self.gives[flow.source].append(number)
                self.successors[flow.source].update(flow.readers)
                for reader in flow.readers:
                    self.predecessors[reader].add(flow.source)

    def __len__(self) -> int:
        return len(self.units)

    @property
    def last(self) -> ReturnOp:
        """The function's return."""
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        return last

    def _flows(self) -> Iterator[Flow]:
        """The values that another unit or the caller reads, or that the function takes."""
        returned = set(self.last.operands)
        readers: dict[SSAValue, set[int]] = {}
        for op, number in self.unit_of.items():
            for value in read_values(op):
                if not isinstance(value.owner, COPIED):
                    readers.setdefault(value, set()).add(number)
        for value in self.last.operands:
            if isinstance(value.owner, Operation) and value.owner in self.unit_of:
                readers.setdefault(value, set())
        for value, units in readers.items():
            owner = value.owner
            source = self.unit_of[owner] if isinstance(owner, Operation) else None
            others = tuple(sorted(units - {source}))
            if others or value in returned:
                yield Flow(value, source, others, value_bytes(value), value in returned)


def _units(ops: Sequence[Operation]) -> list[Unit]:
    """The units in an order in which each stands behind those that it reads from."""
    groups, states = _Groups(ops), dict[str, Operation]()
    for op in ops:
        for result in op.results:
            if not _may_cross(result):
                for use in result.uses:
                    groups.join(op, groups.top(use.operation), "a value that stays")
        for inner in op.walk():
            if isinstance(inner, StateOp):
                name = inner.variable_name
                groups.join(op, states.setdefault(name, op), f"variable '{name}'")
    if groups.reasons:
        groups.join_circles()
    return groups.in_order()


def _may_cross(value: SSAValue) -> bool:
    """Whether a value may be the result of a function."""
    if not isinstance(value.type, TensorType):
        return False
    held = cast("TensorType[Attribute]", value.type)
    return not is_quantized(held) or parameters_of(held).bits >= SMALLEST_CROSSING_BITS


class _Groups:
    """Operations that are joined step by step; a group is known by its first one."""

    def __init__(self, ops: Sequence[Operation]) -> None:
        self.ops = ops
        self.place = {op: number for number, op in enumerate(ops)}
        self.parent = dict(zip(ops, ops, strict=True))
        self.reasons: dict[Operation, str] = {}

    def find(self, op: Operation) -> Operation:
        """The first operation of the group."""
        while self.parent[op] is not op:
            self.parent[op] = self.parent[self.parent[op]]
            op = self.parent[op]
        return op

    def join(self, one: Operation, other: Operation | None, reason: str) -> None:
        """Make two groups one."""
        if other is None or other not in self.place:  # Such as the function's return.
            return
        first, second = self.find(one), self.find(other)
        if first is not second:
            if self.place[second] < self.place[first]:
                first, second = second, first
            self.parent[second] = first
            known = self.reasons.pop(second, reason)
            self.reasons.setdefault(first, known)

    def top(self, op: Operation) -> Operation | None:
        """The operation of the function's block that holds one, or is it."""
        found: Operation | None = op
        while found is not None and found not in self.place:
            found = found.parent_op()
        return found

    def edges(self) -> dict[Operation, set[Operation]]:
        """The groups that read from each group."""
        edges: dict[Operation, set[Operation]] = {
            op: set() for op in self.ops if self.find(op) is op
        }
        for op in self.ops:
            for value in read_values(op):
                if value.owner in self.place:
                    source = self.find(cast(Operation, value.owner))
                    if source is not self.find(op):
                        edges[source].add(self.find(op))
        return edges

    def in_order(self) -> list[Unit]:
        """The units, as early in the order of the text as what they read allows."""
        members: dict[Operation, list[Operation]] = {}
        for op in self.ops:
            members.setdefault(self.find(op), []).append(op)
        order = _sorted(self.edges(), self.place)
        return [Unit(tuple(members[op]), self.reasons.get(op, "")) for op in order]

    def join_circles(self) -> None:
        """Make groups one that read from each other, directly or through others."""
        for circle in _circles(self.edges()):
            for op in circle[1:]:
                self.join(circle[0], op, "what one needs of the other's results")


def _circles(edges: Mapping[Operation, set[Operation]]) -> list[list[Operation]]:
    """The strongly connected components, by Kosaraju's two walks."""
    before: dict[Operation, set[Operation]] = {op: set() for op in edges}
    for op, readers in edges.items():
        for reader in readers:
            before[reader].add(op)
    left: set[Operation] = set()
    finished = [op for start in edges for op in _walk(start, edges, left)]
    left.clear()
    return [_walk(start, before, left) for start in reversed(finished)]


def _walk(
    start: Operation, edges: Mapping[Operation, set[Operation]], seen: set[Operation]
) -> list[Operation]:
    """What can be reached and is not seen yet, each behind all that is reached from it."""
    if start in seen:
        return []
    seen.add(start)
    stack, order = [(start, iter(edges[start]))], list[Operation]()
    while stack:
        following = stack[-1][1]
        step = next((one for one in following if one not in seen), None)
        if step is None:
            order.append(stack.pop()[0])
        else:
            seen.add(step)
            stack.append((step, iter(edges[step])))
    return order


def _sorted(
    edges: Mapping[Operation, set[Operation]], place: Mapping[Operation, int]
) -> list[Operation]:
    """Kahn's order, without those in circles and behind them."""
    waiting = dict.fromkeys(edges, 0)
    for readers in edges.values():
        for reader in readers:
            waiting[reader] += 1
    numbered = {place[op]: op for op in edges}
    ready = [number for number, op in numbered.items() if waiting[op] == 0]
    heapify(ready)
    order: list[Operation] = []
    while ready:
        op = numbered[heappop(ready)]
        order.append(op)
        for reader in edges[op]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, place[reader])
    return order


def read_values(op: Operation) -> Iterator[SSAValue]:
    """What an operation reads of the block that it is in, its regions included."""
    yield from op.operands
    if op.regions:
        for inner in op.walk():
            if inner is not op:
                yield from (v for v in inner.operands if _block_of(v) is op.parent)


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner.parent if isinstance(owner, Operation) else owner


def crossing_bytes(graph: UnitGraph, labels: Sequence[int]) -> int:
    """The bytes that cross between units of different labels."""
    return sum(flow_bytes(flow, labels) for flow in graph.flows)


def flow_bytes(flow: Flow, labels: Sequence[int]) -> int:
    """The bytes of a value times the other labels that read it; of a network's input none."""
    if flow.source is None:
        return 0
    readers = {labels[reader] for reader in flow.readers}
    return flow.nbytes * len(readers - {labels[flow.source]})


def names_of(op: Operation) -> set[str]:
    """All that a map may call a node: its name, and those of its results."""
    hints = {result.name_hint for result in op.results}
    return {name for name in (node_name(op), *hints) if name}


def value_bytes(value: SSAValue) -> int:
    """The bytes of a tensor; of a scalar none."""
    if not isinstance(value.type, TensorType):
        return 0
    held = cast("TensorType[Attribute]", value.type)
    stored = constant_type(held) if is_quantized(held) else held
    if isinstance(value.owner, glow.SplatOp):
        return dtype_of(element_of(stored)).itemsize
    return prod(shape_of(stored)) * dtype_of(element_of(stored)).itemsize


def _content(op: Operation) -> object:
    """What a constant holds: equal for those that share an entry of the weight table."""
    if isinstance(op, glow.ConstantOp) and op.weight_name is not None:
        return op.weight_name
    return op


def check_divisible(function: FuncOp) -> None:
    """Raise GlowError for a function whose values cannot be passed on."""
    types = function.function_type
    for kind, some in (("takes", types.inputs), ("returns", types.outputs)):
        for one in some:
            if not isa(one, TensorType) or is_quantized(one):
                raise GlowError(
                    f"@{function.sym_name.data} {kind} {one}, which no part can",
                    hint="partition divides graphs of tensors of numbers",
                )


def strings(function: FuncOp, attribute: str) -> list[str]:
    """An attribute of one string or several; empty where there is none."""
    found = function.attributes.get(attribute)
    if found is None:
        return []
    if isinstance(found, StringAttr):
        return [found.data]
    return [item.data for item in cast("ArrayAttr[StringAttr]", found).data]


def input_names(function: FuncOp) -> list[str]:
    """The network's names of a function's inputs, else those of the text, else numbers."""
    known = strings(function, INPUT_NAMES)
    args = function.body.block.args
    if len(known) == len(args):
        return known
    return [arg.name_hint or f"input{n}" for n, arg in enumerate(args)]


def output_names(function: FuncOp) -> list[str]:
    """The network's names of a function's outputs, else numbers, as `glow.signature` has it."""
    known = strings(function, OUTPUT_NAMES)
    count = len(function.function_type.outputs)
    return known if len(known) == count else [f"output{n}" for n in range(count)]
