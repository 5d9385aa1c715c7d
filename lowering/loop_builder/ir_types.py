"""Cached xDSL types and attributes of the loops level.

Kernel builders ask for the same few dozen types and attributes thousands of times; building
one costs more than the operation that carries it, so every constructor here is memoised.
"""

from collections.abc import Sequence
from functools import cache
from math import copysign, prod
from typing import TypeGuard

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    VectorType,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from glow.dialects.arith import FastMathFlagsAttr
from glow.dialects.bounded_cache import bounded_cache, identity_cache
from glow.dialects.small_types import is_small
from glow.dialects.vector import ADD, IteratorTypeAttr
from glow.lowering.type_guards import is_integer, is_memref, is_vector

INDEX = IndexType()
DYNAMIC = -9223372036854775808
"""The marker for "an operand carries it" in static offset lists, as upstream defines it."""


def vector_type(shape: tuple[int, ...], element: Attribute = f32) -> VectorType:
    """The vector type of that shape."""
    known = _vector_types(element)
    found = known.get(shape)
    if found is None:
        found = known[shape] = VectorType(element, shape)
    return found


@identity_cache
def _vector_types(element: Attribute) -> dict[tuple[int, ...], VectorType]:
    """Those of an element that are known, by shape."""
    return {}


@bounded_cache
def memref_type(
    shape: tuple[int, ...],
    element: Attribute = f32,
    strides: tuple[int, ...] | None = None,
    offset: int | None = 0,
) -> MemRefType:
    """The memref type of that shape; with `strides`, a strided one (offset None: dynamic)."""
    if strides is None:
        return MemRefType(element, shape)
    layout = StridedLayoutAttr(strides, offset)
    return MemRefType(element, shape, layout=layout)


@bounded_cache
def row_major_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The element strides of a dense row-major buffer."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@identity_cache
def memref_layout(memref: MemRefType) -> tuple[tuple[int, ...], int | None]:
    """The element strides and the static offset (None: dynamic) of a memref type."""
    layout = memref.layout
    if not isinstance(layout, StridedLayoutAttr):
        return row_major_strides(memref.get_shape()), 0
    strides = tuple(_static(stride) for stride in layout.strides)
    offset = None if isinstance(layout.offset, NoneAttr) else layout.offset.data
    return strides, offset


def _static(stride: Attribute) -> int:
    value = getattr(stride, "data", None)
    if not isinstance(value, int):
        raise ValueError("kernels need static strides")
    return value


def is_float(type_: Attribute) -> TypeGuard[AnyFloat]:
    """Whether a type is a float; AnyFloat is a union that isinstance does not take."""
    return isinstance(type_, FixedBitwidthType) and not isinstance(type_, IntegerType)


