"""Building and recognising casts and quantized constants."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects.quant import (
    DequantizeCastOp,
    Quantization,
    QuantizeCastOp,
    UniformQuantizedType,
)
from glow.dialects.quantized import expressed_type, quantized_type
from glow.passes.rewriting.node_builder import NodeBuilder

Tensor = TensorType[Attribute]


def tensor_of(value: SSAValue) -> Tensor:
    """The tensor type of a value."""
    return cast(Tensor, value.type)


def element(value: SSAValue) -> Quantization | None:
    """The quantization of a value's elements, or None."""
    found = getattr(value.type, "element_type", None)
    return found.data if isinstance(found, UniformQuantizedType) else None


def quantize_value(
    builder: NodeBuilder, value: SSAValue, data: Quantization
) -> SSAValue:
    """The value as quantized elements."""
    target = quantized_type(tensor_of(value), data)
    return builder.insert(
        QuantizeCastOp.create(operands=[value], result_types=[target])
    ).results[0]


def dequantize_value(builder: NodeBuilder, value: SSAValue) -> SSAValue:
    """The value as floating-point elements."""
    target = expressed_type(tensor_of(value))
    return builder.insert(
        DequantizeCastOp.create(operands=[value], result_types=[target])
    ).results[0]


def dequantized(value: SSAValue) -> SSAValue | None:
    """The quantized value behind a `quant.dcast`, or None."""
    owner = value.owner
    return owner.input if isinstance(owner, DequantizeCastOp) else None


def common_target(value: SSAValue) -> Quantization | None:
    """The quantization that every use of a value casts to, or None."""
    targets: list[Quantization | None] = [
        element(use.operation.results[0])
        if isinstance(use.operation, QuantizeCastOp)
        else None
        for use in value.uses
    ]
    if not targets or any(target != targets[0] for target in targets):
        return None
    return targets[0]


def replace_casts(value: SSAValue, new: SSAValue) -> None:
    """Put `new` in the place of all the casts of a value, and erase those."""
    for use in list(value.uses):
        cast_op = use.operation
        old = cast_op.results[0]
        if new.name_hint is None:
            new.name_hint = value.name_hint or old.name_hint
        old.replace_all_uses_with(new)
        cast_op.detach()
        cast_op.erase()


def lowest_is_zero(data: Quantization) -> bool:
    """Whether no stored value stands for a negative number."""
    return data.axis is None and data.zero_points[0] == data.limits[0]
