"""Appends operations of linalg, tensor and arith.

A structured operation is a block that computes one element from those that maps choose:

    "linalg.generic"(%x, %start) <{indexing_maps = [...], iterator_types = [...]}> ({
    ^bb0(%a: f32, %b: f32):
      ...
      "linalg.yield"(%c) : (f32) -> ()
    })
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    UnrealizedConversionCastOp,
    i32,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from glow.dialects.attributes import ints_attr
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.weight_table import Array
from glow.exporters.programs.operations import operation
from glow.exporters.programs.writer import ProgramWriter
from glow.passes.rewriting.scalar_builder import ScalarBuilder, as_integer

Body: TypeAlias = "Callable[[ScalarBuilder, Sequence[SSAValue]], Sequence[SSAValue]]"
"""Appends what is done to one element; returns the new elements."""

DYNAMIC = -(2**63)
"""The offset of a slice that an operand says."""


def signless(kind: Attribute) -> Attribute:
    """A type without the sign of integers."""
    if isinstance(kind, TensorType):
        tensor = cast("TensorType[Attribute]", kind)
        return tensor_type(tensor.get_shape(), signless(tensor.element_type))
    integer = as_integer(kind)
    if integer is not None and integer.signedness.data != Signedness.SIGNLESS:
        return IntegerType(integer.width.data)
    return kind


def segments(*sizes: int) -> DenseArrayBase:
    """How many operands each group has."""
    return DenseArrayBase.from_list(i32, sizes)


def affine_map(count: int, axes: Sequence[int | AffineExpr | None]) -> AffineMap:
    """The map to these dimensions; None is always 0."""
    chosen = [
        axis
        if isinstance(axis, AffineExpr)
        else AffineExpr.constant(0)
        if axis is None
        else AffineExpr.dimension(axis)
        for axis in axes
    ]
    return AffineMap(count, 0, tuple(chosen))


class LinalgWriter(ProgramWriter):
    """A function of linalg on tensors."""

    CONSTANT: ClassVar[str] = "arith.constant"

    # Values

    def type_of(self, kind: Attribute) -> Attribute:
        """Signless integers alone."""
        return signless(kind)

    def constant(self, array: Array) -> SSAValue:
        """A constant of integers without sign."""
        return super().constant(without_sign(array))

    def array(self, array: Array, hint: str = "constant") -> SSAValue:
        """A constant of integers without sign."""
        return super().array(without_sign(array), hint)

    def number(self, value: float, element: Attribute) -> SSAValue:
        """A scalar."""
        builder = ScalarBuilder(self.block)
        return builder.constant(value, element)

    def index(self, value: int) -> SSAValue:
        """A scalar of type index."""
        attribute = IntegerAttr(value, IndexType())
        return self.emit("arith.constant", [], [IndexType()], {"value": attribute})

    def as_boolean(self, value: SSAValue) -> SSAValue:
        """Whether elements are not 0."""
        to = tensor_type(shape_of(value), IntegerType(1))
        return self.map(
            [value],
            to,
            lambda f, x: [f.compare("ne", x[0], f.number(0, x[0]))],
        )

    def index_in(self, f: ScalarBuilder, value: int) -> SSAValue:
        """A constant index in a body."""
        return f.append(
            operation(
                "arith.constant",
                types=[IndexType()],
                properties={"value": IntegerAttr(value, IndexType())},
            )
        )

    def signed(
        self,
        f: ScalarBuilder,
        element: Attribute,
        combine: Callable[[ScalarBuilder, SSAValue, SSAValue], SSAValue],
        *values: SSAValue,
    ) -> SSAValue:
        """Two elements combined by what their types with a sign choose."""
        block = Block(arg_types=[element, element])
        result = combine(ScalarBuilder(block), *block.args)
        for own, value in zip(block.args, values, strict=True):
            own.replace_all_uses_with(value)
        for op in list(block.ops):
            op.detach()
            f.append(op)
        return result

    def maps(self, maps: Sequence[AffineMap]) -> dict[str, Attribute]:
        """The maps of a named operation, which says them too."""
        return {"indexing_maps": ArrayAttr(map(AffineMapAttr, maps))}

    # Structured operations

    def empty(self, to: TensorType[Attribute]) -> SSAValue:
        """A tensor without values yet."""
        return self.emit("tensor.empty", [], [to])

    def filled(self, number: float, to: TensorType[Attribute]) -> SSAValue:
        """A tensor of one number."""
        element = to.element_type
        operands = [self.number(number, element), self.empty(to)]
        body = self.body([element, element], lambda f, x: [x[0]])
        properties = {"operandSegmentSizes": segments(1, 1)}
        return self.emit("linalg.fill", operands, [to], properties, [body])

    def body(self, elements: Sequence[Attribute], write: Body) -> Region:
        """The region of a structured operation."""
        block = Block(arg_types=elements)
        with self.inside(block):
            results = write(ScalarBuilder(block), block.args)
            self.append(operation("linalg.yield", results))
            drop_signs(block)
        return Region(block)

    def generic(
        self,
        inputs: Sequence[SSAValue],
        starts: Sequence[SSAValue],
        maps: Sequence[AffineMap],
        reduced: Sequence[int],
        write: Body,
    ) -> Sequence[SSAValue]:
        """Results of an operation whose maps are those of inputs and starts."""
        count = maps[0].num_dims
        kinds = [
            IteratorType.REDUCTION if axis in reduced else IteratorType.PARALLEL
            for axis in range(count)
        ]
        properties: dict[str, Attribute] = {
            "indexing_maps": ArrayAttr(map(AffineMapAttr, maps)),
            "iterator_types": ArrayAttr(map(IteratorTypeAttr, kinds)),
            "operandSegmentSizes": segments(len(inputs), len(starts)),
        }
        operands = [*inputs, *starts]
        region = self.body([element_of(value) for value in operands], write)
        types = [start.type for start in starts]
        made = operation("linalg.generic", operands, types, properties, [region])
        return self.append(made).results

    def map(
        self, inputs: Sequence[SSAValue], to: TensorType[Attribute], write: Body
    ) -> SSAValue:
        """An element-wise operation on values that broadcast."""
        shape = to.get_shape()
        maps = [broadcast_map(shape_of(value), shape) for value in inputs]
        maps.append(broadcast_map(shape, shape))
        return self.generic(
            inputs, [self.empty(to)], maps, (), lambda f, x: write(f, x[:-1])
        )[0]

    def named(
        self,
        name: str,
        inputs: Sequence[SSAValue],
        start: SSAValue,
        properties: Mapping[str, Attribute],
        write: Body,
    ) -> SSAValue:
        """A named operation, whose generic form has its body."""
        operands = [*inputs, start]
        region = self.body([element_of(value) for value in operands], write)
        sizes = {"operandSegmentSizes": segments(len(inputs), 1)}
        types = [start.type]
        return self.emit(name, operands, types, {**properties, **sizes}, [region])

    # Operations of tensor

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value in another shape, through one axis of all elements."""
        own, element = shape_of(value), element_of(value)
        if own == tuple(shape):
            return value
        if len(own) != 1:
            size = int(np.prod(own))
            flat = tensor_type([size], element)
            if own:
                groups = reassociation([list(range(len(own)))])
                value = self.emit("tensor.collapse_shape", [value], [flat], groups)
            else:
                value = self._expanded(value, flat, [])
        if len(shape) == 1:
            return value
        to = tensor_type(shape, element)
        if not shape:
            return self.emit("tensor.collapse_shape", [value], [to], reassociation([]))
        return self._expanded(value, to, [list(range(len(shape)))])

    def _expanded(
        self,
        value: SSAValue,
        to: TensorType[Attribute],
        groups: Sequence[Sequence[int]],
    ) -> SSAValue:
        sizes = {"static_output_shape": ints_attr(*to.get_shape())}
        properties = {**reassociation(groups), **sizes}
        return self.emit("tensor.expand_shape", [value], [to], properties)

    def extract_slice(
        self,
        value: SSAValue,
        starts: Sequence[int | SSAValue],
        sizes: Sequence[int],
        steps: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
    ) -> SSAValue:
        """A part of a tensor; `shape` leaves out axes of size 1."""
        dynamic, properties = placed(starts, sizes, steps or [1] * len(sizes))
        properties["operandSegmentSizes"] = segments(1, len(dynamic), 0, 0)
        to = tensor_type(sizes if shape is None else shape, element_of(value))
        return self.emit("tensor.extract_slice", [value, *dynamic], [to], properties)

    def insert_slice(
        self,
        value: SSAValue,
        into: SSAValue,
        starts: Sequence[int | SSAValue],
        sizes: Sequence[int],
    ) -> SSAValue:
        """A tensor with a part of it replaced."""
        dynamic, properties = placed(starts, sizes, [1] * len(sizes))
        properties["operandSegmentSizes"] = segments(1, 1, len(dynamic), 0, 0)
        operands = [value, into, *dynamic]
        return self.emit("tensor.insert_slice", operands, [into.type], properties)

    def pad(
        self,
        value: SSAValue,
        low: Sequence[int],
        high: Sequence[int],
        number: float = 0,
    ) -> SSAValue:
        """The value with a border of a number."""
        if not any((*low, *high)):
            return value
        shape = [
            size + before + behind
            for size, before, behind in zip(shape_of(value), low, high, strict=True)
        ]
        to = tensor_type(shape, element_of(value))
        border = self.number(number, to.element_type)
        block = Block(arg_types=[IndexType()] * len(shape))
        with self.inside(block):
            self.append(operation("tensor.yield", [border]))
        properties = {
            "static_low": ints_attr(*low),
            "static_high": ints_attr(*high),
            "operandSegmentSizes": segments(1, 0, 0),
        }
        return self.emit("tensor.pad", [value], [to], properties, [Region(block)])