def memref_of(value: SSAValue) -> MemRefType:
    """The memref type of a value."""
    type_ = value.type
    assert is_memref(type_)
    return type_


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a vector or memref value, () of a scalar."""
    return _shape_of(value.type)


@identity_cache
def _shape_of(type_: Attribute) -> tuple[int, ...]:
    return type_.get_shape() if is_vector(type_) or is_memref(type_) else ()


@identity_cache
def bit_width(element: Attribute) -> int:
    """The size of a fixed-width scalar type in bits."""
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth


def element_of(value: SSAValue) -> Attribute:
    """The element type of a vector or memref value, its own type of a scalar."""
    type_ = value.type
    if is_vector(type_) or is_memref(type_):
        return type_.element_type
    return type_


def byte_width(element: Attribute) -> int:
    """The size of a fixed-width scalar type of whole bytes."""
    return bit_width(element) // 8


@identity_cache
def signless(element: Attribute) -> Attribute:
    """The scalar type as arith takes it: operations have signs, integers have none.

    Types of storage are bytes.
    """
    if is_small(element):
        return i8
    if is_integer(element) and element.signedness.data is not Signedness.SIGNLESS:
        return IntegerType(element.width.data)
    return element


@identity_cache
def storage_type(element: Attribute) -> Attribute:
    """The scalar type as memory holds it: a byte for i1, no sign."""
    return i8 if element == i1 else signless(element)


def with_element(like: Attribute, element: Attribute) -> Attribute:
    """`like` (a scalar or vector type) with another element type."""
    return vector_type(_shape_of(like), element) if is_vector(like) else element


def constant_attribute(value: float, type_: Attribute) -> Attribute:
    """The attribute of a scalar constant or of a splat vector."""
    return _constant_attribute(value, copysign(1.0, value), type_)


@bounded_cache
def _constant_attribute(value: float, _sign: float, type_: Attribute) -> Attribute:
    # The sign is part of the cache's key because 0.0 == -0.0.
    if is_vector(type_):
        return dense_attribute((value,), type_)
    if isinstance(type_, IndexType):
        return IntegerAttr(int(value), type_)
    if is_integer(type_):
        return IntegerAttr(int(value), type_)
    assert is_float(type_)
    return FloatAttr(value, type_)


def dense_attribute(values: tuple[float, ...], type_: VectorType) -> Attribute:
    """The attribute of a vector constant; a single value is a splat."""
    signs = tuple(copysign(1.0, value) for value in values)
    return _dense_attribute(values, signs, type_)


@bounded_cache
def _dense_attribute(
    values: tuple[float, ...], _signs: tuple[float, ...], type_: VectorType
) -> Attribute:
    element = type_.element_type
    shape = type_.get_shape()
    if is_float(element):
        floats = VectorType(element, shape)
        return DenseIntOrFPElementsAttr.from_list(floats, values)
    assert is_integer(element)
    integers = VectorType(element, shape)
    return DenseIntOrFPElementsAttr.from_list(integers, [int(v) for v in values])


@bounded_cache
def permutation_map(rank: int, dimensions: tuple[int | None, ...]) -> AffineMapAttr:
    """The transfer map that sends vector dimension k to memref dimension dimensions[k].

    None broadcasts along that vector dimension.
    """
    results = tuple(
        AffineExpr.constant(0) if axis is None else AffineExpr.dimension(axis)
        for axis in dimensions
    )
    return AffineMapAttr(AffineMap(rank, 0, results))


@cache
def contraction() -> dict[str, Attribute]:
    """The properties of a `vector.contract` (m, k), (n, l, k) -> (m, n, l)."""
    m, n, lane, k = (AffineExpr.dimension(axis) for axis in range(4))
    return _contraction([(m, k), (n, lane, k), (m, n, lane)], 4)


@cache
def lane_contraction() -> dict[str, Attribute]:
    """The properties of a `vector.contract` (m, k, l), (l, k) -> (m, l)."""
    m, lane, k = (AffineExpr.dimension(axis) for axis in range(3))
    return _contraction([(m, k, lane), (lane, k), (m, lane)], 3)


def _contraction(
    maps: Sequence[tuple[AffineExpr, ...]], rank: int
) -> dict[str, Attribute]:
    """The last iterator is the one that is summed over."""
    iterators = ["parallel"] * (rank - 1) + ["reduction"]
    return {
        "indexing_maps": ArrayAttr(AffineMapAttr(AffineMap(rank, 0, e)) for e in maps),
        "iterator_types": ArrayAttr(map(IteratorTypeAttr, iterators)),
        "kind": ADD,
    }


@bounded_cache
def in_bounds(rank: int) -> ArrayAttr[BoolAttr]:
    """The in_bounds attribute of a transfer that never leaves its memref."""
    return ArrayAttr([BoolAttr.from_bool(True)] * rank)


@bounded_cache
def int64_array(values: tuple[int, ...]) -> DenseArrayBase:
    """A dense i64 array attribute."""
    return DenseArrayBase.from_list(i64, values)


@bounded_cache
def integers(values: tuple[int, ...]) -> ArrayAttr[IntegerAttr]:
    """An array of i64 attributes."""
    return ArrayAttr([IntegerAttr(value, i64) for value in values])


@bounded_cache
def segments(*sizes: int) -> DenseArrayBase:
    """The operandSegmentSizes of an operation."""
    return DenseArrayBase.from_list(i32, sizes)


@bounded_cache
def fast_math(flags: tuple[str, ...] = ()) -> FastMathFlagsAttr:
    """The fast-math attribute with those flags, e.g. ("nnan",)."""
    return FastMathFlagsAttr([FastMathFlag(flag) for flag in flags] or "none")


def static_or_dynamic(values: Sequence[int | SSAValue]) -> DenseArrayBase:
    """The static part of a mixed list: ints as they are, values as the dynamic marker."""
    return int64_array(tuple(v if isinstance(v, int) else DYNAMIC for v in values))
