"""A model as a list of programs, of which all but few models have one.

An import that needs a value it does not have ends there. What it has imported becomes a
program, whose results are that value and all others that later nodes read; when it has run,
the import goes on from the same node with the value as a constant:

    NonZero(x) -> i              program 1: x -> count, and the indices in a large buffer
    Gather(table, i) -> y        program 2: buffer -> y, for each count

The node's own first operations, such as those that count here, are in the first program:
their results are passed on as the other values are. What a network that comes quantized has
as floats is not: the next program takes the integers and casts them again, which for weights
are those of the model, so that it has products of integers as the whole would.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from glow.dialects.glow import ConstantOp, ReduceProdOp, SplatOp
from glow.dialects.glow.elementwise import BinaryOp, UnaryOp
from glow.dialects.node import shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weight_table import Array
from glow.frontends.onnx.frame import Scope
from glow.frontends.onnx.graph import Constant, sanitized
from glow.frontends.onnx.lists import Absent, ListValue, Operand
from glow.frontends.onnx.messages import NodeProto
from glow.passes.graph.fold_constants import CHEAP

Type = TensorType[Attribute]

SHAPE_ELEMENTS = 64
"""Inputs of more numbers are data, not a shape, even if a shape is computed from them."""


@dataclass(frozen=True)
class Start:
    """Where a program begins: a node of the main graph, and the values that are there.

    A value has a name for the caller, who keeps it between programs: that of the input, or
    the first that the model gives it.
    """

    node: int
    constants: Mapping[str, Array]
    """Arrays by ONNX name, and those of `inner` values that are known."""
    types: Mapping[str, Type]
    """The arguments of the program by the caller's names."""
    names: Mapping[str, str]
    """The caller's name of each ONNX name that is no constant."""
    inner: tuple[str, ...] = ()
    """The caller's names of the results of the node's own first operations; none for those
    that only exist inside of a program."""
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The names of the elements of each sequence."""
    absent: Collection[str] = ()
    """The optionals that have no value."""
    again: tuple[int, ...] = ()
    """Nodes of earlier programs that this one has as well, in order."""

    def with_values(self, values: Mapping[str, Array]) -> Start:
        """The same with more that is known, by the caller's names."""
        known = {
            name: values[caller]
            for name, caller in self.names.items()
            if caller in values
        }
        inner = {name: values[name] for name in self.inner if name in values}
        names = {name: one for name, one in self.names.items() if one not in values}
        kept = {*names.values(), *self.inner}
        return replace(
            self,
            constants={**self.constants, **known, **inner},
            types={name: one for name, one in self.types.items() if name in kept},
            names=names,
        )

    def enter(self, block: Block) -> tuple[Scope, dict[str, BlockArgument]]:
        """The values by ONNX name in an empty program, and its arguments."""
        scope: Scope = {
            name: Constant(array, name) for name, array in self.constants.items()
        }
        arguments: dict[str, BlockArgument] = {}
        for name, argument_type in self.types.items():
            argument = block.insert_arg(argument_type, len(block.args))
            argument.name_hint = sanitized(name)
            arguments[name] = argument
        for name, caller in self.names.items():
            scope[name] = arguments[caller]
        for name, elements in self.lists.items():
            parts = tuple(cast(Operand, scope.pop(one)) for one in elements)
            scope[name] = ListValue(parts)
        scope.update(dict.fromkeys(self.absent, Absent()))
        return scope, arguments

    def without(self, dropped: Collection[str]) -> Start:
        """The same without some inner values, which the node computes again."""
        inner = tuple("" if name in dropped else name for name in self.inner)
        types = {name: one for name, one in self.types.items() if name not in dropped}
        return replace(self, inner=inner, types=types)


@dataclass(frozen=True)
class Step:
    """A program, and the values that must be known before what is behind it is imported."""

    module: ModuleOp | None
    """None where the values are there already: inputs, or results of an earlier program."""
    asks: tuple[str, ...]
    """The caller's names of those values; none behind the last program."""
    next: Start | None
    reason: str = ""
    """Why they are needed, for an error."""


@dataclass(frozen=True)
class Cut:
    """Where a program ends for want of a value."""

    node: int
    mark: Operation | None
    """The last operation before those of the node."""
    value: SSAValue
    reason: str


