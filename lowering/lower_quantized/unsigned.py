"""Signed bytes become unsigned ones, 128 higher, and stand for the same numbers.

Dot-product instructions multiply unsigned bytes with signed weights. Networks of other tools
often have signed activations; with their zero point moved along, all arithmetic gives the
same numbers, and the stored bytes are 128 more.

    %1 = glow.relu %0 : tensor<4x!quant.uniform<i8:f32, 0.5:-128>>
  becomes
    %1 = glow.relu %0 : tensor<4x!quant.uniform<u8:f32, 0.5>>

Numbers that are never negative, with zero point 0, keep their bytes: then zero still pads.
Those that a table is indexed by do not: its first entry is that of the smallest byte.

What shows its stored integers keeps them: inputs and results of functions, constants, tables,
casts to storage, and values that only move from or to such.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from glow.dialects import glow
from glow.dialects.glow.integer_forms import MOVEMENT
from glow.dialects.node import NodeOp
from glow.dialects.quant import DequantizeCastOp, Quantization, QuantizeCastOp
from glow.dialects.quantized import expressed_type, quantized_type
from glow.passes.quantization.casts import element, tensor_of
from glow.passes.rewriting.operations import all_operations

SHIFT = 128
BITS = 8
SHOW_INTEGERS = (glow.ConstantOp, glow.LookupTableOp)


def is_signed(value: SSAValue) -> bool:
    """Whether a value is a tensor of signed bytes with one scale."""
    data = element(value)
    return data is not None and data.signed and data.bits == BITS and data.axis is None


def unsigned(data: Quantization) -> Quantization:
    """The parameters that give the same numbers to bytes that are 128 higher."""
    low, high = data.limits
    return replace(
        data,
        signed=False,
        zero_points=tuple(point + SHIFT for point in data.zero_points),
        storage_range=data.storage_range and (low + SHIFT, high + SHIFT),
    )


def shows_integers(value: SSAValue) -> bool:
    """Whether the stored integers of a value are seen outside of its nodes."""
    owner = value.owner
    made = isinstance(owner, NodeOp) and not isinstance(owner, SHOW_INTEGERS)
    if not (made or isinstance(owner, QuantizeCastOp)):
        return True
    users = (use.operation for use in value.uses)
    return not all(isinstance(user, NodeOp | DequantizeCastOp) for user in users)


def group_of(value: SSAValue) -> set[SSAValue]:
    """The signed values that must have one type, since elements move between them."""
    group, pending = {value}, [value]
    while pending:
        value = pending.pop()
        owners = [value.owner, *(use.operation for use in value.uses)]
        for op in owners:
            if not isinstance(op, MOVEMENT):
                continue
            near = {v for v in (*op.operands, *op.results) if is_signed(v)} - group
            group |= near
            pending += near
    return group


def make_unsigned(module: ModuleOp) -> None:
    """Shift all values whose integers nobody sees."""
    seen: set[SSAValue] = set()
    for op in all_operations(module):
        for value in op.results:
            if not is_signed(value) or value in seen:
                continue
            group = group_of(value)
            seen |= group
            if not any(map(shows_integers, group)):
                _shift(group)


def is_positive(value: SSAValue) -> bool:
    """Whether a value is not negative because of the node that makes or moves it."""
    owner, data = value.owner, element(value)
    if data is None or any(data.zero_points) or not isinstance(owner, NodeOp):
        return False
    if isinstance(owner, MOVEMENT):
        return not isinstance(owner, glow.PadOp) and all(map(is_signed, owner.inputs))
    if isinstance(owner, glow.ReluOp):
        return True
    attributes = owner.attributes_view()
    absorbs = "activation" in owner.property_names() and attributes.has("activation")
    return absorbs and attributes.string("activation") == "relu"


def indexes_table(value: SSAValue) -> bool:
    """Whether a table is looked up by the stored integers."""
    return any(isinstance(use.operation, glow.LookupTableOp) for use in value.uses)


def positive(data: Quantization) -> Quantization:
    """The parameters of the same bytes, none of which has a sign."""
    return replace(data, signed=False, storage_range=(0, data.limits[1]))


def _shift(group: set[SSAValue]) -> None:
    keeps_bytes = all(map(is_positive, group)) and not any(map(indexes_table, group))
    change = positive if keeps_bytes else unsigned
    for value in group:
        data = element(value)
        assert data is not None
        Rewriter.replace_value_with_new_type(
            value, quantized_type(expressed_type(tensor_of(value)), change(data))
        )
