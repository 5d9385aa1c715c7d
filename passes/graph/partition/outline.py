"""Writes the parts as functions, and a `main` that calls them.

    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = glow.relu %x : tensor<4xf32>
      %b = glow.tanh %a : tensor<4xf32>
      func.return %b : tensor<4xf32>
    }
  becomes, where `b` is on another device,
    func.func private @part0(%x: ...) -> ... attributes {glow.device = "cpu:0", ...} {
      %a = glow.relu %x
      func.return %a
    }
    func.func private @part1(%a: ...) -> ... attributes {glow.device = "interpreter:0", ...} {
      %b = glow.tanh %a
      func.return %b
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = func.call @part0(%x)
      %b = func.call @part1(%a)
      func.return %b
    }

A part takes what it reads of others and of the network's inputs, and gives what others read or
the network returns, under the names that those have. Each output of the network is the result
of a part, so that whoever runs the parts looks at nothing else. Constants are copied into the
parts that read them; those in the weight table are entries of it as before. Quantized values
cross as their stored integers (`quant.scast`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from glow.backends.refusals import COPIED, unit_name
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import DEVICE, INPUT_NAMES, OUTPUT_NAMES
from glow.dialects.quant import storage_cast
from glow.dialects.quantized import is_quantized, stored_type
from glow.dialects.text import unused_name
from glow.passes.graph.partition.graph import (
    UnitGraph,
    input_names,
    output_names,
    read_values,
)
from glow.passes.graph.partition.parts import Part


def outline(
    module: ModuleOp,
    graph: UnitGraph,
    parts: Sequence[Part],
    devices: Sequence[str],
    suffixes: Sequence[str] = (),
) -> list[func.FuncOp]:
    """Replace the function of a graph by its parts and calls; returns the parts' functions.

    `devices` has the names that the numbers in `parts` stand for; with `suffixes` functions
    are named by them: `part0_npu`. Raises GlowError where an output has the name of another
    value.
    """
    names = _Names(graph)
    borders = _borders(graph, parts or [Part(0, ())])
    functions: list[func.FuncOp] = []
    used = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    for number, border in enumerate(borders):
        suffix = f"_{suffixes[border.device]}" if suffixes else ""
        name = unused_name(f"part{number}{suffix}", used)
        used.add(name)
        function = _function(name, border, names)
        function.location = graph.function.location
        function.attributes[DEVICE] = StringAttr(devices[border.device])
        module.body.block.insert_op_before(function, graph.function)
        functions.append(function)
    _call_all(graph, borders, functions)
    return functions


@dataclass
class _Border:
    """What a part does, takes and gives: values of the function that is divided."""

    device: int
    ops: list[Operation]
    takes: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    gives: list[tuple[SSAValue, int | None]] = field(
        default_factory=list[tuple[SSAValue, "int | None"]]
    )
    """Each with the number of the output that it is, if it is one."""


class _Names:
    """The names of values: the network's for its inputs and outputs, else the nodes'."""

    def __init__(self, graph: UnitGraph) -> None:
        inputs = input_names(graph.function)
        self.outputs = output_names(graph.function)
        self._known: dict[SSAValue, str] = {
            arg: name for arg, name in zip(graph.block.args, inputs, strict=True)
        }
        self._taken = {*inputs, *self.outputs}
        for number, value in enumerate(graph.last.operands):
            name = self.outputs[number]
            is_other = name in inputs and self._known.get(value) != name
            if is_other or self.outputs.count(name) > 1:
                raise GlowError(
                    f"output {number} has the name '{name}' of another value",
                    hint="parts pass values on by name",
                )
            self._known.setdefault(value, name)

    def of(self, value: SSAValue) -> str:
        """The name of a value, which no other has."""
        if value not in self._known:
            owner = cast(Operation, value.owner)
            name = unused_name(value.name_hint or unit_name(owner), self._taken)
            self._known[value] = name
            self._taken.add(name)
        return self._known[value]

    def given(self, value: SSAValue, output: int | None) -> str:
        """The name of a result of a part."""
        return self.of(value) if output is None else self.outputs[output]


def _borders(graph: UnitGraph, parts: Sequence[Part]) -> list[_Border]:
    """What each part does, takes and gives."""
    place = {op: number for number, op in enumerate(graph.ops)}
    borders: list[_Border] = []
    for part in parts:
        ops = [op for unit in part.units for op in graph.units[unit].ops]
        borders.append(_Border(part.device, sorted(ops, key=place.__getitem__)))
    owners = {op: border for border in borders for op in border.ops}
    for border in borders:
        _add_taken(graph, border)
    for output, value in enumerate(graph.last.operands):
        # An input or a constant, which nobody computes, the first part returns.
        border = owners.get(cast(Operation, value.owner), borders[0])
        border.gives.append((value, output))
        if isinstance(value, BlockArgument):
            border.takes[value] = None
    taken = {value for border in borders for value in border.takes}
    for flow in graph.flows:
        if flow.value in taken and not flow.is_returned and flow.source is not None:
            owners[cast(Operation, flow.value.owner)].gives.append((flow.value, None))
    return borders


def _add_taken(graph: UnitGraph, border: _Border) -> None:
    """Let a part take what it reads: inputs in their order, then others as they are read."""
    inside = set(border.ops)
    read = {value for op in border.ops for value in read_values(op)}
    border.takes |= {arg: None for arg in graph.block.args if arg in read}
    for flow in graph.flows:
        if flow.value in read and flow.source is not None:
            if flow.value.owner not in inside:
                border.takes[flow.value] = None


def _function(name: str, border: _Border, names: _Names) -> func.FuncOp:
    """The function of a part: its operations, with copies of the constants they read."""
    block = Block(arg_types=[_crossing_type(value.type) for value in border.takes])
    inside: dict[SSAValue, SSAValue] = {}
    for value, argument in zip(border.takes, block.args, strict=True):
        argument.name_hint = value.name_hint
        inside[value] = argument
        if argument.type != value.type:
            inside[value] = _storage_cast(block, argument, value.type)
    for op in border.ops:
        _copy_constants(block, read_values(op), inside)
        block.add_op(op.clone(inside))
    _copy_constants(block, (value for value, _ in border.gives), inside)
    results = [
        _storage_cast(block, inside[value], _crossing_type(value.type))
        for value, _ in border.gives
    ]
    block.add_op(func.ReturnOp(*results))
    types = [arg.type for arg in block.args], [value.type for value in results]
    function = func.FuncOp(name, types, Region(block), visibility="private")
    takes = [names.of(value) for value in border.takes]
    gives = [names.given(*given) for given in border.gives]
    function.attributes[INPUT_NAMES] = ArrayAttr(list(map(StringAttr, takes)))
    function.attributes[OUTPUT_NAMES] = ArrayAttr(list(map(StringAttr, gives)))
    return function


def _copy_constants(
    block: Block, values: Iterable[SSAValue], inside: dict[SSAValue, SSAValue]
) -> None:
    """Give a block copies of those values that are constants, and that it lacks."""
    for value in values:
        owner = value.owner
        if isinstance(owner, COPIED) and value not in inside:
            block.add_op(owner.clone(inside))


def _crossing_type(held: Attribute) -> Attribute:
    """The type of a value between parts: that of the stored integers if it is quantized."""
    tensor = cast("TensorType[Attribute]", held)
    return stored_type(tensor) if is_quantized(held) else held


def _storage_cast(block: Block, value: SSAValue, wanted: Attribute) -> SSAValue:
    """A value as its stored integers, or back; itself if it has that type."""
    if value.type == wanted:
        return value
    converted = storage_cast(value, cast("TensorType[Attribute]", wanted))
    block.add_op(converted)
    return converted.result


def _call_all(
    graph: UnitGraph, borders: Sequence[_Border], functions: Sequence[func.FuncOp]
) -> None:
    """Let the function that is divided call its parts instead."""
    old, last = [*graph.block.ops][:-1], graph.last
    outside: dict[SSAValue, SSAValue] = {arg: arg for arg in graph.block.args}
    results = list(last.operands)
    for border, function in zip(borders, functions, strict=True):
        types = function.function_type.outputs.data
        taken = [outside[value] for value in border.takes]
        call = func.CallOp(function.sym_name.data, taken, types)
        graph.block.insert_op_before(call, last)
        for (value, output), result in zip(border.gives, call.results, strict=True):
            result.name_hint = value.name_hint
            outside.setdefault(value, result)
            if output is not None:
                results[output] = result
    last.operands = results
    for op in reversed(old):
        op.detach()
        op.erase()
