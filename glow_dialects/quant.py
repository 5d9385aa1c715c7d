"""The `quant` dialect's types and casts, spelled as upstream MLIR spells them.

A quantized element stands for `(stored - zero_point) * scale`:

    !quant.uniform<i8:f32, 0.5:3>                    one scale for the tensor
    !quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>  one for each index of axis 1
    %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:3>>

Upstream's integers have no sign. `glow.scast` is the cast of unsigned ones:

    %s = quant.scast %q : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xi8>
    %s = glow.scast %q : tensor<4x!quant.uniform<u8:f32, 0.5:3>> to tensor<4xui8>

See https://mlir.llvm.org/docs/Dialects/QuantDialect/.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Data, Dialect, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from glow.dialects.float_text import float_literal, parse_float_attr

MAX_STORAGE_BITS = 32
BUFFERS = frozenset((TensorType, MemRefType))
"""Nothing is derived from these."""

EXPRESSED = (Float16Type, BFloat16Type, Float32Type, Float64Type)


@dataclass(frozen=True)
class Quantization:
    """The parameters of a uniform quantized type.

    `axis` is None for one scale a tensor; `scales` and `zero_points` have one entry
    each then, else one for each index of the axis.
    """

    bits: int
    signed: bool
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None
    expressed: Attribute = f32
    storage_range: tuple[int, int] | None = None

    @property
    def full_range(self) -> tuple[int, int]:
        """All values that the storage type holds."""
        if self.signed:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and largest stored value."""
        return self.storage_range or self.full_range


@irdl_attr_definition
class UniformQuantizedType(Data[Quantization], TypeAttribute):
    """`!quant.uniform<...>`."""

    name = "quant.uniform"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Quantization:
        """Parse `<storage:expressed[:axis], parameters>`."""
        with parser.in_angle_brackets():
            bits, signed = _parse_storage(parser)
            storage_range = _parse_range(parser)
            parser.parse_punctuation(":")
            expressed = parser.parse_type()
            axis = None
            if parser.parse_optional_punctuation(":") is not None:
                axis = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(",")
            if axis is None:
                parameters = [_parse_parameter(parser)]
            else:
                parameters = parser.parse_comma_separated_list(
                    parser.Delimiter.BRACES, lambda: _parse_parameter(parser)
                )
        return Quantization(
            bits,
            signed,
            tuple(scale for scale, _ in parameters),
            tuple(zero_point for _, zero_point in parameters),
            axis,
            expressed,
            storage_range,
        )

    def print_parameter(self, printer: Printer) -> None:
        """Print `<storage:expressed[:axis], parameters>`."""
        data = self.data
        with printer.in_angle_brackets():
            printer.print_string(f"{'i' if data.signed else 'u'}{data.bits}")
            if data.storage_range not in (None, data.full_range):
                low, high = data.limits
                printer.print_string(f"<{low}:{high}>")
            printer.print_string(":")
            printer.print_attribute(data.expressed)
            if data.axis is not None:
                printer.print_string(f":{data.axis}")
            printer.print_string(", ")
            pairs = list(zip(data.scales, data.zero_points, strict=True))
            if data.axis is None:
                _print_parameter(printer, pairs[0])
            else:
                with printer.in_braces():
                    printer.print_list(
                        pairs, lambda pair: _print_parameter(printer, pair)
                    )

    def verify(self) -> None:
        """Scales are positive and zero points fit the storage range."""
        _verify(self.data)


def _parse_storage(parser: AttrParser) -> tuple[int, bool]:
    word = parser.parse_identifier(" for the storage type")
    kind, width = word[:1], word[1:]
    if kind not in ("i", "u") or not width.isdecimal():
        parser.raise_error(f"the storage type must be like i8 or u8, not {word}")
    return int(width), kind == "i"


def _parse_range(parser: AttrParser) -> tuple[int, int] | None:
    if parser.parse_optional_punctuation("<") is None:
        return None
    low = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(":")
    high = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(">")
    return low, high


def _parse_parameter(parser: AttrParser) -> tuple[float, int]:
    scale = parse_float_attr(parser, Float64Type()).value.data
    zero_point = 0
    if parser.parse_optional_punctuation(":") is not None:
        zero_point = parser.parse_integer(allow_boolean=False)
    return scale, zero_point


def _print_parameter(printer: Printer, pair: tuple[float, int]) -> None:
    scale, zero_point = pair
    printer.print_string(float_literal(scale, Float64Type()))
    if zero_point:
        printer.print_string(f":{zero_point}")


