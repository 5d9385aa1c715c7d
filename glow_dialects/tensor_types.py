"""Types of tensors and of the memory that holds them; cached, since types are costly to build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ContainerType,
    MemRefType,
    ShapedType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from glow.dialects.bounded_cache import bounded_cache

SHAPED = frozenset((TensorType, MemRefType, VectorType))
"""The usual ones: to ask whether a class is derived from an abstract one is dear."""

VALUES = frozenset((OpResult, BlockArgument))
"""The usual ones, too."""


def value_of(operand: SSAValue | Operation) -> SSAValue:
    """A value, or the result of an operation of one; `SSAValue.get` takes long to ask."""
    return operand if isinstance(operand, SSAValue) else SSAValue.get(operand)


def _type_of(value: SSAValue | Attribute) -> Attribute:
    """The type of a value, or one itself."""
    if type(value) in VALUES:
        return cast(SSAValue, value).type
    if type(value) in SHAPED:
        return cast(Attribute, value)
    return value.type if isinstance(value, SSAValue) else value


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The static shape of a tensor or memref value or type."""
    shaped = _type_of(value)
    assert type(shaped) in SHAPED or isinstance(shaped, ShapedType)
    return cast(ShapedType, shaped).get_shape()


def element_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of a tensor or memref value or type."""
    shaped = _type_of(value)
    assert type(shaped) in SHAPED or isinstance(shaped, ContainerType)
    return cast("ContainerType[Attribute]", shaped).get_element_type()


def tensor_type(shape: Sequence[int], element_type: Attribute) -> TensorType[Attribute]:
    """The ranked tensor type of a shape; cached, since types are costly to build."""
    return _tensor_type(tuple(shape), element_type)


@bounded_cache
def _tensor_type(
    shape: tuple[int, ...], element_type: Attribute
) -> TensorType[Attribute]:
    return TensorType(element_type, shape)


@bounded_cache
def memref_of(tensor: TensorType[Attribute]) -> MemRefType[Attribute]:
    """The row-major memref type that holds a tensor."""
    return MemRefType(tensor.element_type, tensor.get_shape())


@bounded_cache
def tensor_of(memref: MemRefType[Attribute]) -> TensorType[Attribute]:
    """The tensor type that a memref holds."""
    return TensorType(memref.element_type, memref.get_shape())


def is_static_tensor(value: SSAValue) -> bool:
    """Whether a value is a tensor whose sizes are known."""
    is_tensor = isinstance(value.type, TensorType)
    return is_tensor and min(shape_of(value), default=0) >= 0