class FirstNode:
    """The node where a program begins, some of whose operations the one before has run."""

    def __init__(self, block: Block, start: Start) -> None:
        self.block = block
        self.start = start
        self.mark = block.last_op
        """What the program has in front of the node."""
        self.results: list[SSAValue] = []
        """The results that are there, in the order of `start.inner`."""

    def answer(self, value: SSAValue) -> Array | None:
        """The array of a result that is known."""
        for name, result in zip(self.start.inner, self._results(), strict=False):
            if result is value:
                return self.start.constants.get(name)
        return None

    def end(self) -> None:
        """Note the results, behind the last operation of the node."""
        self.results = self._results()[: len(self.start.inner)]
        pairs = zip(self.start.inner, self.results, strict=False)
        same = all(self.start.types[name] == one.type for name, one in pairs if name)
        assert same, "a node is imported in the same way again"

    def _results(self) -> list[SSAValue]:
        return results_behind(self.block, self.mark) if self.start.inner else []


def casts_made_again(
    nodes: Sequence[NodeProto], live: Collection[str], scope: Scope, asked: SSAValue
) -> tuple[set[str], tuple[int, ...]]:
    """The names to pass on instead of those that later nodes read, and the nodes to repeat.

    `nodes` are those so far, `asked` the value that is to be passed on in any case.
    """
    makers = {
        name: index
        for index, node in enumerate(nodes)
        if node.op_type == "DequantizeLinear"
        for name in node.output
        if isinstance(scope.get(name), SSAValue) and scope[name] is not asked
    }
    again: set[int] = set()
    passed: set[str] = set()
    pending = list(live)
    while pending:
        name = pending.pop()
        index = makers.get(name)
        if index is None:
            passed.add(name)
        elif index not in again:
            again.add(index)
            pending.extend(nodes[index].input)
    return passed, tuple(sorted(again))


def shape_arguments(value: SSAValue) -> list[BlockArgument] | None:
    """The arguments from which a value is computed, if it is a shape or part of one.

    None where it is computed from data: then only a program can tell it.
    """
    if isinstance(value, BlockArgument):
        return [value]
    found: dict[BlockArgument, None] = {}
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if isinstance(one, BlockArgument):
            found[one] = None
        elif isinstance(one.owner, Operation) and _is_shape_arithmetic(one.owner):
            pending.extend(one.owner.operands)
        else:
            return None
    return list(found) if all(map(_is_shape, found)) else None


def _is_shape_arithmetic(op: Operation) -> bool:
    return type(op) in CHEAP or isinstance(
        op, ConstantOp | SplatOp | UnaryOp | BinaryOp | ReduceProdOp
    )


def _is_shape(value: SSAValue) -> bool:
    """Whether an argument is a list of few integers."""
    element = getattr(value.type, "element_type", None)
    extents = shape_of(value)
    return (
        isinstance(element, IntegerType)
        and len(extents) <= 1
        and prod(extents) <= SHAPE_ELEMENTS
    )


def results_behind(block: Block, mark: Operation | None) -> list[SSAValue]:
    """The results of a block's operations behind one (None: all), without constants.

    Where a constant is made depends on who reads it first.
    """
    op = block.first_op if mark is None else mark.next_op
    found: list[SSAValue] = []
    while op is not None:
        if not isinstance(op, ConstantOp | SplatOp):
            found.extend(op.results)
        op = op.next_op
    return found


def can_be_passed(value: SSAValue) -> bool:
    """Whether a value can be a result of one program and an argument of another."""
    kind: Attribute = value.type
    return not is_quantized(kind) and isinstance(kind, TensorType)


def replace_by_arguments(
    results: Sequence[SSAValue], arguments: Sequence[BlockArgument | None]
) -> None:
    """Take results of an earlier program from there, and erase what computes them here."""
    for result, argument in zip(results, arguments, strict=True):
        if argument is not None:
            result.replace_all_uses_with(argument)
    for op in reversed(list(dict.fromkeys(result.owner for result in results))):
        if isinstance(op, Operation) and not any(one.uses for one in op.results):
            op.detach()
            op.erase()