def broadcast_map(own: Sequence[int], shape: Sequence[int]) -> AffineMap:
    """Which element of a value that broadcasts each element of a shape reads."""
    first = len(shape) - len(own)
    axes = [
        None if size == 1 != shape[first + axis] else first + axis
        for axis, size in enumerate(own)
    ]
    return affine_map(len(shape), axes)


def reassociation(groups: Sequence[Sequence[int]]) -> dict[str, Attribute]:
    """Which axes of the one shape are one axis of the other."""
    lists = [ArrayAttr(IntegerAttr(axis, i64) for axis in group) for group in groups]
    return {"reassociation": ArrayAttr(lists)}


def placed(
    starts: Sequence[int | SSAValue], sizes: Sequence[int], steps: Sequence[int]
) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """The starts that are computed, and the attributes of a slice."""
    dynamic = [start for start in starts if isinstance(start, SSAValue)]
    offsets = [DYNAMIC if isinstance(start, SSAValue) else start for start in starts]
    return dynamic, {
        "static_offsets": ints_attr(*offsets),
        "static_sizes": ints_attr(*sizes),
        "static_strides": ints_attr(*steps),
    }


def without_sign(array: Array) -> Array:
    """The same bits as signed integers."""
    if array.dtype.kind != "u":
        return array
    return array.view(f"i{array.dtype.itemsize}")


def drop_signs(block: Block) -> None:
    """Make all types of a block signless: its operations say what signs mean."""
    for op in list(block.ops):
        if isinstance(op, UnrealizedConversionCastOp):
            op.results[0].replace_all_uses_with(op.operands[0])
            block.erase_op(op)
            continue
        for result in op.results:
            kind = signless(result.type)
            if kind != result.type:
                result._type = kind  # pyright: ignore[reportPrivateUsage]
        value = op.properties.get("value")
        if isinstance(value, IntegerAttr):
            number = cast("IntegerAttr[IntegerType]", value)
            op.properties["value"] = signed_number(number)


def signed_number(value: IntegerAttr[IntegerType]) -> Attribute:
    """A number whose type has no sign."""
    kind = as_integer(signless(value.type))
    if kind is None or kind == value.type:
        return value
    width, number = kind.width.data, value.value.data
    wrapped = number - (1 << width) if number >> (width - 1) else number
    return IntegerAttr(wrapped, kind)