def _verify(data: Quantization) -> None:
    if not 0 < data.bits <= MAX_STORAGE_BITS:
        raise VerifyException(
            f"the storage type must have 1 to {MAX_STORAGE_BITS} bits, not {data.bits}"
        )
    if not isinstance(data.expressed, EXPRESSED):
        raise VerifyException(
            f"the expressed type must be floating point, not {data.expressed}"
        )
    low, high = data.limits
    full_low, full_high = data.full_range
    if not full_low <= low < high <= full_high:
        raise VerifyException(
            f"the storage range {low}:{high} must lie in {full_low}:{full_high}"
        )
    scales, zero_points = data.scales, data.zero_points
    # All at once, where they are: there are thousands, in several types.
    if 0.0 < min(scales, default=0.0) and sum(scales) < float("inf"):
        scales = ()
    for scale in scales:
        if not 0.0 < scale < float("inf"):
            raise VerifyException(f"scales must be positive and finite, not {scale}")
    for zero_point in {min(zero_points, default=low), max(zero_points, default=low)}:
        if not low <= zero_point <= high:
            raise VerifyException(
                f"the zero point {zero_point} is outside of the storage range "
                f"{low}:{high}"
            )


def quantization_of(value_type: Attribute) -> Quantization | None:
    """The quantization of a shaped type's elements, or None for other elements."""
    if type(value_type) not in BUFFERS:
        return None
    element = cast("TensorType[Attribute]", value_type).element_type
    return element.data if isinstance(element, UniformQuantizedType) else None


class CastOp(IRDLOperation):
    """A cast between tensors of one shape."""

    input = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def verify_same_shape(self) -> tuple[TensorType[Attribute], TensorType[Attribute]]:
        """The operand's and the result's type, after checking that shapes agree."""
        source, target = self.input.type, self.result.type
        assert isa(source, TensorType)
        assert isa(target, TensorType)
        if source.get_shape() != target.get_shape():
            raise VerifyException(f"shapes must agree, not {source} and {target}")
        return source, target


def _verify_quantized(
    quantized: TensorType[Attribute], plain: TensorType[Attribute]
) -> None:
    data = quantization_of(quantized)
    if data is None:
        raise VerifyException(f"{quantized} must have quantized elements")
    if data.expressed != plain.element_type:
        raise VerifyException(
            f"{quantized} expresses {data.expressed}, not {plain.element_type}"
        )
    if data.axis is not None:
        shape: Sequence[int] = quantized.get_shape()
        size = shape[data.axis] if data.axis < len(shape) else -1
        if size != len(data.scales):
            raise VerifyException(
                f"axis {data.axis} of {quantized} has {size} indices but "
                f"{len(data.scales)} scales"
            )


@irdl_op_definition
class QuantizeCastOp(CastOp):
    """Float to quantized elements."""

    name = "quant.qcast"

    def verify_(self) -> None:
        """The result's elements express the operand's."""
        source, target = self.verify_same_shape()
        _verify_quantized(target, source)


@irdl_op_definition
class DequantizeCastOp(CastOp):
    """Quantized to float elements."""

    name = "quant.dcast"

    def verify_(self) -> None:
        """The operand's elements express the result's."""
        source, target = self.verify_same_shape()
        _verify_quantized(source, target)


class StorageCastOp(CastOp):
    """Quantized elements as their stored integers, or back."""

    IS_UNSIGNED: ClassVar[bool]

    def verify_(self) -> None:
        """One side is quantized, the integers of the other fit the operation."""
        source, target = self.verify_same_shape()
        if has_unsigned([source, target]) != self.IS_UNSIGNED:
            other = QuantStorageCastOp if self.IS_UNSIGNED else UnsignedStorageCastOp
            raise VerifyException(
                f"{self.name} does not connect {source} and {target}; {other.name} does"
            )
        if (quantization_of(source) is None) == (quantization_of(target) is None):
            raise VerifyException(
                f"scast connects quantized and stored elements, not {source} and "
                f"{target}"
            )


@irdl_op_definition
class QuantStorageCastOp(StorageCastOp):
    """That of integers without a sign, the only ones that it has upstream."""

    name = "quant.scast"
    IS_UNSIGNED: ClassVar[bool] = False


@irdl_op_definition
class UnsignedStorageCastOp(StorageCastOp):
    """That of unsigned integers, which are ONNX's bytes."""

    name = "glow.scast"
    IS_UNSIGNED: ClassVar[bool] = True


def has_unsigned(tensors: Sequence[TensorType[Attribute]]) -> bool:
    """Whether any of the types has unsigned integers."""
    elements = [tensor.element_type for tensor in tensors]
    return any(
        isa(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED
        for element in elements
    )


def storage_cast(value: SSAValue, target: TensorType[Attribute]) -> StorageCastOp:
    """A cast of a quantized value to stored integers, or back."""
    assert isa(value.type, TensorType)
    cast = storage_cast_of(value.type, target)
    return cast.create(operands=[value], result_types=[target])


def storage_cast_of(*tensors: TensorType[Attribute]) -> type[StorageCastOp]:
    """The operation that casts between quantized elements and integers of those types."""
    return UnsignedStorageCastOp if has_unsigned(tensors) else QuantStorageCastOp


Quant = Dialect(
    "quant",
    [QuantizeCastOp, DequantizeCastOp, QuantStorageCastOp],
    [UniformQuantizedType],
)
