"""Tensors of quantized elements: their stored and expressed types, and integer forms.

A node with quantized operands computes on stored integers; `docs/quantization.md` says
what. Which nodes do, and which element types fit together, is a rule at the node
(`NodeOp.INTEGER_FORM`); a rule raises VerifyException.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar, Protocol

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from glow.dialects.bounded_cache import identity_cache
from glow.dialects.quant import Quantization, UniformQuantizedType, quantization_of
from glow.dialects.small_types import is_small
from glow.dialects.tensor_types import tensor_type

Types = Sequence[TensorType[Attribute]]
IntegerForm = Callable[[Types, Types], None]
"""`rule(operands, results)`: whether the element types fit together."""

ACCUMULATOR_BITS = 32

PACKED_BITS = 4
"""Constants of elements with so many bits or fewer hold two in a byte."""


def is_quantized(value_type: Attribute) -> bool:
    """Whether a shaped type has quantized elements."""
    return type(getattr(value_type, "element_type", None)) is UniformQuantizedType


def any_quantized(types: Sequence[Attribute]) -> bool:
    """Whether any of the types has quantized elements."""
    return any(is_quantized(value_type) for value_type in types)


def parameters_of(value_type: Attribute) -> Quantization:
    """The quantization of a tensor type that has one; VerifyException for others."""
    data = quantization_of(value_type)
    if data is None:
        raise VerifyException(f"{value_type} must have quantized elements")
    return data


def storage_of(data: Quantization) -> IntegerType:
    """The integer type that holds the stored values, of 8, 16 or 32 bits."""
    width = next(size for size in (8, 16, 32) if data.bits <= size)
    return _integer_type(width, data.signed)


@cache
def _integer_type(width: int, signed: bool) -> IntegerType:
    signedness = Signedness.SIGNLESS if signed else Signedness.UNSIGNED
    return IntegerType(width, signedness)


@identity_cache
def stored_type(tensor: TensorType[Attribute]) -> TensorType[Attribute]:
    """The tensor type of the stored integers."""
    return tensor_type(tensor.get_shape(), storage_of(parameters_of(tensor)))


def is_packed(tensor: TensorType[Attribute]) -> bool:
    """Whether a constant of quantized elements holds two in a byte."""
    return parameters_of(tensor).bits <= PACKED_BITS and tensor.get_num_dims() > 0


def packed_extent(extent: int) -> int:
    """The bytes that hold so many packed elements."""
    return (extent + 1) // 2


def constant_type(tensor: TensorType[Attribute]) -> TensorType[Attribute]:
    """The tensor type of what a constant of quantized elements holds: the stored integers,
    where they have few bits two in a byte (`glow.dialects.nibbles`).
    """
    if not is_packed(tensor):
        return stored_type(tensor)
    *outer, extent = tensor.get_shape()
    byte = IntegerType(8, Signedness.UNSIGNED)
    return tensor_type([*outer, packed_extent(extent)], byte)


@identity_cache
def expressed_type(tensor: TensorType[Attribute]) -> TensorType[Attribute]:
    """The tensor type of the numbers that quantized elements stand for."""
    return tensor_type(tensor.get_shape(), parameters_of(tensor).expressed)


def quantized_type(
    tensor: TensorType[Attribute], data: Quantization
) -> TensorType[Attribute]:
    """The tensor type of the same shape with quantized elements."""
    return tensor_type(tensor.get_shape(), UniformQuantizedType(data))


# -- rules


def _per_tensor(tensor: TensorType[Attribute], what: str) -> Quantization:
    data = parameters_of(tensor)
    if data.axis is not None:
        raise VerifyException(
            f"{what} must have one scale for the tensor, not {tensor}"
        )
    return data


def movement_form(operands: Types, results: Types) -> None:
    """Elements move unchanged, so all quantized operands and results agree."""
    elements = {
        tensor.element_type
        for tensor in (*operands, *results)
        if is_quantized(tensor) or tensor in results
    }
    if len(elements) != 1:
        raise VerifyException(
            "elements that move must have one quantized type, not "
            + ", ".join(sorted(map(str, elements)))
        )
    _per_tensor(results[0], "elements that move")


def arithmetic_form(operands: Types, results: Types) -> None:
    """Each operand and the result have a scale and zero point of their own."""
    for tensor in (*operands, *results):
        _per_tensor(tensor, "an operand or result of integer arithmetic")


def lookup_form(operands: Types, results: Types) -> None:
    """Rows of a table with a scale each give floats; other gathers move elements."""
    table = parameters_of(operands[0])
    if table.axis is None:
        movement_form(operands, results)
    elif table.axis != 0 or results[0].element_type != table.expressed:
        raise VerifyException(
            f"rows of a table quantized along axis 0 give {table.expressed} elements, "
            f"not {operands[0]} to {results[0]}"
        )


MOVEMENT_FORMS: tuple[IntegerForm, ...] = (movement_form, lookup_form)
"""The rules of nodes that move or choose elements."""


def product_form(channel_axis: int) -> IntegerForm:
    """Products: input per tensor, weights per tensor or per output channel, i32 bias.

    The result is quantized, floating point (the accumulators times both scales) or
    plain `i32` (the accumulators).
    """

    def check(operands: Types, results: Types) -> None:
        _per_tensor(operands[0], "the input")
        weights = parameters_of(operands[1])
        axis = channel_axis % operands[1].get_num_dims()
        if weights.axis not in (None, axis):
            raise VerifyException(
                f"weights must be quantized along axis {axis}, not {weights.axis}"
            )
        if len(operands) > 2:
            _check_bias(operands[2])
        _check_product_result(operands[0], results[0])

    return check


def _check_bias(bias: TensorType[Attribute]) -> None:
    data = quantization_of(bias)
    accumulators = isinstance(bias.element_type, IntegerType) or (
        data is not None and data.bits == ACCUMULATOR_BITS and not any(data.zero_points)
    )
    if not accumulators:
        raise VerifyException(
            f"the bias must have 32-bit elements with zero point 0, not {bias}"
        )


def _check_product_result(
    operand: TensorType[Attribute], result: TensorType[Attribute]
) -> None:
    if is_quantized(result):
        _per_tensor(result, "the result")
        return
    allowed = (parameters_of(operand).expressed, IntegerType(ACCUMULATOR_BITS))
    if result.element_type not in allowed:
        raise VerifyException(
            f"the result must have elements {allowed[0]}, i32 or quantized ones, not "
            f"{result.element_type}"
        )


# -- elements that are only stored

HOLDERS = frozenset({
    "glow.block_dequantize", "glow.constant", "glow.convert", "glow.splat",
})  # fmt: skip
"""The nodes that may have elements of storage and move none."""


class HasForm(Protocol):
    """What is asked of a class of nodes."""

    name: ClassVar[str]
    INTEGER_FORM: ClassVar[IntegerForm | None]


def check_storage(node: type[HasForm], types: Types) -> None:
    """Refuse elements of storage where a node computes."""
    if node.INTEGER_FORM in MOVEMENT_FORMS or node.name in HOLDERS:
        return
    for value_type in types:
        element = getattr(value_type, "element_type", None)
        if element is not None and is_small(element):
            raise VerifyException(
                f"{node.name} does not compute on {element} elements, which are only "
                "stored; convert them before"
            )
