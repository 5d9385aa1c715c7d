"""Observes every float value: a `glow.quantization_profile` under the value's name.

Names are those of the network (the SSA names that the importer gives), so a profile
outlives changes of the graph elsewhere; values without one are named after their node
and numbered. `expose_profiles` turns the observations into further results of the
function, so that any backend can run them.

    %1 = glow.relu %0 : tensor<4xf32>
  becomes
    %1 = glow.relu %0 : tensor<4xf32>
    glow.quantization_profile %1 "1" : tensor<4xf32>
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects.bounded_cache import identity_cache
from glow.dialects.function_attributes import OUTPUT_NAMES
from glow.dialects.glow import ConstantOp, PadOp, QuantizationProfileOp, SplatOp
from glow.dialects.node import element_of, node_name
from glow.passes.rewriting.node_builder import erase


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions with a body."""
    return [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


def is_float_tensor(value: SSAValue) -> bool:
    """Whether a value is a tensor of floating-point elements."""
    return _is_float(value.type)


@identity_cache
def _is_float(held: Attribute) -> bool:
    element = element_of(held) if type(held) is TensorType else None
    return isinstance(element, AnyFloat)


def _values(function: FuncOp) -> Iterator[SSAValue]:
    block = function.body.block
    yield from block.args
    for op in block.ops:
        if not isinstance(op, ConstantOp | SplatOp) and not _is_endless(op):
            yield from op.results


def _is_endless(op: Operation) -> bool:
    """Whether a node pads with infinity, as in front of a largest element: it has no range."""
    return isinstance(op, PadOp) and isinf(op.value.value.data)


def _base_name(value: SSAValue) -> str:
    if value.name_hint:
        return value.name_hint
    owner = value.owner
    if isinstance(owner, Operation):
        return node_name(owner) or owner.name.rpartition(".")[2]
    return "input"


def value_names(function: FuncOp) -> dict[SSAValue, str]:
    """The distinct name of each computed float value, in program order."""
    names: dict[SSAValue, str] = {}
    taken: dict[str, int] = {}
    for value in _values(function):
        if not is_float_tensor(value):
            continue
        base = _base_name(value)
        count = taken.get(base, 0)
        taken[base] = count + 1
        names[value] = f"{base}_{count}" if count else base
    return names


def instrument_profile(module: ModuleOp) -> None:
    """Add an observation after each float value."""
    for function in functions_of(module):
        for value, name in value_names(function).items():
            probe = QuantizationProfileOp.create(
                operands=[value], properties={"value_name": StringAttr(name)}
            )
            block, owner = function.body.block, value.owner
            if isinstance(owner, Operation):
                block.insert_op_after(probe, owner)
            else:
                first = block.first_op
                assert first is not None
                block.insert_op_before(probe, first)


def expose_profiles(function: FuncOp) -> list[str]:
    """The names of the observed values, which become the function's only results."""
    block = function.body.block
    probes = [op for op in block.ops if isinstance(op, QuantizationProfileOp)]
    names = [probe.value_name.data for probe in probes]
    last = block.last_op
    assert isinstance(last, ReturnOp)
    values = [probe.input for probe in probes]
    block.insert_op_before(ReturnOp(*values), last)
    for op in (last, *probes):
        erase(op)
    function.function_type = FunctionType.from_lists(
        list(function.function_type.inputs), [value.type for value in values]
    )
    function.attributes[OUTPUT_NAMES] = ArrayAttr([StringAttr(name) for name in names])
    return names


class InstrumentProfilePass(ModulePass):
    """Observe every float value, for profiling."""

    name = "instrument-profile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        instrument_profile(op)
